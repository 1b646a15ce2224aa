import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Lang, fetchHttp } from "../../../wasm_abi/js/lang.js";
import { module } from "./builds.js";

// What holds for both ways of calling is tested in both.
let lang;
const WAYS = {
    synchronous: (source, options) => lang.run(source, options),
    asynchronous: (source, options) => lang.runAsync(source, options),
};

before(async () => {
    lang = await (await Lang.load(module)).ready();
});

function everyWay(name, body) {
    for (const [way, run] of Object.entries(WAYS)) {
        test(`${name}, ${way}`, () => body(run));
    }
}

const BYTES = 'require net("api.example")\nlet r be http_bytes("GET", "https://api.example/v")\n';
const GET = 'require net("api.example")\nlet r be http_get("https://api.example/v")\n';

everyWay("http: the request, a binary body, repeated headers", async (run) => {
    const asked = [];
    const http = (request) => {
        asked.push(request);
        return { status: 200, headers: [["x-a", "1"], ["x-a", "2"]], body: new Uint8Array([104, 105]) };
    };
    const response = await run(`${GET}print(text(r["status"]) + r["body"])`, { host: { http } });
    assert.deepEqual(response.output, ["200hi"]);
    assert.equal(asked.length, 1);
    const [{ method, url, headers, timeout, body }] = asked;
    assert.deepEqual([method, url, body], ["GET", "https://api.example/v", null]);
    assert.ok(Array.isArray(headers) && headers.every((pair) => Array.isArray(pair)));
    assert.equal(typeof timeout, "number");
});

everyWay("http: answers in all their forms", async (run) => {
    const answers = [
        { status: 200, headers: new Headers({ "x-a": "1" }), body: "text" },
        { status: 200, headers: { "x-a": "1" }, body: new TextEncoder().encode("text").buffer },
        { status: 200, headers: [["x-a", "1"]], body_base64: btoa("text") },
    ];
    for (const answer of answers) {
        const { output, errors } = await run(`${GET}print(r["headers"]["x-a"] + r["body"])`, { host: { http: () => answer } });
        assert.deepEqual([errors, output], [[], ["1text"]]);
    }
    const bare = await run(`${GET}print(r["status"], r["ok"])`, { host: { http: () => ({ status: 204 }) } });
    assert.deepEqual(bare.output, ["204 true"]);
});

everyWay("http: failures are the program's to see", async (run) => {
    const failing = {
        'Error: broken': () => {
            throw new Error("broken");
        },
        "no route": () => ({ error: "no route" }),
        "the http hook gave no answer": () => undefined,
        "TypeError: Do not know how to serialize a BigInt": () => ({ status: 1n }),
    };
    for (const [error, http] of Object.entries(failing)) {
        const { ok, output } = await run(`${GET}print(r["ok"], r["status"], r["error"])`, { host: { http } });
        assert.equal(ok, true);
        assert.deepEqual(output, [`false 0 ${error}`]);
    }
});

everyWay("http: what a hook throws and answers may have no text; the program sees an error all the same", async (run) => {
    const odd = [
        () => {
            throw Object.create(null);
        },
        () => {
            throw undefined;
        },
        () => ({ error: Object.create(null) }),
        () => ({
            get then() {
                throw new Error("then");
            },
        }),
        () => ({ status: 200, body: { a: 1 } }),
        () => ({ status: 200, body: 5 }),
        () => ({ status: 200, headers: { "x-a": null } }),
        () => ({ status: 200, headers: { "x-a": ["1", "2"] } }),
        () => ({ status: 200, headers: [["x-a"]] }),
        () => ({ status: 200, headers: 5 }),
        () => ({ status: "200" }),
        () => ({ status: 200, body_base64: "a" }),
        () => ({
            toJSON() {
                throw new Error("toJSON");
            },
        }),
        () => [],
        () => "text",
        () => Symbol("x"),
    ];
    for (const http of odd) {
        const { ok, output, errors } = await run(`${GET}print(r["ok"], r["status"], length(r["error"]) > 0)`, { host: { http } });
        assert.deepEqual([ok, errors, output], [true, [], ["false 0 true"]], String(http));
    }
    const kv = { get: () => ({ value: 5 }), list: () => 5, set: () => Symbol("x") };
    assert.match((await run('state_get("a")', { host: { kv } })).errors[0], /state: the host store failed/);
    assert.match((await run("state_all()", { host: { kv } })).errors[0], /state: the host store failed/);
    assert.equal((await run('state_set("a", 1)', { host: { kv } })).ok, true);
    assert.deepEqual((await run("print(1)", {})).output, ["1"]);
});

