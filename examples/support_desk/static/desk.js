// A refund waits until a person has decided: this keeps the page alive meanwhile and says what it waits for. Everything works
// without it.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.waits) return;
  event.preventDefault();
  const button = form.querySelector("button");
  const status = form.querySelector("[role=status]");
  button.disabled = true;
  status.textContent = form.dataset.waits;
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.querySelector("main").replaceWith(page.querySelector("main"));
    (document.querySelector("[aria-invalid]") ?? document.getElementById("refunds"))?.focus();
  } catch {
    button.disabled = false;
    status.textContent = "The desk cannot be reached. Reload the page to see what became of it.";
  }
});
