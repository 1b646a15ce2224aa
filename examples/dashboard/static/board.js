// The page as the server sent it is complete and loads itself again every five seconds. Where scripts run, the numbers and charts
// arrive as events instead.
const live = document.getElementById("live");
const pause = document.getElementById("pause");
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 40rem)");
let source = null;
let again = 0;

function say(state, words) {
  if (live.textContent !== words) live.textContent = words; // screen readers hear of changes only
  document.documentElement.dataset.live = state;
}

function show(numbers) {
  for (const place of document.querySelectorAll("[data-number]")) place.textContent = numbers[place.dataset.number];
  for (const place of document.querySelectorAll("[data-product]")) place.textContent = numbers.products[place.dataset.product];
  say("on", "live");
}

function draw(charts) {
  for (const figure of document.querySelectorAll("[data-chart]")) {
    figure.innerHTML = charts[figure.dataset.chart];
    figure.dataset.drawn = "";
  }
}

function open() {
  close();
  const wanted = new URLSearchParams({ theme: dark.matches ? "dark" : "light", size: narrow.matches ? "narrow" : "wide" });
  source = new EventSource(`/events?${wanted}`);
  source.addEventListener("numbers", (event) => show(JSON.parse(event.data)));
  source.addEventListener("charts", (event) => draw(JSON.parse(event.data)));
  source.onerror = () => {
    say("off", "connecting again");
    // Browsers come back by themselves after a lost connection, not after an answer like 503.
    if (source.readyState === EventSource.CLOSED) again = setTimeout(open, 5000);
  };
}

function close() {
  clearTimeout(again);
  source?.close();
  source = null;
}

pause.hidden = false;
pause.addEventListener("click", () => {
  if (source) {
    close();
    say("paused", "paused");
  } else {
    open();
  }
  pause.textContent = source ? "Pause" : "Go on";
});

document.addEventListener("submit", async (event) => {
  if (!source) return;
  event.preventDefault();
  const product = event.submitter.value;
  await fetch("/api/sales", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ product, count: 1 }),
  });
});

for (const change of [dark, narrow]) change.addEventListener("change", () => source && open());
open();
