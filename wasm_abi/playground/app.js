/** The page: the actions of its buttons, and the display of answers. */

import { rowsOf } from "./audit.js";
import { Editor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { Store, hostOf } from "./hooks.js";
import { Preview } from "./preview.js";
import { Questions } from "./questions.js";
import { Session, isolated } from "./session.js";
import { fragmentOf, stateOf } from "./share.js";

const FILENAME = "program.lang";
const SAVED = "lang-playground";
/** The most lines that are drawn at once: a page with a million elements would freeze. */
const MOST_LINES = 5000;
/** The most problems of a program that are listed. */
const MOST_PROBLEMS = 20;
const PLACE = /program\.lang:(\d+):(\d+)/;

const $ = (id) => document.getElementById(id);
const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
};

const editor = new Editor(document.querySelector(".editor"), changed);
const questions = new Questions($("questions"));
const store = new Store(drawStore);
const preview = new Preview($("page"), (next) => {
    setRequest(next);
    send();
});
const narrow = matchMedia("(max-width: 860px)");
let session = null;
let running = null;
let cleanFragment = "";

// ---- the program and its settings ------------------------------------------------------------------------------------------

function ceiling() {
    const chosen = $("ceiling").value;
    return chosen === "custom" ? $("capabilities").value.trim() : chosen;
}

function setCeiling(text) {
    const listed = [...$("ceiling").options].some((option) => option.value === text && text !== "custom");
    $("ceiling").value = listed ? text : "custom";
    if (!listed) {
        $("capabilities").value = text;
    }
    $("capabilities").hidden = listed;
}

function choices() {
    const { http, llm, kv, log, sleep } = $("hooks").elements;
    return { http: http.value, llm: llm.value, kv: kv.checked, log: log.checked, sleep: sleep.checked };
}

function environment() {
    const env = {};
    for (const line of $("hooks").elements.env.value.split("\n")) {
        const at = line.indexOf("=");
        if (at > 0) {
            env[line.slice(0, at).trim()] = line.slice(at + 1).trim();
        }
    }
    return env;
}

function request() {
    const { method, path, headers, body } = $("send").elements;
    return { method: method.value, path: path.value || "/", headers: headers.value, body: body.value };
}

function setRequest({ method = "GET", path = "/", headers = "", body = "" }) {
    const form = $("send").elements;
    form.method.value = [...form.method.options].some((option) => option.value === method) ? method : "GET";
    Object.assign(form.path, { value: path });
    Object.assign(form.headers, { value: headers });
    Object.assign(form.body, { value: body });
    summarize();
}

/** Shows a summary of the collapsed part of the form. */
function summarize() {
    const { headers, body } = request();
    const count = headers.split("\n").filter((line) => line.includes(":")).length;
    const words = [count === 0 ? "" : count === 1 ? "1 header" : `${count} headers`, body === "" ? "" : `${body.length} characters`];
    const said = words.filter((word) => word !== "").join(", ");
    $("more").textContent = `Headers and body${said === "" ? "" : ` · ${said}`}`;
}

/** The program with all settings, to be shared or stored. The permission for real requests is never included. */
function state() {
    const { http, llm, kv, log, sleep } = choices();
    return {
        source: editor.source,
        ceiling: ceiling(),
        hooks: { http: http === "real" ? "off" : http, llm, kv, log, sleep },
        env: $("hooks").elements.env.value,
        request: request(),
        tab: selectedTab(),
    };
}

function setState({ source, ceiling: text = "", hooks = {}, env = "", request: asked = {}, tab = "output" }) {
    editor.source = String(source).replace(/\r\n?/g, "\n");
    setCeiling(String(text));
    const form = $("hooks").elements;
    form.http.value = hooks.http === "ask" ? "ask" : "off";
    form.llm.value = hooks.llm === "ask" ? "ask" : "off";
    for (const name of ["kv", "log", "sleep"]) {
        form[name].checked = hooks[name] !== false;
    }
    form.env.value = String(env);
    setRequest(asked);
    select(["output", "request", "audit", "host"].includes(tab) ? tab : "output");
    clearResults();
    check();
}

function changed() {
    if (location.hash !== "") {
        cleanFragment = "";
        history.replaceState(null, "", location.pathname + location.search);
    }
    $("examples").value = "";
    check();
}

function keep() {
    try {
        localStorage.setItem(SAVED, JSON.stringify(state()));
    } catch {
        // The browser stores nothing. The program is still in the editor.
    }
}