everyWay("http: bytes that are no text travel as base64 both ways, in either alphabet", async (run) => {
    const asked = [];
    const http = (request) => (asked.push(request), { status: 200, body_base64: "-_8\n=" });
    const source = 'require net("api.example")\nlet r be http_post("https://api.example/", bytes([255, 254, 0]))\nprint(r["body"])';
    assert.deepEqual((await run(source, { host: { http } })).errors, []);
    assert.deepEqual([asked[0].body, asked[0].body_base64], [undefined, "//4A"]);
    const answers = ["+/8=", "-_8=", "-_8", " + / 8 = "].map((body_base64) => ({ status: 200, body_base64 }));
    answers.push({ status: 200, body: new Uint8Array([251, 255]) }, { status: 200, body: new Uint16Array([0xfffb]) });
    const bodies = [];
    for (const answer of answers) {
        const { output, errors } = await run(`${BYTES}print(r["bytes"])`, { host: { http: () => answer } });
        bodies.push(errors[0] ?? output[0]);
    }
    assert.deepEqual(bodies, Array(answers.length).fill("bytes(fbff)"));
});

everyWay("http: not asked without a grant, nor when it is not lent", async (run) => {
    let asked = 0;
    const http = () => (asked++, { status: 200 });
    const source = 'let r be http_get("https://api.example/v")';
    assert.match((await run(source, { host: { http } })).errors[0], /Capability not granted: net/);
    assert.match((await run(GET, { host: { http }, ceiling: "stdout" })).errors[0], /Capability not granted: net/);
    assert.equal(asked, 0);
    const { output } = await run(`${GET}print(r["ok"], "error" in r)`, {});
    assert.deepEqual(output, ["false true"]);
    assert.deepEqual((await run(`${GET}print(r["ok"])`, { host: { http: null } })).output, ["false"]);
});

function memory() {
    const store = new Map();
    return {
        store,
        get: (ns, key) => store.get(`${ns}/${key}`),
        set: (ns, key, value) => void store.set(`${ns}/${key}`, value),
        delete: (ns, key) => void store.delete(`${ns}/${key}`),
        list: (ns) => [...store.keys()].filter((key) => key.startsWith(`${ns}/`)).map((key) => key.slice(ns.length + 1)),
    };
}

everyWay("kv: state", async (run) => {
    const kv = memory();
    const source = 'state_set("a", [1])\nstate_set("b", "x")\nstate_delete("b")\nprint(state_get("a"), state_all(), state_get("c", 9))';
    assert.deepEqual((await run(source, { host: { kv } })).output, ["[1] {a: [1]} 9"]);
    assert.deepEqual([...kv.store], [["state/a", "[1]"]]);
});

everyWay("kv: a memory outlives a run", async (run) => {
    const kv = memory();
    const source = 'require memory("notes")\nremember("context", "a")\nprint(length(recall()))';
    assert.deepEqual((await run(source, { host: { kv } })).output, ["1"]);
    assert.deepEqual((await run(source, { host: { kv } })).output, ["2"]);
    const without = await run(source, { host: { kv: { set: () => undefined } } });
    assert.match(without.errors[0], /memory "notes" is declared but this host provides no durable storage/);
});

everyWay("kv: a failing store is no empty store", async (run) => {
    const broken = () => {
        throw new Error("disk gone");
    };
    const lines = [];
    const reading = await run('print(state_get("a"))', { host: { kv: { get: broken } } });
    assert.match(reading.errors[0], /state: the host store failed: Error: disk gone/);
    const host = { kv: { get: () => ({ value: null }), set: () => ({ error: "full" }) }, log: (line) => lines.push(line) };
    const writing = await run('state_set("a", 1)', { host });
    assert.match(writing.errors[0], /state: the host store failed: full/);
    assert.ok(lines.some((line) => line.includes('"a"') && line.includes("state")));
    assert.equal((await run('state_delete("a")', { host: { kv: { get: () => null } } })).ok, false);
});

everyWay("llm: maps, texts and failures; tokens add up", async (run) => {
    const asked = [];
    const llm = (op, prompt) => (asked.push([op, prompt]), op === "decide" ? { content: "Blue.", tokens: 9 } : "Grey.");
    const source = 'require llm\nprint(decide between ["RED", "BLUE"] given "sky")\nprint(reason about "rain" with where = "Oslo")';
    const response = await run(source, { host: { llm } });
    assert.deepEqual(response.output, ["BLUE", "Grey."]);
    assert.deepEqual(asked, [
        ["decide", 'Decide between ["RED", "BLUE"] given sky'],
        ["reason", "Reason about: rain (context: where=Oslo)"],
    ]);
    const failing = await run('print(reason about "x")', { host: { llm: () => ({ error: "quota" }) } });
    assert.deepEqual(failing.output, ["[llm error: quota]"]);
    const silent = await run('print(reason about "x")', { host: { llm: () => undefined } });
    assert.deepEqual(silent.output, ["[llm: the host returned no answer for reason]"]);
});

