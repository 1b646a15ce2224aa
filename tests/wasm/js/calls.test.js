import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Lang } from "../../../wasm_abi/js/lang.js";
import { module } from "./builds.js";

let lang;

before(async () => {
    lang = await (await Lang.load(module)).ready();
});

function records(response) {
    return response.audit.map(({ capability, scope, granted }) => [capability, scope, granted]);
}

test("run", () => {
    const response = lang.run('print(1 + 2)\nprint("é")');
    assert.deepEqual({ ...response, audit: null }, { ok: true, output: ["3", "é"], errors: [], audit: null, llm_tokens: 0 });
});

test("a ceiling", () => {
    const response = lang.run('print("before")\nrequire random\nprint(random())', { ceiling: "sandbox" });
    assert.equal(response.ok, false);
    assert.deepEqual(response.output, ["before"]);
    assert.match(response.errors[0], /Capability not granted: random/);
    assert.ok(records(response).some(([capability, , granted]) => capability === "random" && !granted));
});

test("check and parse errors name the file and the place", () => {
    assert.deepEqual(lang.check("print(1)"), { ok: true, errors: [] });
    const { ok, errors, problems } = lang.check("let x be", { filename: "a.lang", problems: true });
    assert.deepEqual(
        problems.map(({ severity, file, line, code }) => [severity, file, line, code.slice(0, 3)]),
        [["error", "a.lang", 1, "E01"]],
    );
    assert.equal(ok, false);
    assert.match(errors[0], /^Parse error: a\.lang:1:\d+: /);
    assert.deepEqual(lang.run("let x be", { filename: "a.lang" }).errors, errors);
});

test("test", () => {
    const response = lang.test('test "sum"\n    assert(1 + 1 == 2)\ntest "bad"\n    assert(1 == 2)');
    assert.deepEqual([response.ok, response.passed, response.failed], [false, 1, 1]);
    assert.deepEqual(response.lines, ["✓ sum", "✗ bad: <embedded>:4:11: assertion failed"]);
});

test("env, files and limits", () => {
    const source = 'require env("*")\nuse "./lib.lang" as lib\nprint(env("KEY"), env("N"), lib.X)';
    const files = { "lib.lang": "export let X be 5" };
    assert.deepEqual(lang.run(source, { env: { KEY: "v", N: 5 }, files }).output, ["v 5 5"]);
    const coded = { "lib.lang": new TextEncoder().encode('export let X be "é"') };
    assert.deepEqual(lang.run(source, { env: { KEY: "v", N: null }, files: coded }).output, ["v  é"]);
    const given = { "lib.lang": { base64: btoa("export let X be 7") } };
    assert.deepEqual(lang.run(source, { env: { KEY: "v", N: true }, files: given }).output, ["v true 7"]);

    const limited = lang.run("let i be 0\ntry\n    while true\n        set i to i + 1\nrecover e\n    print(1)", { limits: { steps: 1000 } });
    assert.deepEqual([limited.ok, limited.output, limited.limit], [false, [], "steps"]);
    assert.match(limited.errors[0], /Limit exceeded: steps \(1000\)/);
    assert.match(lang.run("", { limits: { stepz: 1 } }).errors[0], /^limits: /);
    assert.match(lang.run("", { ceiling: "bogus" }).errors[0], /^ceiling: /);
});

test("exit", () => {
    const response = lang.run('print("a")\nlog "b"\nexit(3)\nprint("d")');
    assert.deepEqual([response.ok, response.exit, response.output, response.errors], [false, 3, ["a", "[LOG] b"], []]);
});

test("handle keeps the program, and isolates its requests", () => {
    const store = new Map();
    const calls = [];
    const kv = {
        get: (ns, key) => (calls.push(["get", ns, key]), store.get(`${ns} ${key}`)),
        set: (ns, key, value) => void (calls.push(["set", ns, key, value]), store.set(`${ns} ${key}`, value)),
    };
    const source = [
        "require serve(8080)",
        "let hits be 0",
        "serve on 8080",
        '    route "GET /hello/:name"',
        "        set hits to hits + 1",
        '        print("served " + params.name)',
        '        give {"hi": params.name, "hits": hits, "total": state_incr("total")}',
    ].join("\n");
    for (const total of [1, 2]) {
        const reply = lang.handle(source, { path: "/hello/ana?x=1" }, { host: { kv } });
        assert.deepEqual(
            [reply.status, reply.content_type, reply.log, reply.body],
            [200, "application/json", ["served ana"], `{"hi": "ana", "hits": 1, "total": ${total}}`],
        );
    }
    assert.deepEqual(calls, [
        ["get", "state", "total"],
        ["set", "state", "total", "1"],
        ["get", "state", "total"],
        ["set", "state", "total", "2"],
    ]);
    const wrong = lang.handle(source, { method: "POST", path: "/hello/ana" }, { host: { kv } });
    assert.deepEqual([wrong.status, wrong.headers], [405, [["Allow", "GET"]]]);
    assert.equal(lang.handle(source, { path: "/nope" }, { host: { kv } }).body, '{"error": "no route for GET /nope", "status": 404}');
    const unasked = lang.handle(source.replace("require serve(8080)\n", ""), { path: "/hello/ana" });
    assert.equal(unasked.status, 500);
    assert.match(unasked.errors[0], /missing capability serve\(8080\)/);
});