// ---- check as you type -------------------------------------------------------------------------------------------------------------

function check() {
    session?.check(editor.source, FILENAME, ({ ok, errors, problems = [] }) => {
        editor.mark("check", problems.filter(({ file, line }) => file === FILENAME && line > 0));
        showCheck(ok, errors, problems);
    });
}

function showCheck(ok, errors, problems) {
    const status = $("checked");
    status.className = !ok ? "wrong" : problems.length > 0 ? "doubtful" : "";
    if (problems.length === 0) {
        status.replaceChildren(ok ? "No errors found" : errors[0]);
        return;
    }
    const items = problems.slice(0, MOST_PROBLEMS).map((problem) => element("li", {}, ...problemParts(problem)));
    const more = problems.length - items.length;
    status.replaceChildren(element("ul", {}, ...items), ...(more > 0 ? [`and ${more} more`] : []));
}

/** The display of a problem: its position, as a link that moves the caret there, its message, its code and its help. */
function problemParts(problem) {
    const { severity, line, column, message, code, help } = problem;
    const text = `${line}:${column}: ${severity === "warning" ? "warning: " : ""}${message}`;
    const parts = [line > 0 ? goTo(text, problem) : message, " ", element("small", {}, code)];
    return help === "" ? parts : [...parts, element("span", { className: "cure" }, help)];
}

function markOf(error) {
    const [, line, column] = error.match(PLACE) ?? [];
    return line === undefined ? null : { line: Number(line), column: Number(column) };
}

/** A message that is a link to its position. */
function goTo(text, { line, column }) {
    const button = element("button", { type: "button", className: "place", textContent: text });
    button.addEventListener("click", () => editor.goTo(line, column));
    return button;
}

// ---- running -------------------------------------------------------------------------------------------------------------------------

async function call(op, more = {}) {
    if (session === null || running !== null) {
        return null;
    }
    running = { op, started: performance.now() };
    setRunning(true);
    const live = [];
    const source = editor.source;
    try {
        const host = hostOf(choices(), {
            store,
            ask: (question) => questions.ask(question),
            log: (line) => live.push(line),
            watch: watchRequest,
            waits: isolated,
        });
        const options = { filename: FILENAME, ceiling: ceiling() || undefined, env: environment(), host };
        const response = await session.call(op, source, more.request, options);
        if (response !== null) {
            drawAudit(rowsOf(source, response.audit ?? []));
        }
        return { response, live };
    } catch (error) {
        return { response: { ok: false, errors: [String(error.message ?? error)], ms: 0 }, live };
    } finally {
        running = null;
        questions.clear();
        setRunning(false);
    }
}

function setRunning(is) {
    for (const name of ["run", "test"]) {
        $(name).disabled = is;
    }
    $("send").querySelector("[type=submit]").disabled = is;
    $("stop").disabled = !is || !isolated;
    document.body.classList.toggle("running", is);
}

async function run(op) {
    select("output");
    $("lines").replaceChildren();
    setOutcome("", op === "test" ? "Testing…" : "Running…");
    const done = await call(op);
    if (done !== null) {
        (op === "test" ? drawTests : drawRun)(done);
        if (narrow.matches) {
            $("output").parentElement.scrollIntoView({ block: "nearest" });
        }
    }
}

function drawRun({ response, live }) {
    $("lines").replaceChildren();
    const warned = live.map((line) => ["log", line]);
    if (response === null) {
        drawLines($("lines"), warned);
        setOutcome("wrong", "Stopped");
        return;
    }
    const { ok, output = [], errors = [], exit, llm_tokens, limit, ms } = response;
    const printed = output.map((line) => [line.startsWith("[LOG] ") ? "log" : "", line]);
    drawLines($("lines"), [...printed, ...warned, ...errors.map((error) => ["error", error])]);
    editor.mark("run", errors.map(markOf).filter((mark) => mark !== null));
    const words = [ok ? "Done" : limit === undefined ? "Failed" : "Ended by a limit"];
    words.push(exit === undefined ? "" : `exit ${exit}`, timeOf(ms), llm_tokens > 0 ? `${llm_tokens} tokens` : "");
    setOutcome(ok ? "right" : "wrong", words.filter((word) => word !== "").join(" · "));
    if (errors.some((error) => error.includes("`serve` works only under"))) {
        const lead = element("button", { type: "button", className: "place", textContent: "Send it a request instead" });
        lead.addEventListener("click", () => select("request", true));
        $("lines").append(element("li", { className: "hint" }, "This program answers requests. ", lead));
    }
    if (ok && output.length === 0) {
        $("lines").replaceChildren(element("li", { className: "hint", textContent: "It printed nothing." }));
    }
}

