/** The hooks that the page provides for programs: a store, answers of the user, and requests, which the page shows. */

/** A store in memory; `changed` is called after each change. */
export class Store {
    #spaces = new Map();
    #changed;

    constructor(changed) {
        this.#changed = changed;
    }

    get(space, key) {
        return this.#spaces.get(space)?.get(key) ?? null;
    }

    set(space, key, value) {
        if (!this.#spaces.has(space)) {
            this.#spaces.set(space, new Map());
        }
        this.#spaces.get(space).set(key, value);
        this.#changed();
    }

    delete(space, key) {
        this.#spaces.get(space)?.delete(key);
        this.#changed();
    }

    list(space) {
        return [...(this.#spaces.get(space)?.keys() ?? [])];
    }

    clear() {
        this.#spaces.clear();
        this.#changed();
    }

    /** All entries, as `[space, key, value]`. */
    get entries() {
        return [...this.#spaces].flatMap(([space, values]) => [...values].map(([key, value]) => [space, key, value]));
    }
}

/** Requests to the network, from a worker that is made when the first one is sent. */
class Network {
    #worker = null;
    #waiting = new Map();

    send(request) {
        if (this.#worker === null) {
            this.#worker = new Worker(new URL("network.js", import.meta.url), { type: "module" });
            this.#worker.addEventListener("message", ({ data: { number, answer } }) => {
                this.#waiting.get(number)(answer);
                this.#waiting.delete(number);
            });
        }
        const number = Math.random();
        return new Promise((resolve) => {
            this.#waiting.set(number, resolve);
            this.#worker.postMessage({ number, request });
        });
    }
}

const network = new Network();

/**
 * The hooks for one call. `choices` says which are provided. `ask` shows a question and returns a Promise of the answer; `log`
 * takes lines; `watch(request)` shows a request and returns a function that takes its answer. `waits` says whether a hook may
 * return a Promise.
 */
export function hostOf(choices, { store, ask, log, watch, waits }) {
    const host = {};
    if (choices.kv) {
        host.kv = store;
    }
    if (choices.log) {
        host.log = log;
    }
    if (choices.sleep) {
        host.sleep = true;
    }
    if (choices.llm === "ask" && waits) {
        host.llm = async (operation, prompt) => {
            const { content } = await ask({ title: `The program asks the model to ${operation}`, text: prompt, fields: [CONTENT] });
            return { content, tokens: Math.ceil((prompt.length + content.length) / 4) };
        };
    }
    if (choices.http !== "off" && waits) {
        host.http = async (request) => {
            const show = watch(request);
            const answer = choices.http === "real" ? await network.send(request) : await byHand(request, ask);
            show(answer);
            return answer;
        };
    }
    return host;
}

const CONTENT = { name: "content", label: "Answer", rows: 3 };

async function byHand({ method, url, body }, ask) {
    const given = await ask({
        title: `The program sends ${method} ${url}`,
        text: body ?? "",
        fields: [
            { name: "status", label: "Status", value: "200" },
            { name: "type", label: "Content type", value: "application/json" },
            { name: "body", label: "Body", rows: 3, value: "{}" },
        ],
        refusal: "No network",
    });
    if (given === null) {
        return { error: "no network" };
    }
    const status = Number(given.status);
    return { status: Number.isInteger(status) ? status : 200, headers: [["content-type", given.type]], body: given.body };
}
