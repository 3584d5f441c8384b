// The time slider: its label while it is moved; its right end means now.
"use strict";

addEventListener("DOMContentLoaded", () => {
  const [form, at, end, exact, now, moment] = ["ask", "at", "end", "when", "now", "moment"].map((id) => document.getElementById(id));
  const isNow = () => at.value === at.max && !exact.value;

  // Show the moment of the answer next to the slider.
  function update() {
    const place = document.getElementById("moment-text");
    if (!place) return;
    const wasNow = at.value === at.max;
    at.max = place.dataset.end; // the ledger may have grown
    if (exact.value || wasNow) at.value = exact.value ? place.dataset.seq : at.max;
    moment.textContent = place.textContent.trim();
    at.setAttribute("aria-valuetext", moment.textContent);
  }

  function leaveOut() {
    if (at.value === at.max || exact.value) at.dataset.leftOut = "1"; else delete at.dataset.leftOut;
  }

  at.addEventListener("input", () => {
    exact.value = "";
    moment.textContent = isNow() ? "now" : `event ${at.value} of ${at.max} …`;
    at.setAttribute("aria-valuetext", moment.textContent);
    leaveOut();
  });
  exact.addEventListener("input", leaveOut);
  now.addEventListener("click", (event) => {
    event.preventDefault();
    exact.value = "";
    at.value = at.max;
    leaveOut();
    moment.textContent = "now";
    form.dispatchEvent(new Event("input"));
  });
  form.addEventListener("answered", update);

  end.dataset.leftOut = "1";
  leaveOut();
  update();
  if (matchMedia("(max-width: 40rem)").matches) { // on a phone, close what is not used
    document.getElementById("time").open = !isNow();
    document.getElementById("agent-sees").open = document.getElementById("frame").value !== "";
  }
});
