import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Lang, Trapped } from "../../../wasm_abi/js/lang.js";
import { TRAPPING, module } from "./builds.js";

test("a trap discards the instance; ready() makes a fresh one", async () => {
    const lang = await (await Lang.load(readFileSync(TRAPPING))).ready();
    const lines = [];
    assert.deepEqual(lang.run(""), { ok: true });
    const run = () => lang.run("x".repeat(200), { host: { log: (line) => lines.push(line) } });
    assert.throws(run, (error) => {
        assert.ok(error instanceof Trapped && error instanceof Error);
        assert.match(error.message, /^the module trapped \(.*unreachable.*\); the instance was discarded$/);
        return true;
    });
    assert.deepEqual(lines, ["lang-wasm: panic: test"]);
    assert.throws(() => lang.run(""), /not ready: .* again after a trap/);
    await lang.ready();
    assert.deepEqual(lang.run(""), { ok: true });
});

test("the end of the JavaScript stack is a trap too, and the next instance is whole", async () => {
    const lang = await (await Lang.load(module)).ready();
    const fromBelow = (levels) => (levels === 0 ? lang.run("print(1)") : fromBelow(levels - 1));
    let outcome = null;
    for (let levels = 1000; outcome === null; levels += 100) {
        try {
            fromBelow(levels);
        } catch (error) {
            outcome = error;
        }
    }
    // Which of the two depends on whether the stack ended inside of the module or before it.
    assert.ok(outcome instanceof Trapped || outcome instanceof RangeError, String(outcome));
    await lang.ready();
    assert.deepEqual(lang.run("print(2)").output, ["2"]);
    assert.deepEqual(lang.run("print(3)").output, ["3"]);
});

test("programs that recurse get an error, not a trap", async () => {
    const lang = await (await Lang.load(module)).ready();
    const deep = "task deep(n)\n    when n == 0\n        give 0\n    give 1 + deep(n - 1)\n";
    assert.deepEqual(lang.run(`${deep}print(deep(2900))`).output, ["2900"]);
    assert.match(lang.run(`${deep}print(deep(3500))`).errors[0], /maximum recursion depth exceeded/);
    const nested = 'task key(n)\n    when n == 0\n        give 0\n    let x be sort_by([1], (i) => key(n - 1))\n    give 1\nprint(key(2000))';
    const { ok, errors } = lang.run(nested);
    assert.ok(ok || /maximum recursion depth exceeded/.test(errors[0]), errors[0]);
    assert.deepEqual((await lang.runAsync(`${deep}print(deep(2900))`)).output, ["2900"]);
    assert.equal((await lang.runAsync(nested)).errors.length, errors.length);
    await lang.close();
});
