// A refund waits until a person has decided, so the page says what it waits for. Without this file everything works.
for (const form of document.querySelectorAll("form[data-waits]")) {
  form.addEventListener("submit", () => {
    form.querySelector("button").disabled = true;
    form.querySelector("[role=status]").textContent = form.dataset.waits;
    form.setAttribute("aria-busy", "true");
  });
}
