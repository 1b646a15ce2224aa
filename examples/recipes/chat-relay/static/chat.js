// The page is whole without this: with it, what others say appears by itself.
const said = document.getElementById("said");
const speak = document.getElementById("speak");
let heard = Number(said.lastElementChild?.dataset.id ?? 0);

function line(tag, text, kind) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

const events = new EventSource(`${said.dataset.events}?after=${heard}`);
events.addEventListener("said", (event) => {
  const message = JSON.parse(event.data);
  if (message.id <= heard) return; // the stream began anew after a lost connection
  heard = message.id;
  const row = document.createElement("li");
  row.append(line("strong", message.name), " ", line("span", message.words, "said"), " ", line("time", message.at, "soft"));
  said.append(row);
  row.scrollIntoView({ block: "nearest" });
});

speak.addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await fetch(speak.action, { method: "POST", body: new URLSearchParams(new FormData(speak)), redirect: "manual" });
  if (answer.type === "opaqueredirect") speak.reset();
});
