// Follow a background job. Without this script there is a "Refresh" link.
"use strict";

(function () {
  const pause = 1000;

  async function look() {
    const element = document.getElementById("integrity");
    if (!element.querySelector("[data-running]")) return;
    const html = await tallystick.piece(element.dataset.live);
    if (html !== null) tallystick.put(element, html);
    if (!element.querySelector("[data-running]")) tallystick.announce("Done.");
    setTimeout(look, pause);
  }

  addEventListener("DOMContentLoaded", () => setTimeout(look, pause));
})();
