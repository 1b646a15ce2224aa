// Answers requests of the protocol through the methods of the wrapper, with the hooks that test_builds_agree.py describes.
import { Guest } from "../../../wasm_abi/js/guest.js";
import { Lang } from "../../../wasm_abi/js/lang.js";

/** The hooks of a case; `calls` takes what they are asked. */
export function hostOf(hooks, calls) {
    const store = new Map(Object.entries(hooks.kv ?? {}));
    const all = {
        http: (request) => (calls.push(["http", request]), hooks.http),
        kv: {
            get: (space, key) => (calls.push(["get", space, key]), store.get(`${space} ${key}`)),
            set: (space, key, value) => {
                calls.push(["set", space, key, value]);
                store.set(`${space} ${key}`, value);
            },
            delete: (space, key) => void store.delete(`${space} ${key}`),
            list: (space) => [...store.keys()].filter((name) => name.startsWith(`${space} `)).map((name) => name.slice(space.length + 1)),
        },
        llm: (operation, prompt) => (calls.push(["llm", operation, prompt]), hooks.llm),
        log: (line) => void calls.push(["log", line]),
        sleep: (seconds) => void calls.push(["sleep", seconds]),
    };
    return Object.fromEntries(Object.keys(hooks).map((name) => [name, all[name]]));
}

/** The method of the wrapper for a request, as a function of it. What no method can ask goes straight to an instance. */
async function methodFor(module, lang, request, behind) {
    const op = request.op ?? "run";
    if (Array.isArray(request) || typeof lang[op] !== "function" || typeof request.source !== "string") {
        const guest = await Guest.start(module, () => undefined);
        return () => guest.call(request);
    }
    const method = behind && op !== "check" ? `${op}Async` : op;
    return (host) => {
        const { source, request: sent, ...options } = request;
        delete options.op;
        delete options.host;
        return op === "handle" ? lang[method](source, sent, { ...options, host }) : lang[method](source, { ...options, host });
    };
}

/** `[answers, hook calls]` of each case: its requests one after the other, on an instance of its own, or `behind` it in a worker. */
export async function answersOf(module, cases, behind = false) {
    const found = [];
    for (const { requests, hooks } of cases) {
        const lang = await (await Lang.load(module)).ready();
        const calls = [];
        const host = hostOf(hooks, calls);
        const answers = [];
        for (const request of requests) {
            const ask = await methodFor(module, lang, request, behind);
            answers.push(await ask(host));
        }
        await lang.close();
        found.push([answers, calls]);
    }
    return found;
}
