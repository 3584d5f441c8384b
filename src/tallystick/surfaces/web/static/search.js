// The time slider: what it says while it is moved, and that its right end, or nothing, is now.
"use strict";

addEventListener("DOMContentLoaded", () => {
  const [form, at, end, exact, now, moment] = ["ask", "at", "end", "when", "now", "moment"].map((id) => document.getElementById(id));
  const isNow = () => at.value === at.max && !exact.value;

  // What the answer says of the moment stands beside the slider too.
  function say() {
    const said = document.getElementById("moment-said");
    if (!said) return;
    const wasNow = at.value === at.max;
    at.max = said.dataset.end; // the ledger may have grown
    if (exact.value || wasNow) at.value = exact.value ? said.dataset.seq : at.max;
    moment.textContent = said.textContent.trim();
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
  form.addEventListener("answered", say);

  end.dataset.leftOut = "1";
  leaveOut();
  say();
  if (matchMedia("(max-width: 40rem)").matches) { // a phone has little room: what is not used is folded
    document.getElementById("time").open = !isNow();
    document.getElementById("agent-sees").open = document.getElementById("frame").value !== "";
  }
});