function drawTests({ response, live }) {
    $("lines").replaceChildren();
    if (response === null) {
        setOutcome("wrong", "Stopped");
        return;
    }
    const { ok, passed = 0, failed = 0, lines = [], errors = [], ms } = response;
    const kinds = (line) => (line.startsWith("✓ ") ? "passed" : line.startsWith("✗ ") ? "failed" : "error");
    drawLines($("lines"), [
        ...lines.map((line) => [kinds(line), line]),
        ...live.map((line) => ["log", line]),
        ...errors.map((error) => ["error", error]),
    ]);
    if (passed + failed === 0 && errors.length === 0) {
        const hint = 'No tests. Write one: test "name", and below it, indented, assert_eq(1 + 1, 2)';
        $("lines").append(element("li", { className: "hint", textContent: hint }));
    }
    setOutcome(ok ? "right" : "wrong", `${passed} passed, ${failed} failed · ${timeOf(ms)}`);
}

function timeOf(ms) {
    return ms < 1000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function setOutcome(kind, text) {
    Object.assign($("outcome"), { className: kind, textContent: text });
}

function drawLines(list, lines) {
    const shown = lines.slice(0, MOST_LINES);
    list.append(
        ...shown.map(([kind, text]) => {
            const mark = kind === "error" || kind === "failed" ? markOf(text) : null;
            return element("li", { className: kind }, mark === null ? text : goTo(text, mark));
        }),
    );
    if (lines.length > shown.length) {
        const hidden = lines.length - shown.length;
        list.append(element("li", { className: "hint", textContent: `${hidden} more lines are not shown.` }));
    }
}

function clearResults() {
    $("lines").replaceChildren(element("li", { className: "hint", textContent: "Run the program to see what it prints." }));
    setOutcome("", "");
    $("reply").hidden = true;
    $("reply-status").textContent = "";
    drawAudit([]);
}

// ---- one request ----------------------------------------------------------------------------------------------------------------------

async function send() {
    select("request");
    const asked = request();
    const headers = asked.headers
        .split("\n")
        .map((line) => line.match(/^\s*([^:\s]+)\s*:\s*(.*?)\s*$/))
        .filter((match) => match !== null)
        .map(([, name, value]) => [name, value]);
    Object.assign($("reply-status"), { className: "", textContent: "Waiting…" });
    const done = await call("handle", { request: { ...asked, headers } });
    if (done?.response === null) {
        Object.assign($("reply-status"), { className: "wrong", textContent: "Stopped" });
    } else if (done !== null) {
        drawReply(done.response, done.live, asked);
    }
}

function drawReply({ status, content_type = "", headers = [], body, body_base64, log = [], errors = [], ms }, live, asked) {
    const text = body_base64 === undefined ? (body ?? "") : `${atob(body_base64).length} bytes that are no text`;
    const words = status === undefined ? ["Failed"] : [`${status}`, content_type, timeOf(ms)];
    Object.assign($("reply-status"), {
        className: status >= 200 && status < 400 ? "right" : "wrong",
        textContent: words.filter((word) => word !== "").join(" · "),
    });
    $("reply").hidden = false;
    $("reply-headers").tBodies[0].replaceChildren(
        ...[["Content-Type", content_type], ...headers].map(([name, value]) =>
            element("tr", {}, element("th", { scope: "row", textContent: name }), element("td", { textContent: value })),
        ),
    );
    $("reply-log").replaceChildren();
    const printed = [...log.map((line) => ["", line]), ...live.map((line) => ["log", line]), ...errors.map((error) => ["error", error])];
    drawLines($("reply-log"), printed);
    $("reply-log-part").hidden = printed.length === 0;
    $("reply-log-part").open = errors.length > 0;
    editor.mark("run", errors.map(markOf).filter((mark) => mark !== null));
    $("body").textContent = pretty(text, content_type);
    const isPage = content_type.startsWith("text/html");
    $("rendered").parentElement.hidden = !isPage;
    if (isPage) {
        preview.show(text, asked.path);
    }
    view(isPage);
    const location_ = headers.find(([name]) => name.toLowerCase() === "location")?.[1];
    if (status >= 300 && status < 400 && location_?.startsWith("/")) {
        const follow = element("button", { type: "button", className: "place", textContent: `Follow to ${location_}` });
        follow.addEventListener("click", () => {
            setRequest({ path: location_, headers: request().headers });
            send();
        });
        $("reply-status").append(" ", follow);
    }
}

function pretty(text, type) {
    if (/\bjson\b/.test(type)) {
        try {
            return JSON.stringify(JSON.parse(text), null, 2);
        } catch {
            return text;
        }
    }
    return text;
}

function view(rendered) {
    $("page").hidden = !rendered;
    $("body").hidden = rendered;
    $("rendered").setAttribute("aria-pressed", String(rendered));
    $("as-text").setAttribute("aria-pressed", String(!rendered));
}

// ---- audit, requests, store ------------------------------------------------------------------------------------------------------------

function drawAudit(rows) {
    $("rows").replaceChildren(
        ...rows.map(({ name, scope, declared, granted, denied, why }) =>
            element(
                "tr",
                { className: denied > 0 ? "denied" : granted === 0 ? "unused" : "" },
                element("th", { scope: "row" }, name, scope === null ? "" : element("small", { textContent: ` ${scope}` })),
                element("td", {}, declared === "default" ? "by default" : declared === null ? "—" : element("code", { textContent: declared })),
                element("td", { className: "number", textContent: granted }),
                element("td", { className: "number", textContent: denied }),
                element("td", { textContent: why || "declared, not used" }),
            ),
        ),
    );
    if (rows.length === 0) {
        const nothing = element("td", { colSpan: 5, className: "hint", textContent: "Nothing yet: it asked for no capability." });
        $("rows").append(element("tr", {}, nothing));
    }
    const denied = rows.reduce((sum, row) => sum + row.denied, 0);
    badge("audit", denied === 0 ? "" : String(denied), `${denied} denied`);
}

function badge(tab, text, meaning) {
    const button = $(`tab-${tab}`);
    button.querySelector(".badge")?.remove();
    if (text !== "") {
        button.append(element("span", { className: "badge", textContent: text, title: meaning, ariaLabel: meaning }));
    }
}

function watchRequest({ method, url, headers, body }) {
    const status = element("span", { className: "status", textContent: "…" });
    const details = element("details", {}, element("summary", {}, element("b", { textContent: method }), ` ${url} `, status));
    const sent = [...headers.map(([name, value]) => `${name}: ${value}`), "", body ?? ""].join("\n").trim();
    details.append(element("pre", { textContent: sent || "(no headers, no body)" }));
    $("http-log").prepend(element("li", {}, details));
    $("no-requests").hidden = true;
    const started = performance.now();
    return (answer) => {
        const failed = answer.error !== undefined;
        status.textContent = failed ? answer.error : `${answer.status} · ${timeOf(performance.now() - started)}`;
        status.classList.add(failed ? "wrong" : "right");
        const text = typeof answer.body === "string" ? answer.body : answer.body && new TextDecoder().decode(answer.body);
        details.append(element("pre", { textContent: (text ?? "").slice(0, 20_000) }));
    };
}

function drawStore() {
    const entries = store.entries;
    $("entries").replaceChildren(
        ...entries.map(([space, key, value]) =>
            element(
                "tr",
                {},
                element("th", { scope: "row" }, key, element("small", { textContent: ` ${space}` })),
                element("td", {}, element("code", { textContent: value.length > 500 ? `${value.slice(0, 500)}…` : value })),
            ),
        ),
    );
    $("no-entries").hidden = entries.length > 0;
    $("clear").hidden = entries.length === 0;
}

// ---- tabs -----------------------------------------------------------------------------------------------------------------------------

const tabs = [...document.querySelectorAll("[role=tab]")];

function selectedTab() {
    return tabs.find((tab) => tab.ariaSelected === "true").getAttribute("aria-controls");
}

function select(name, focus = false) {
    for (const tab of tabs) {
        const chosen = tab.getAttribute("aria-controls") === name;
        tab.setAttribute("aria-selected", String(chosen));
        tab.tabIndex = chosen ? 0 : -1;
        $(tab.getAttribute("aria-controls")).hidden = !chosen;
        if (chosen && focus) {
            tab.focus();
        }
    }
}

for (const [at, tab] of tabs.entries()) {
    tab.addEventListener("click", () => select(tab.getAttribute("aria-controls")));
    tab.addEventListener("keydown", (event) => {
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
        if (to !== undefined) {
            event.preventDefault();
            select(tabs.at(to % tabs.length).getAttribute("aria-controls"), true);
        }
    });
}

// ---- the other buttons ------------------------------------------------------------------------------------------------------------------

$("run").addEventListener("click", () => run("run"));
$("test").addEventListener("click", () => run("test"));
$("stop").addEventListener("click", () => session.stop());
$("send").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
});
$("send").addEventListener("input", summarize);
$("hooks").addEventListener("submit", (event) => event.preventDefault());
$("hooks").addEventListener("change", () => {
    const real = $("hooks").elements.http.value === "real";
    $("http-note").textContent = real ? "sent from this page to the servers that the program names" : "requests of fetch and http_get";
    $("http-note").classList.toggle("warned", real);
});
$("rendered").addEventListener("click", () => view(true));
$("as-text").addEventListener("click", () => view(false));
$("clear").addEventListener("click", () => store.clear());
$("ceiling").addEventListener("change", () => {
    $("capabilities").hidden = $("ceiling").value !== "custom";
    if ($("ceiling").value === "custom") {
        $("capabilities").focus();
    }
});

addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        if (event.target.closest?.("#send")) {
            send();
        } else {
            run(event.shiftKey ? "test" : "run");
        }
    }
});

$("share").addEventListener("click", async () => {
    cleanFragment = await fragmentOf(state());
    history.replaceState(null, "", cleanFragment);
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    $("share").textContent = copied ? "Copied" : "It is in the address";
    setTimeout(() => ($("share").textContent = "Copy link"), 2000);
});

const dark = matchMedia("(prefers-color-scheme: dark)");

function setTheme(name) {
    document.documentElement.dataset.theme = name;
    $("theme").setAttribute("aria-pressed", String(name === "dark"));
}

$("theme").addEventListener("click", () => {
    const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    setTheme(name);
    try {
        localStorage.setItem(`${SAVED}-theme`, name);
    } catch {
        // See keep().
    }
});
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));

for (const { title, file } of EXAMPLES) {
    $("examples").append(element("option", { value: file, textContent: title }));
}
$("examples").addEventListener("change", () => openExample($("examples").value));

async function openExample(name) {
    const example = EXAMPLES.find(({ file }) => file === name);
    if (example !== undefined) {
        setState({ ...example, source: await (await fetch(`examples/${name}`)).text() });
        $("examples").value = name;
    }
}

addEventListener("hashchange", () => openFragment());
addEventListener("pagehide", keep);
document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && keep());

