// Edit in place: an entry's form replaces its text. Without this script the form is a page of its own.
"use strict";

async function edit(link) {
  const card = link.closest(".entry");
  if (card.dataset.editing) return; // a second click does not open a second form
  card.dataset.editing = "1";
  const form = await tallystick.piece(link.href);
  const place = document.createElement("div");
  tallystick.put(place, form ?? "");
  const text = place.querySelector("textarea");
  if (!text) { // that page says what is wrong; after coming back, editing may be tried again
    delete card.dataset.editing;
    location.href = link.href;
    return;
  }
  const parts = [...card.children];
  parts.forEach((part) => { part.hidden = true; });
  card.append(place);
  text.focus();
  text.setSelectionRange(text.value.length, text.value.length);
  const original = text.value;
  const leave = (event) => {
    event.preventDefault();
    place.remove();
    delete card.dataset.editing;
    parts.forEach((part) => { part.hidden = false; });
    link.focus();
  };
  place.querySelector("[data-leave]").addEventListener("click", leave);
  place.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && text.value === original) leave(event); // never lose typed text
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
