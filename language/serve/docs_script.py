"""The script of the reference page: it sends the requests of the forms and shows the replies.

It loads nothing, stores nothing, and inserts only text into the page. Without the script the forms are hidden.
"""

from __future__ import annotations

SCRIPT = r"""
"use strict";
const MOST = 500000;
const root = new URL(document.body.dataset.root || ".", location.href);
const token = document.getElementById("token");
const made = (tag, words, kind) => Object.assign(document.createElement(tag), {textContent: words, className: kind || ""});

// Numbers stay as they were sent: JSON.parse would round those with many digits.
function laidOut(json) {
  let out = "", pad = "\n";
  const tokens = [...json.matchAll(/"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+/gs)].map((found) => found[0]);
  tokens.forEach((token, at) => {
    if ("{[".includes(token)) {
      const closed = "}]".includes(tokens[at + 1] || "x");
      if (!closed) pad += "  ";
      out += token + (closed ? "" : pad);
    } else if ("}]".includes(token)) {
      const empty = "{[".includes(tokens[at - 1] || "x");
      if (!empty) pad = pad.slice(0, -2);
      out += (empty ? "" : pad) + token;
    } else out += token === "," ? "," + pad : token === ":" ? ": " : token;
  });
  return out;
}

function asked(form) {
  const values = {path: {}, query: new URLSearchParams(), form: [], headers: {}};
  for (const field of form.querySelectorAll("[data-in]")) {
    const {in: place, kind} = field.dataset, {name, value} = field;
    if (place === "path") values.path[name] = value;
    else if (place === "accept") { if (value) values.headers.Accept = value; }
    else if (place === "body") {
      if (value.trim()) values.body = value;
      values.kind = kind;
    } else if (place === "text") new URLSearchParams(value).forEach((one, key) => values.query.append(key, one));
    else {
      const lines = kind === "list" ? value.split("\n") : [value];
      const given = kind === "map" ? [...field.files] : lines.filter(Boolean);
      for (const one of given) if (place === "query") values.query.append(name, one); else values.form.push([name, one]);
    }
  }
  const url = new URL(root);
  url.pathname += form.dataset.path.split("/").filter(Boolean).map((part) => {
    const value = values.path[part.slice(1)] || "";
    if (part[0] === ":") return encodeURIComponent(value);
    return part[0] === "*" ? value.split("/").map(encodeURIComponent).join("/") : part;
  }).join("/");
  url.search = values.query;
  return {...values, url};
}

function request(form) {
  const {url, headers, body, kind, form: fields} = asked(form);
  const options = {method: form.dataset.method, headers};
  if (form.dataset.auth && token && token.value) headers.Authorization = "Bearer " + token.value;
  if (form.dataset.form) {
    const files = form.dataset.form === "files";
    options.body = files ? new FormData() : new URLSearchParams();
    for (const [name, value] of fields) options.body.append(name, value);
  } else if (body !== undefined) {
    let json = kind === "json";
    try { JSON.parse(body); json = true; } catch { /* it goes out as it stands: the service says what is wrong */ }
    headers["Content-Type"] = json ? "application/json" : "text/plain; charset=utf-8";
    options.body = body;
  }
  return [url, options];
}

async function send(form, answer, stop) {
  const [url, options] = request(form);
  const controller = new AbortController();
  stop.onclick = () => controller.abort();
  stop.hidden = false;
  answer.replaceChildren(made("p", `${options.method} ${url.pathname}${url.search}`, "status quiet"));
  const began = performance.now();
  try {
    const reply = await fetch(url, {...options, signal: controller.signal});
    const type = reply.headers.get("Content-Type") || "";
    const status = made("p", `${reply.status} ${reply.statusText}`, "status " + (reply.ok ? "ok" : "failed"));
    status.append(made("span", ` in ${Math.round(performance.now() - began)} ms`, "kind"));
    if (reply.redirected) status.append(made("span", `, sent on to ${reply.url}`, "kind"));
    const body = made("pre", ""), fields = made("details", "");
    body.tabIndex = 0;
    fields.append(made("summary", "Header fields"));
    fields.append(made("pre", [...reply.headers].map(([name, value]) => `${name}: ${value}`).join("\n")));
    answer.replaceChildren(status, body, fields);
    await shown(reply, type, body, fields);
  } catch (error) {
    const why = error.name === "AbortError" ? "Stopped." : `No answer that this page may read (${error.message}): the service `
      + "is not there, or it sent on to another host.";
    answer.append(made("p", why, "status failed"));
  } finally { stop.hidden = true; }
}

async function shown(reply, type, body, fields) {
  if (!reply.body) return body.remove();
  if (type && !/^text\/|json|xml|javascript|urlencoded/.test(type)) {
    const file = await reply.blob(), save = made("a", `Save ${file.size} bytes of ${type}`);
    Object.assign(save, {href: URL.createObjectURL(file), download: "answer"});
    return body.replaceWith(save);
  }
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  const json = /json/.test(type);
  let text = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    text += value;
    if (!json) body.textContent = text;
    if (text.length > MOST) {
      text = text.slice(0, MOST) + "\n… and more";
      reader.cancel();
      break;
    }
  }
  body.textContent = json && text.length < MOST ? laidOut(text) : text;
  if (!text) body.remove();
}

function talk(form, answer, stop) {
  const {url} = asked(form), line = form.querySelector("[data-line]");
  url.protocol = url.protocol.replace("http", "ws");
  const socket = new WebSocket(url), said = made("pre", "");
  const say = (words) => { said.textContent = (said.textContent + words + "\n").slice(-MOST); };
  said.tabIndex = 0;
  answer.replaceChildren(said);
  form.socket = socket;
  stop.hidden = false;
  stop.onclick = () => socket.close();
  socket.onopen = () => { say("Open"); line.hidden = false; line.querySelector("input").focus(); };
  socket.onmessage = ({data}) => say("← " + (data.size === undefined ? data : `${data.size} bytes`));
  socket.onclose = ({code, reason}) => { say(`Closed (${code}${reason && ", " + reason})`); stop.hidden = line.hidden = true; };
  line.querySelector("button").onclick = () => {
    const input = line.querySelector("input");
    socket.send(input.value);
    say("→ " + input.value);
    input.value = "";
  };
}

for (const form of document.querySelectorAll(".try form")) {
  const answer = form.querySelector(".answer"), stop = form.querySelector("[data-stop]");
  form.closest("details").hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (stop.onclick) stop.onclick();
    (form.dataset.socket ? talk : send)(form, answer, stop);
  });
}
if (token) token.closest(".access").hidden = false;
"""
