// The little that needs a script. Every page works without it: links are links, forms are forms.
//
//   data-live="/address"   this element is fetched again from there whenever the memory changes
//   data-as-you-type       a form whose pieces (data-piece) follow what is typed, without a page load
"use strict";

const keepsake = {
  // The piece of a page that our server makes for us; null if it cannot be had now.
  async piece(address) {
    try {
      const answer = await fetch(address, { headers: { "X-Piece": "1" }, credentials: "same-origin" });
      return answer.ok ? await answer.text() : null;
    } catch {
      return null;
    }
  },

  // A line for everybody, also for those who listen instead of looking.
  tell(text) {
    const told = document.getElementById("told");
    told.textContent = text;
    clearTimeout(keepsake.silence);
    keepsake.silence = setTimeout(() => { told.textContent = ""; }, 6000);
  },

  // What the server rendered (and escaped) takes the element's place inside.
  put(element, html) {
    const held = document.activeElement && element.contains(document.activeElement) ? document.activeElement.id : "";
    element.innerHTML = html;
    if (held) document.getElementById(held)?.focus();
  },
};

function follow() {
  const live = [...document.querySelectorAll("[data-live]")];
  if (!live.length) return;
  const changes = new EventSource("/live");
  let waiting = null;
  changes.addEventListener("change", () => {
    clearTimeout(waiting); // several changes at once are one look
    waiting = setTimeout(async () => {
      for (const element of live) {
        const html = await keepsake.piece(element.dataset.live);
        if (html !== null) keepsake.put(element, html);
      }
    }, 120);
  });
  addEventListener("pagehide", () => changes.close());
}

addEventListener("DOMContentLoaded", follow);
