// What changes while a page is looked at. Everything here is a convenience: without it each page shows the same after a reload.
(() => {
  "use strict";

  // <pre data-log="URL">: lines of a log as they come. The browser resumes behind the last id by itself.
  const follow = (log) => {
    const stream = new EventSource(log.dataset.log);
    stream.addEventListener("log", (event) => {
      const item = JSON.parse(event.data);
      const stays = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
      const line = document.createElement("span");
      line.className = item.stream;
      if (item.stream === "system") line.lang = "en"; // the platform itself; what a program prints may be in any language
      line.title = item.at;
      line.textContent = item.line + "\n";
      log.append(line);
      while (log.childElementCount > 5000) log.firstElementChild.remove();
      if (stays) log.scrollTop = log.scrollHeight;
    });
    addEventListener("pagehide", () => stream.close());
  };

  // <body data-events="URL">: "changed" is raised on the body, on which parts of the page fetch themselves anew (hx-trigger).
  const listen = (address) => {
    const events = new EventSource(address);
    let waiting = 0;
    const look = () => {
      waiting ||= setTimeout(() => {
        waiting = 0;
        document.body.dispatchEvent(new CustomEvent("changed"));
      }, 150);
    };
    events.addEventListener("change", look);
    events.addEventListener("open", look); // what changed since the page was made, or while there was no connection
    addEventListener("pagehide", () => events.close());
  };

  // On a phone a row of links is wider than the screen: the link of this page is brought into it.
  const reveal = (link) => {
    const row = link.parentElement;
    row.scrollLeft += Math.max(0, link.getBoundingClientRect().right - row.getBoundingClientRect().right);
  };

  const start = () => {
    document.querySelectorAll("nav > [aria-current]").forEach(reveal);
    document.querySelectorAll("[data-log]").forEach(follow);
    if (document.body.dataset.events && document.querySelector('[hx-trigger*="changed"]')) listen(document.body.dataset.events);
    document.addEventListener("submit", (event) => {
      const question = event.target.dataset.confirm;
      if (question && !confirm(question)) event.preventDefault();
    });
    document.querySelectorAll("[data-copy]").forEach((button) => {
      button.hidden = false;
      button.addEventListener("click", () => navigator.clipboard.writeText(button.dataset.copy));
    });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