everyWay("log: what eprint writes, in order; what the hook answers does not matter", async (run) => {
    const lines = [];
    const log = (line) => {
        lines.push(line);
        throw new Error("ignored");
    };
    assert.equal((await run('eprint("a")\neprint("b")', { host: { log } })).ok, true);
    assert.deepEqual(lines, ["a", "b"]);
});

everyWay("sleep: a function, true, and nothing", async (run) => {
    const slept = [];
    const asked = await run("sleep(1.5)", { host: { sleep: (seconds) => void slept.push(seconds) } });
    assert.deepEqual([asked.ok, slept], [true, [1.5]]);
    const started = performance.now();
    await run("sleep(0.2)", { host: { sleep: true } });
    assert.ok(performance.now() - started >= 200);
    const before = performance.now();
    await run("sleep(30)", {});
    assert.ok(performance.now() - before < 5000);
});

everyWay("hooks are methods of their object", async (run) => {
    class Host {
        #said = [];
        log(line) {
            this.#said.push(line);
        }
        get said() {
            return this.#said;
        }
    }
    const host = new Host();
    await run('eprint("a")', { host });
    assert.deepEqual(host.said, ["a"]);
});

test("a synchronous call with a hook that returns a Promise", () => {
    const later = async () => {
        throw new Error("nobody waits for this");
    };
    const { output } = lang.run(`${GET}print(r["error"])\nprint(reason about "x")`, { host: { http: later, llm: later } });
    assert.match(output[0], /the http hook returned a Promise: use runAsync/);
    assert.match(output[1], /the llm hook returned a Promise: use runAsync/);
    assert.match(lang.run('state_get("a")', { host: { kv: { get: later } } }).errors[0], /the kv hook returned a Promise: use runAsync/);
    assert.throws(() => lang.run("sleep(1)", { host: { sleep: later } }), /the sleep hook returned a Promise: use runAsync/);
    assert.equal(lang.run('eprint("a")', { host: { log: later } }).ok, true);
});

test("a hook cannot enter its own instance, and may enter another one", async () => {
    const other = await (await Lang.load(module)).ready();
    const inside = (instance) => ({ host: { llm: () => instance.run("print(2)").output[0] } });
    assert.match(lang.run('print(reason about "x")', inside(lang)).output[0], /one call at a time per instance/);
    assert.deepEqual(lang.run('print(reason about "x")', inside(other)).output, ["2"]);
    assert.deepEqual(lang.run("print(1)").output, ["1"]);
});

test("fetchHttp asks as it is told and follows no redirect", async () => {
    const { createServer } = await import("node:http");
    const seen = [];
    const server = createServer((request, response) => {
        const chunks = [];
        request.on("data", (chunk) => chunks.push(chunk));
        request.on("end", () => {
            seen.push([request.method, request.url, request.headers["x-a"], Buffer.concat(chunks).toString("latin1")]);
            if (request.url === "/away") {
                response.writeHead(302, { location: "http://elsewhere.example/" }).end();
            } else if (request.url !== "/slow") {
                response.writeHead(200, { "content-type": "application/octet-stream" }).end(Buffer.from([255, 1]));
            }
        });
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${server.address().port}`;
    try {
        const source = (call) => `require net("127.0.0.1")\nlet r be ${call}\nprint(r["status"], r["ok"], "error" in r)`;
        const host = { http: fetchHttp() };
        const posted = await lang.runAsync(source(`http_post("${origin}/a", {"b": 1}, {"X-A": "é"})`), { host });
        assert.deepEqual([posted.errors, posted.output], [[], ["200 true false"]]);
        assert.deepEqual([seen[0][0], seen[0][2]], ["POST", "é"]);
        assert.deepEqual(JSON.parse(seen[0][3]), { b: 1 });
        assert.deepEqual((await lang.runAsync(source(`http_get("${origin}/away")`), { host })).output, ["302 false false"]);
        assert.equal(seen.length, 2);
        const slow = await lang.runAsync(source(`http_get("${origin}/slow", nothing, nothing, 1)`), { host });
        assert.deepEqual(slow.output, ["0 false true"]);
    } finally {
        server.closeAllConnections();
        server.close();
        await lang.close();
    }
});
