// Choosing a node expands it without a page load. Without this script it is a link to the same picture.
"use strict";

// Scroll the middle of the picture to the middle of the window.
function centre() {
  const frame = document.querySelector(".graph");
  const middle = frame?.querySelector(".middle rect")?.getBoundingClientRect();
  if (!middle) return;
  frame.scrollLeft += middle.left + middle.width / 2 - frame.getBoundingClientRect().left - frame.clientWidth / 2;
}

async function open(address, isBack) {
  const piece = await tallystick.piece(address);
  if (piece === null) {
    location.href = address;
    return;
  }
  tallystick.put(document.getElementById("graph"), piece);
  if (!isBack) history.pushState({}, "", address);
  centre();
  const picture = document.querySelector(".picture");
  if (picture) tallystick.announce(picture.getAttribute("aria-label"));
}

addEventListener("DOMContentLoaded", () => {
  centre();
  document.getElementById("graph").addEventListener("click", (event) => {
    const link = event.target.closest("a[data-expand]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    link.focus();
    open(link.getAttribute("href"), false);
  });
  addEventListener("popstate", () => {
    if (new URLSearchParams(location.search).has("at")) open(location.href, true);
  });
});