test("bodies as text and as bytes, both ways", () => {
    const source = [
        "require serve(1)",
        "serve on 1",
        '    route "POST /echo"',
        '        give binary(read_body_bytes(), "application/octet-stream")',
    ].join("\n");
    const echo = (body) => lang.handle(source, { method: "POST", path: "/echo", body });
    assert.equal(echo("é").body, "é");
    assert.equal(echo(null).body, "");
    assert.equal(echo(new Uint8Array([104, 105])).body, "hi");
    const binary = Uint8Array.from({ length: 300 }, (_, number) => number % 256);
    for (const body of [binary, binary.buffer, new DataView(binary.buffer)]) {
        const reply = echo(body);
        assert.equal(reply.body, "");
        assert.deepEqual(Uint8Array.from(atob(reply.body_base64), (c) => c.charCodeAt(0)), binary);
    }
    const part = new Uint8Array(binary.buffer, 250, 3);
    assert.equal(atob(echo(part).body_base64), "\u00fa\u00fb\u00fc");
});

test("headers as pairs, object and Headers", () => {
    const source = ["require serve(1)", "serve on 1", '    route "POST /head"', '        give {"a": request.headers["x-a"]}'].join("\n");
    for (const headers of [[["X-A", "1"]], { "X-A": "1" }, new Headers({ "X-A": "1" })]) {
        const reply = lang.handle(source, { method: "post", path: "/head", headers });
        assert.deepEqual([reply.status, reply.body], [200, '{"a": "1"}']);
    }
});

test("a host that throws from a getter is the embedder's fault, and the instance stays usable", () => {
    const host = {
        get http() {
            throw new Error("getter");
        },
    };
    assert.throws(() => lang.run("", { host }), /getter/);
    assert.deepEqual(lang.run("print(1)").output, ["1"]);
});

test("files may have any name, and bytes in either alphabet", () => {
    const files = JSON.parse('{"__proto__": "proto", "b": {"base64": "-_8="}}');
    const source = 'require file.read("*")\nprint(read_file("__proto__"), read_file_bytes("b"))';
    assert.deepEqual(lang.run(source, { files }).output, ["proto bytes(fbff)"]);
    assert.deepEqual(lang.run("", { files: { b: { base64: "*" } } }).errors, ["files: 'b' is not Base64"]);
    const echo = 'require serve(1)\nserve on 1\n    route "POST /"\n        give binary(read_body_bytes(), "a/b")';
    assert.equal(lang.handle(echo, { method: "POST", body_base64: "-_8=" }).body_base64, "+/8=");
});

test("what JSON cannot say is misuse, and the instance stays usable", () => {
    const circle = {};
    circle.self = circle;
    assert.throws(() => lang.run("", { env: circle }), TypeError);
    assert.throws(() => lang.run("", { env: { A: 1n } }), TypeError);
    assert.deepEqual(lang.run("print(1)").output, ["1"]);
});

test("a misspelt option is an error: it could be a ceiling", () => {
    assert.throws(() => lang.run("", { celing: "none" }), /unknown option "celing"/);
});

test("a program that is no text is refused as data", () => {
    assert.deepEqual(lang.run(undefined).errors, ["missing `source` (the program text)"]);
    assert.equal(lang.handle(undefined, {}).status, 500);
});

test("text survives both ways, characters outside of the first plane and lone surrogates included", () => {
    const text = "aé€😀 \u2028";
    assert.deepEqual(lang.run(`print("${text}")`).output, [text]);
    assert.equal(lang.run('print("\ud800")').ok, true);
});

test("two instances share nothing", async () => {
    const other = await (await Lang.load(module)).ready();
    const host = { llm: () => ({ content: "x", tokens: 5 }) };
    assert.equal(lang.run('print(reason about "x")', { host }).llm_tokens, 5);
    assert.equal(lang.run('print(reason about "x")', { host }).llm_tokens, 10);
    assert.equal(other.run('print(reason about "x")', { host }).llm_tokens, 5);
});
