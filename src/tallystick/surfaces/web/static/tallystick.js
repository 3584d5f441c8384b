// Live updates and small conveniences. Every page works without this script: links are links, forms are forms.
//
//   data-live="/address"   this element is fetched again from there whenever the memory changes; what has a new
//                          data-id is marked (.fresh) and announced. data-seq: the event it was made from
//   data-still             this element is emptied when its content is changed or removed elsewhere
//   data-as-you-type       a search form: the page's piece (data-piece) follows what is typed, without a page load
//   data-copy="#id"        a button that copies the text of another element
//   /                      focuses the search field
//
// A piece is inserted by changing only what differs: focus, scroll, open details and typed text stay as they are.
"use strict";

document.documentElement.classList.add("js");

const tallystick = {
  // The changing part of a page, from our server; null if it is not available now.
  async piece(address, signal) {
    try {
      const answer = await fetch(address, { headers: { "X-Piece": "1" }, credentials: "same-origin", signal });
      const isPiece = (answer.ok || [400, 404].includes(answer.status)) && !answer.redirected; // or an error message
      return isPiece ? await answer.text() : null;
    } catch {
      return null;
    }
  },

  // A status line, also for screen readers.
  announce(text) {
    const line = document.getElementById("status");
    line.textContent = text;
    clearTimeout(tallystick.timer);
    tallystick.timer = setTimeout(() => { line.textContent = ""; }, 8000);
  },

  // Replace the content of an element with what the server rendered (and escaped); what is the same is left alone.
  put(element, html) {
    const focused = document.activeElement;
    const made = element.cloneNode(false);
    made.innerHTML = html;
    inside(element, made);
    if (focused !== document.activeElement && focused?.isConnected && element.contains(focused)) focused.focus({ preventScroll: true });
  },
};

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE && (node.dataset.id || node.id)) || "";

const isBlank = (node) => node.nodeType === Node.TEXT_NODE && !node.nodeValue.trim();

function inside(old, made) {
  const known = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
  const wanted = new Set([...made.children].map(keyOf));
  let at = old.firstChild;
  const drop = () => { const gone = at; at = at.nextSibling; gone.remove(); };
  for (const next of [...made.childNodes]) {
    const key = keyOf(next);
    while (at && isBlank(at) && !isBlank(next)) drop();
    if (known.has(key)) {
      const kept = known.get(key);
      while (at && at !== kept && !(keyOf(at) && wanted.has(keyOf(at)))) drop();
      if (at === kept) at = at.nextSibling; else old.insertBefore(kept, at);
      become(kept, next);
    } else if (!key && at && !keyOf(at) && at.nodeName === next.nodeName) {
      become(at, next);
      at = at.nextSibling;
    } else {
      old.insertBefore(next, at);
    }
  }
  while (at) drop();
}

function become(old, made) {
  if (old.isEqualNode(made)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = made.nodeValue;
    return;
  }
  const mine = ({ name }) => name !== "open"; // the reader decides which details are open
  for (const { name } of [...old.attributes].filter(mine)) if (!made.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of [...made.attributes].filter(mine)) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.nodeName !== "TEXTAREA") inside(old, made);
}

const isTyping = (element) => element.contains(document.activeElement)
  && document.activeElement.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button])");

// Fetch a live element again and announce what is new in it. False: try again with the next change.
async function look(element) {
  if (isTyping(element)) { // do not move anything while somebody types; look when they are done
    element.addEventListener("focusout", () => setTimeout(look, 300, element), { once: true });
    return true;
  }
  const html = await tallystick.piece(element.dataset.live);
  if (html === null || isTyping(element)) return false;
  const before = new Set([...element.querySelectorAll("[data-id]")].map((each) => each.dataset.id));
  tallystick.put(element, html);
  const fresh = [...element.querySelectorAll("[data-id]")].filter((each) => !before.has(each.dataset.id));
  for (const each of fresh) each.classList.add("fresh");
  if (fresh.length > 1) tallystick.announce(`${fresh.length} new`);
  if (fresh.length === 1) tallystick.announce(`New: ${shortened(fresh[0].querySelector(".memory") ?? fresh[0])}`);
  return true;
}

