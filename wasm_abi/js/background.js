/** The page's side of the asynchronous mode: a worker that runs programs, and the hooks that the worker calls. */

import { Answers, CONTROL_BYTES } from "./channel.js";
import { Trapped } from "./guest.js";
import { answerLater } from "./hooks.js";

const CLOSED = "closed: the worker was ended while a call was running";

export class Background {
    #worker;
    #answers;
    #module;
    #shared;
    #hooks = {};
    #settle = null;
    #ended = false;

    constructor(worker, module, shared) {
        this.#worker = worker;
        this.#module = module;
        this.#shared = shared;
        this.#answers = new Answers(shared);
        worker.listen(
            (message) => this.#receive(message),
            (reason) => {
                this.#ended = true;
                this.#fail(new Error(`the worker failed: ${reason}`));
            },
        );
    }

    /** A worker with an instance that is ready. */
    static async start(module, bufferBytes) {
        if (typeof SharedArrayBuffer !== "function") {
            throw new Error(
                "the asynchronous mode needs SharedArrayBuffer: serve the page with the headers " +
                    "Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp",
            );
        }
        const shared = new SharedArrayBuffer(CONTROL_BYTES + bufferBytes);
        const background = new Background(await newWorker(), module, shared);
        await background.#ask({ type: "init", module, sab: shared });
        return background;
    }

    /** Whether the worker is gone: closed, or failed. */
    get ended() {
        return this.#ended;
    }

    /** The response to a request. Rejects with `Trapped`, or when the worker is closed meanwhile. */
    async call(request, hooks) {
        this.#hooks = hooks;
        try {
            return await this.#ask({ type: "call", request });
        } finally {
            this.#hooks = {};
        }
    }

    async close() {
        this.#ended = true;
        this.#answers.end();
        const ending = this.#worker.terminate();
        this.#fail(new Error(CLOSED));
        await ending;
    }

    #ask(message) {
        if (this.#ended) {
            return Promise.reject(new Error(CLOSED));
        }
        this.#worker.keepAlive(true);
        return new Promise((resolve, reject) => {
            this.#settle = { resolve, reject };
            this.#worker.post(message);
        }).finally(() => this.#worker.keepAlive(false));
    }

    #receive(message) {
        switch (message.type) {
            case "host":
                this.#answer(message.kind, message.payload);
                break;
            case "ack":
                this.#answers.next();
                break;
            case "ready":
                this.#settled().resolve();
                break;
            case "result":
                this.#settled().resolve(message.response);
                break;
            case "error":
                this.#fail(message.detail === undefined ? new Error(message.message) : new Trapped(message.detail));
        }
    }

    async #answer(kind, payload) {
        this.#answers.give(await answerLater(this.#hooks, kind, payload));
    }

    #settled() {
        const settle = this.#settle;
        this.#settle = null;
        return settle;
    }

    #fail(error) {
        this.#settled()?.reject(error);
    }
}

/** A worker with the same interface in browsers, Bun and Deno, and in Node. */
async function newWorker() {
    if (typeof Worker === "function") {
        const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
        return {
            post: (message) => worker.postMessage(message),
            terminate: async () => worker.terminate(),
            keepAlive: (wanted) => (wanted ? worker.ref?.() : worker.unref?.()),
            listen(receive, fail) {
                worker.addEventListener("message", (event) => receive(event.data));
                worker.addEventListener("error", (event) => fail(event.message ?? "it could not be loaded"));
            },
        };
    }
    const { Worker: NodeWorker } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:worker_threads");
    const worker = new NodeWorker(new URL("./worker.js", import.meta.url), { execArgv: [] });
    return {
        post: (message) => worker.postMessage(message),
        async terminate() {
            // Keeps the process alive until the worker, which may be unreferenced, has ended.
            const wait = setInterval(() => undefined, 1000);
            await worker.terminate();
            clearInterval(wait);
        },
        keepAlive: (wanted) => (wanted ? worker.ref() : worker.unref()),
        listen(receive, fail) {
            worker.on("message", receive);
            worker.on("error", (error) => fail(error.message));
            worker.on("exit", (code) => fail(`it ended with ${code}`));
        },
    };
}