// ---- the start -----------------------------------------------------------------------------------------------------------------------------

/** Whether the address held a program. */
async function openFragment() {
    if (location.hash === cleanFragment && cleanFragment !== "") {
        return true;
    }
    try {
        const shared = await stateOf(location.hash);
        if (shared !== null) {
            cleanFragment = location.hash;
            setState(shared);
            return true;
        }
    } catch {
        setOutcome("wrong", "The link is damaged: it holds no program that can be read.");
        return true;
    }
    return false;
}

function saved(name) {
    try {
        return localStorage.getItem(name);
    } catch {
        return null;
    }
}

async function openProgram() {
    if (await openFragment()) {
        return;
    }
    try {
        setState(JSON.parse(saved(SAVED)));
    } catch {
        await openExample(EXAMPLES[0].file); // nothing readable was stored
    }
}

/** Registers the service worker: the page works offline from the second visit on, and is isolated without server headers. */
async function registerWorker() {
    if (navigator.serviceWorker === undefined) {
        return;
    }
    const registration = await navigator.serviceWorker.register("sw.js").catch(() => undefined);
    if (registration !== undefined && !isolated && sessionStorage.getItem("reloaded") === null) {
        await navigator.serviceWorker.ready;
        sessionStorage.setItem("reloaded", "yes");
        keep();
        location.reload();
    }
}

document.documentElement.dataset.isolated = String(isolated);
setTheme(saved(`${SAVED}-theme`) ?? (dark.matches ? "dark" : "light"));
clearResults();
drawStore();
registerWorker();
await openProgram();
try {
    session = await Session.open("lang-web.wasm");
    setRunning(false);
    check();
    if (!isolated) {
        $("hooks").elements.http.disabled = $("hooks").elements.llm.disabled = true;
        const why = "This page is not isolated (its server does not say so), so programs cannot wait for answers or be stopped.";
        setOutcome("wrong", why);
    }
} catch (error) {
    showCheck(false, `The interpreter could not be loaded: ${error.message}`);
}
document.documentElement.dataset.ready = "true";
