// Edit in place: the form of an entry takes the place of its words. Without this script it has a page of its own.
"use strict";

async function edit(link) {
  const card = link.closest(".entry");
  if (card.dataset.editing) return; // a second click opens no second form
  card.dataset.editing = "1";
  const form = await tallystick.piece(link.href);
  const place = document.createElement("div");
  tallystick.put(place, form ?? "");
  const text = place.querySelector("textarea");
  if (!text) { // the page says what is wrong; whoever comes back from there may try again
    delete card.dataset.editing;
    location.href = link.href;
    return;
  }
  const shown = [...card.children];
  shown.forEach((part) => { part.hidden = true; });
  card.append(place);
  text.focus();
  text.setSelectionRange(text.value.length, text.value.length);
  const begun = text.value;
  const leave = (event) => {
    event.preventDefault();
    place.remove();
    delete card.dataset.editing;
    shown.forEach((part) => { part.hidden = false; });
    link.focus();
  };
  place.querySelector("[data-leave]").addEventListener("click", leave);
  place.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && text.value === begun) leave(event); // never at the cost of what was typed
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) place.querySelector("form").requestSubmit();
  });
}

addEventListener("DOMContentLoaded", () => {
  for (const link of document.querySelectorAll("a[data-edit]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return; // a new tab is a new tab
      event.preventDefault();
      edit(link);
    });
  }
});
