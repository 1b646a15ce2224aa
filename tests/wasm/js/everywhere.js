// What every runtime must do, without its own test runner: prints one line for each thing that holds, then "done".
import { Lang, Trapped, fetchHttp } from "../../../wasm_abi/js/lang.js";

const [path] = (globalThis.Deno?.args ?? process.argv.slice(2));

function same(name, found, expected) {
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
        throw new Error(`${name}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
    }
    console.log(name);
}

const lang = await (await Lang.load(path)).ready();
const random = lang.run("require random\nlet a be random_bytes(65536)\nlet b be random_bytes(65536)\nprint(length(a), a == b)");
same("random", random.output, ["65536 false"]);
same("run", lang.run("print(6 * 7)", { ceiling: "stdout" }).output, ["42"]);
same("file URL", (await (await Lang.load(new URL(`file://${path}`))).ready()).run("print(1)").output, ["1"]);

const kv = new Map();
const store = { get: (ns, key) => kv.get(ns + key), set: (ns, key, value) => void kv.set(ns + key, value) };
same("kv", lang.run('state_set("a", 1)\nprint(state_get("a"))', { host: { kv: store, sleep: true } }).output, ["1"]);

const page = 'require serve(1)\nserve on 1\n    route "GET /:name"\n        give {"hi": params.name}';
same("handle", lang.handle(page, { path: "/ana", headers: new Headers({ a: "b" }) }).body, '{"hi": "ana"}');

const llm = async () => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return { content: "x".repeat(10), tokens: 1 };
};
const small = await Lang.load(path, { bufferBytes: 16 });
const waited = await small.runAsync('print(reason about "x")\nsleep(0.05)', { host: { llm, sleep: true } });
same("async, in chunks", [waited.output, waited.llm_tokens], [["xxxxxxxxxx"], 1]);

const echo = { fetch: async (url, { method }) => new Response(`${method} ${url}`, { status: 201 }) };
const asked = await small.runAsync('require net("a.example")\nlet r be http_get("http://a.example/")\nprint(r["status"], r["body"])', {
    host: { http: fetchHttp(echo) },
});
same("fetchHttp", asked.output, ["201 GET http://a.example/"]);

// That a worker in an endless loop can be ended is for Node and browsers alone.
const stuck = small.runAsync('print(reason about "x")', { host: { llm: () => new Promise(() => undefined) } });
const refused = stuck.catch((error) => error.message.split(":")[0]);
await new Promise((resolve) => setTimeout(resolve, 200));
await small.close();
same("close", await refused, "closed");
const limited = await small.runAsync("while true\n    let x be 1", { limits: { time_ms: 200 } });
same("a limit", [limited.ok, limited.limit], [false, "time_ms"]);
same("again", (await small.runAsync("print(1)")).output, ["1"]);
await small.close();

// Not in tail position, which JavaScriptCore would turn into a loop.
const deep = (levels) => [levels === 0 ? lang.run("print(1)") : deep(levels - 1)];
let outcome = null;
for (let levels = 1000; outcome === null; levels += 500) {
    try {
        deep(levels);
    } catch (error) {
        outcome = error;
    }
}
same("trap", outcome instanceof Trapped || outcome instanceof RangeError, true);
await lang.ready();
const recursion = "task deep(n)\n    when n == 0\n        give 0\n    give 1 + deep(n - 1)\n";
same("recursion", lang.run(`${recursion}print(deep(2900))`).output, ["2900"]);
same("too deep", lang.run(`${recursion}print(deep(3500))`).errors[0].endsWith("maximum recursion depth exceeded"), true);
const nested = 'task key(n)\n    when n == 0\n        give 0\n    let x be sort_by([1], (i) => key(n - 1))\n    give 1\nprint(key(2000))';
const { ok, errors } = lang.run(nested);
same("nested callbacks", ok || errors[0].endsWith("maximum recursion depth exceeded"), true);
console.log("done");
