import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Lang, Trapped } from "../../../wasm_abi/js/lang.js";
import { TRAPPING, WEB_BUILD, module } from "./builds.js";

const LANG = new URL("../../../wasm_abi/js/lang.js", import.meta.url);
const GET = 'require net("a.example")\nlet r be http_get("http://a.example/")\n';

let lang;

before(async () => {
    lang = await Lang.load(module);
});

after(() => lang.close());

test("no ready() is needed; run, test and handle", async () => {
    assert.deepEqual((await lang.runAsync("print(1)")).output, ["1"]);
    assert.deepEqual((await lang.testAsync('test "a"\n    assert(true)')).lines, ["✓ a"]);
    const source = 'require serve(1)\nserve on 1\n    route "GET /"\n        give {"total": state_incr("n")}';
    for (const total of [1, 2]) {
        assert.equal((await lang.handleAsync(source, {})).body, `{"total": ${total}}`);
    }
});

test("hooks take their time while the program waits", async () => {
    const llm = async (op, prompt) => {
        await delay(50);
        return { content: prompt.toUpperCase(), tokens: 2 };
    };
    const { output, llm_tokens } = await lang.runAsync('print(reason about "x")\nprint(reason about "y")', { host: { llm } });
    assert.deepEqual([output, llm_tokens], [["X", "Y"], 4]);
});

test("kv over promises: what a Map has not is nothing", async () => {
    const store = new Map();
    const kv = { get: async (ns, key) => store.get(ns + key), set: async (ns, key, value) => void store.set(ns + key, value) };
    const source = 'state_set("a", 1)\nprint(state_get("a"), state_get("b", 2))';
    assert.deepEqual((await lang.runAsync(source, { host: { kv } })).output, ["1 2"]);
});

test("a rejected promise is the program's to see", async () => {
    const http = async () => {
        throw new RangeError("far away");
    };
    assert.deepEqual((await lang.runAsync(`${GET}print(r["error"])`, { host: { http } })).output, ["RangeError: far away"]);
});

test("answers of every length around the shared buffer", async () => {
    const small = await Lang.load(module, { bufferBytes: 64 });
    let body = "";
    const http = async () => ({ status: 200, body });
    // The envelope {"status":200,"headers":[],"body":""} takes 38 bytes.
    for (const length of [0, 1, 25, 26, 27, 64 - 38 + 64, 64 - 38 + 65, 1000, 10_000]) {
        body = "é".repeat(length >> 1) + (length % 2 ? "x" : "");
        const { output } = await small.runAsync(`${GET}print(length(r["body"]))\nprint(r["body"])`, { host: { http } });
        assert.deepEqual(output, [String([...body].length), body]);
    }
    await small.close();
});

test("an answer larger than the default buffer", async () => {
    const body = "0123456789".repeat(900_000);
    const { output } = await lang.runAsync(`${GET}print(length(r["body"]))`, { host: { http: async () => ({ status: 200, body }) } });
    assert.deepEqual(output, ["9000000"]);
});

test("one call at a time; the synchronous calls have an instance of their own", async () => {
    let release;
    const llm = () => new Promise((resolve) => (release = resolve));
    const first = lang.runAsync('print(reason about "x")', { host: { llm } });
    await assert.rejects(lang.runAsync("print(1)"), /one call at a time per instance/);
    await assert.rejects(lang.testAsync(""), /one call at a time per instance/);
    await lang.ready();
    assert.deepEqual(lang.run("print(3)").output, ["3"]);
    while (release === undefined) {
        await delay(5);
    }
    release("done");
    assert.deepEqual((await first).output, ["done"]);
    assert.deepEqual((await lang.runAsync("print(2)")).output, ["2"]);
});

test("close ends an endless program; the next call starts anew", async () => {
    const endless = lang.runAsync("while true\n    let x be 1");
    const rejected = assert.rejects(endless, /closed: the worker was ended while a call was running/);
    await delay(150);
    await lang.close();
    await rejected;
    await lang.close();
    assert.deepEqual((await lang.runAsync("print(1)")).output, ["1"]);
});

test("close while a hook has not answered", async () => {
    let late;
    const llm = () => new Promise((resolve) => (late = resolve));
    const waiting = lang.runAsync('print(reason about "x")', { host: { llm } });
    const rejected = assert.rejects(waiting, /closed/);
    while (late === undefined) {
        await delay(5);
    }
    await lang.close();
    await rejected;
    late("too late");
    assert.deepEqual((await lang.runAsync("print(1)")).output, ["1"]);
});

test("close while a chunked answer is on its way, and while a wait of the wrapper runs", async () => {
    const small = await Lang.load(module, { bufferBytes: 16 });
    const body = "x".repeat(2_000_000);
    const long = small.runAsync(`${GET}print(length(r["body"]))`, { host: { http: async () => ({ status: 200, body }) } });
    const rejected = assert.rejects(long, /closed/);
    await delay(200);
    await small.close();
    await rejected;
    assert.deepEqual((await small.runAsync("print(1)")).output, ["1"]);
    await small.close();
});