// Remove what was erased, forgotten or changed elsewhere from an open page, except what is being edited.
async function leave(elements) {
  const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
  if (!answer || answer.redirected || !(answer.ok || answer.status === 404)) return;
  const now = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok) { // the page is gone
    document.title = now.title;
    document.getElementById("main").replaceChildren(...now.getElementById("main").children);
    return;
  }
  for (const element of elements) {
    if (now.getElementById(element.id) || element.dataset.editing || isTyping(element)) continue;
    const notice = document.createElement("p");
    notice.textContent = "This was changed or removed. Reload the page to see the current version.";
    element.replaceChildren(notice);
  }
}

function shortened(element) {
  const words = element.textContent.trim().replace(/\s+/g, " ");
  return words.length > 120 ? `${words.slice(0, 119)}…` : words;
}

// Listen for changes while the page is visible: a browser has few connections to one server, and hidden tabs need none.
function follow() {
  const live = [...document.querySelectorAll("[data-live]")];
  const still = [...document.querySelectorAll("[data-still]")];
  if (!live.length && !still.length) return;
  const seen = new Map(live.map((element) => [element, element.dataset.seq]));
  let changes = null, waiting = null, pause = 5000, last = null, isOld = false;
  async function see(element, newest) {
    if (seen.get(element) !== newest && await look(element)) seen.set(element, newest);
  }
  function begin() {
    if (changes || document.hidden) return;
    changes = new EventSource("/live");
    changes.addEventListener("open", () => { pause = 5000; });
    changes.addEventListener("change", ({ data: newest }) => {
      clearTimeout(waiting); // several changes at once cause one update
      isOld ||= last !== null && last !== newest;
      last = newest;
      waiting = setTimeout(() => {
        for (const element of live) see(element, newest);
        if (isOld && still.length) leave(still);
        isOld = false;
      }, 120);
    });
    changes.addEventListener("error", () => {
      if (changes?.readyState !== EventSource.CLOSED) return; // the browser reconnects by itself
      end();
      setTimeout(begin, pause);
      pause = Math.min(2 * pause, 60000);
    });
  }
  function end() {
    changes?.close();
    changes = null;
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? end() : begin()));
  addEventListener("pagehide", end);
  addEventListener("pageshow", begin);
  begin();
}

function asYouType(form) {
  const piece = document.querySelector("[data-piece]");
  let waiting = null, asked = null;
  async function answer() {
    asked?.abort(); // a late answer to an old question is dropped
    const mine = asked = new AbortController();
    const address = `${form.getAttribute("action")}?${tallystick.fields(form)}`.replace(/\?$/, "");
    piece.setAttribute("aria-busy", "true");
    const html = await tallystick.piece(address, mine.signal);
    if (mine !== asked || mine.signal.aborted) return;
    piece.removeAttribute("aria-busy");
    if (html === null) return tallystick.announce("The server is not answering. Your text is still here.");
    tallystick.put(piece, html);
    history.replaceState(null, "", address);
    form.dispatchEvent(new CustomEvent("answered"));
  }
  const soon = (pause) => { clearTimeout(waiting); waiting = setTimeout(answer, pause); };
  form.addEventListener("input", () => soon(180));
  form.addEventListener("submit", (event) => { event.preventDefault(); soon(0); });
}

// The fields of a form, without empty ones.
tallystick.fields = (form) => {
  const fields = [...new FormData(form)].filter(([name, value]) => value !== "" && !form.elements[name]?.dataset?.leftOut);
  return new URLSearchParams(fields).toString();
};

addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  const field = document.getElementById("q") ?? document.getElementById("find");
  event.preventDefault();
  if (field?.checkVisibility()) field.focus(); else location.assign("/search");
});

addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const text = document.querySelector(button.dataset.copy).textContent;
  const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  tallystick.announce(done ? "Copied." : "This browser does not allow copying; select the text instead.");
});

addEventListener("DOMContentLoaded", () => {
  follow();
  document.querySelectorAll("form[data-as-you-type]").forEach(asYouType);
});
