// Answers requests of the protocol through the methods of the wrapper, with the hooks that agreement.py describes.
import { Lang } from "../../../wasm_abi/js/lang.js";

/** The hooks of a case; `calls` takes what they are asked. */
export function hostOf(hooks, calls) {
    const store = new Map(Object.entries(hooks.kv ?? {}));
    const all = {
        http: (request) => (calls.push(["http", request.method, request.url]), hooks.http),
        kv: {
            get: (space, key) => (calls.push(["get", space, key]), store.get(`${space} ${key}`)),
            set: (space, key, value) => {
                calls.push(["set", space, key]);
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

/** `[answers, hook calls]` of each case: its requests one after the other, on an instance of its own. */
export async function answersOf(module, cases) {
    const found = [];
    for (const { requests, hooks } of cases) {
        const lang = await (await Lang.load(module)).ready();
        const calls = [];
        const host = hostOf(hooks, calls);
        const answers = requests.map(({ op, source, request, ...options }) => {
            delete options.host;
            return op === "handle" ? lang.handle(source, request, { ...options, host }) : lang[op](source, { ...options, host });
        });
        found.push([answers, calls]);
    }
    return found;
}
