/** The interpreter: loaded once. Programs run in a worker that can be terminated, checks in another one. */

import { Lang, Trapped } from "./js/lang.js";

const CHECK_DELAY_MS = 150;
/** If the page is not isolated, programs run in the page itself, where only their own limits can stop them. */
const IN_PAGE_MS = 10_000;

export const isolated = typeof SharedArrayBuffer === "function";

export class Session {
    #lang;
    #checker;
    #checks = 0;
    #timer = null;
    #onChecked = () => undefined;
    #stopped = false;
    #warm;

    constructor(lang, checker) {
        this.#lang = lang;
        // The first program should not have to wait for its worker.
        this.#warm = isolated ? lang.runAsync("").catch(() => undefined) : null;
        this.#checker = checker;
        checker.addEventListener("message", ({ data }) => {
            if (data.number === this.#checks) {
                this.#onChecked(data);
            }
        });
    }

    static async open(url) {
        const module = await moduleOf(url);
        const lang = await Lang.load(module);
        if (!isolated) {
            await lang.ready();
        }
        const checker = new Worker(new URL("checker.js", import.meta.url), { type: "module" });
        checker.postMessage({ module });
        return new Session(lang, checker);
    }

    /** Checks a source soon; only the newest one is answered. */
    check(source, filename, onChecked) {
        this.#onChecked = onChecked;
        this.#checks += 1;
        clearTimeout(this.#timer);
        const number = this.#checks;
        this.#timer = setTimeout(() => this.#checker.postMessage({ source, filename, number }), CHECK_DELAY_MS);
    }

    /** The response of `run`, `test` or `handle`, with `ms`; `null` when it was stopped. Throws for a trap. */
    async call(op, source, request, options) {
        this.#stopped = false;
        await this.#warm;
        const started = performance.now();
        try {
            const given = op === "handle" ? [source, request] : [source];
            const response = isolated
                ? await this.#lang[`${op}Async`](...given, options)
                : await this.#inPage(op, given, options);
            return { ...response, ms: performance.now() - started };
        } catch (error) {
            if (this.#stopped && !(error instanceof Trapped)) {
                return null;
            }
            throw error;
        }
    }

    async #inPage(op, given, options) {
        await new Promise((resolve) => setTimeout(resolve, 30)); // so that the page shows that something runs
        await this.#lang.ready();
        return this.#lang[op](...given, { ...options, limits: { time_ms: IN_PAGE_MS } });
    }

    /** Ends the running call. The program that `handle` has prepared is discarded with it. */
    async stop() {
        this.#stopped = true;
        await this.#lang.close();
    }
}

/** Compiled here, so that both workers share it. */
async function moduleOf(url) {
    const response = await fetch(url);
    if (!response.ok) {
        throw new Error(`${response.status} ${response.statusText}`);
    }
    return response.headers.get("content-type")?.startsWith("application/wasm")
        ? WebAssembly.compileStreaming(response)
        : WebAssembly.compile(await response.arrayBuffer());
}