test("a process ends after close, whatever the wrapper waited for", () => {
    const started = performance.now();
    const done = inOwnProcess(
        `const lang = await Lang.load(path);
         const sleeping = lang.runAsync("sleep(3600)", { host: { sleep: true } }).catch((error) => console.log(error.message));
         setTimeout(() => lang.close(), 500);
         await sleeping;`,
    );
    assert.deepEqual([done.status, done.stdout], [0, "closed: the worker was ended while a call was running\n"]);
    assert.ok(performance.now() - started < 30_000);
});

test("two instances side by side: each program hears its own hooks", async () => {
    const pair = await Promise.all([Lang.load(module, { bufferBytes: 32 }), Lang.load(module, { bufferBytes: 32 })]);
    const source = 'let i be 0\nwhile i < 20\n    print(reason about "x")\n    set i to i + 1';
    const runs = pair.map((each, number) => {
        const llm = async () => {
            await delay(number);
            return { content: String(number).repeat(100), tokens: 1 };
        };
        return each.runAsync(source, { host: { llm } });
    });
    for (const [number, { output, llm_tokens }] of (await Promise.all(runs)).entries()) {
        assert.deepEqual([output, llm_tokens], [Array(20).fill(String(number).repeat(100)), 20]);
    }
    await Promise.all(pair.map((each) => each.close()));
});

test("a request and an answer of many megabytes", async () => {
    const text = "0123456789".repeat(600_000);
    const llm = async (op, prompt) => prompt;
    const { output } = await lang.runAsync(`print(length(reason about "${text}"))`, { host: { llm } });
    assert.ok(Number(output[0]) >= 6_000_000);
    const long = await lang.runAsync(`print("${text}")`);
    assert.equal(long.output[0], text);
});

test("close while the worker starts", async () => {
    const fresh = await Lang.load(module);
    const starting = fresh.runAsync("print(1)");
    const outcome = starting.then((response) => response.output, (error) => error.message);
    await fresh.close();
    const what = await outcome;
    assert.ok(Array.isArray(what) || /closed/.test(what), what);
});

test("a trap: the call rejects, the panic reaches the log, the worker goes on with a fresh instance", async () => {
    const trapping = await Lang.load(readFileSync(TRAPPING));
    const lines = [];
    const host = { log: (line) => lines.push(line) };
    assert.deepEqual(await trapping.runAsync(""), { ok: true });
    for (const round of [1, 2]) {
        const error = await trapping.runAsync("x".repeat(200), { host }).catch((reason) => reason);
        assert.ok(error instanceof Trapped);
        assert.match(error.message, /^the module trapped \(.*unreachable.*\); the instance was discarded$/);
        assert.equal(lines.length, round);
        assert.deepEqual(await trapping.runAsync(""), { ok: true });
    }
    assert.deepEqual(lines, Array(2).fill("lang-wasm: panic: test"));
    await trapping.close();
});

test("a module that lacks the interface", async () => {
    const empty = await Lang.load(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
    await assert.rejects(empty.runAsync(""), Trapped);
    await empty.close();
});

function inOwnProcess(body) {
    const script = `import { Lang } from ${JSON.stringify(LANG.href)}; const path = ${JSON.stringify(WEB_BUILD)}; ${body}`;
    return spawnSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8", timeout: 60_000 });
}

test("a process ends although a worker is idle", () => {
    const done = inOwnProcess('const lang = await Lang.load(path); console.log((await lang.runAsync("print(1)")).output[0]);');
    assert.deepEqual([done.status, done.stdout, done.stderr], [0, "1\n", ""]);
});

test("a process does not end while a call waits for its hook", () => {
    const done = inOwnProcess(
        `const lang = await Lang.load(path);
         const llm = () => new Promise((resolve) => { const t = setTimeout(() => resolve("late"), 300); t.unref(); });
         console.log((await lang.runAsync('print(reason about "x")', { host: { llm } })).output[0]);`,
    );
    assert.deepEqual([done.status, done.stdout], [0, "late\n"]);
});

test("without shared memory the error names the headers", () => {
    const done = inOwnProcess(
        `delete globalThis.SharedArrayBuffer;
         const lang = await Lang.load(path);
         await lang.runAsync("").catch((error) => console.log(error.message));
         await lang.ready();
         console.log(lang.run("print(1)").output[0]);
         lang.run("sleep(0.05)", { host: { sleep: true } });`,
    );
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stdout, /Cross-Origin-Opener-Policy: same-origin.*Cross-Origin-Embedder-Policy: require-corp/);
    assert.match(done.stdout, /\n1\n$/);
});
