/** What a host lends: from the kinds that the guest asks for to the functions of the embedder, and back to bytes. */

import { base64 } from "./base64.js";

const encoder = new TextEncoder();
/** The longest time that a timer takes. */
const LONGEST_MS = 0x7fffffff;

/** The hooks of an embedder's object, or of nothing. A method keeps its object; what else is there does not matter. */
export function hooksOf(host) {
    const hooks = {};
    for (const name of ["http", "llm", "log", "sleep"]) {
        if (typeof host?.[name] === "function") {
            hooks[name] = host[name].bind(host);
        }
    }
    if (host?.sleep === true) {
        hooks.sleep = true;
    }
    if (typeof host?.kv?.get === "function") {
        hooks.kv = host.kv;
    }
    return hooks;
}

/** The field `host` of a request: which of them are there. */
export function lent(hooks) {
    return Object.fromEntries(Object.keys(hooks).map((name) => [name, true]));
}

/** The answer as UTF-8 JSON, at once; `undefined` for what is not offered. Never throws. */
export function answerNow(host, kind, payload) {
    try {
        const hook = hookFor(host, kind, wait);
        if (hook === undefined) {
            return undefined;
        }
        const given = hook(JSON.parse(payload));
        if (typeof given?.then !== "function") {
            return encoded(kind, given);
        }
        Promise.resolve(given).catch(() => undefined); // its failure must not end the process
        if (kind === "log") {
            return bytesOf({}); // nobody waits for what a log line comes to
        }
        const error = `the ${kind.startsWith("kv_") ? "kv" : kind} hook returned a Promise: use runAsync, testAsync or handleAsync`;
        if (kind === "sleep") {
            host.misuse = new TypeError(error); // a program cannot see it; whoever wrote the hook must
        }
        return bytesOf({ error });
    } catch (error) {
        return bytesOf({ error: described(error) });
    }
}

/** The same, where a hook may take its time. Never rejects. */
export async function answerLater(host, kind, payload) {
    try {
        const hook = hookFor(host, kind, pause);
        return hook === undefined ? undefined : encoded(kind, await hook(JSON.parse(payload)));
    } catch (error) {
        return bytesOf({ error: described(error) });
    }
}

/** What was thrown, as text: anything can be thrown, also what has none. */
function described(error) {
    try {
        return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    } catch {
        return "the hook threw what cannot be shown";
    }
}

/** The embedder's function for a kind as one from payload to answer; `undefined` where there is none. */
function hookFor(host, kind, sleeper) {
    const { http, kv, llm, log, sleep } = host;
    switch (kind) {
        case "http":
            return http && ((payload) => http(payload));
        case "kv_get":
            return kv?.get && (({ ns, key }) => kv.get(ns, key));
        case "kv_set":
            return kv?.set && (({ ns, key, value }) => kv.set(ns, key, value));
        case "kv_delete":
            return kv?.delete && (({ ns, key }) => kv.delete(ns, key));
        case "kv_list":
            return kv?.list && (({ ns }) => kv.list(ns));
        case "llm":
            return llm && (({ op, prompt }) => llm(op, prompt));
        case "log":
            return log && (({ line }) => log(line));
        case "sleep":
            return sleep && (({ secs }) => (sleep === true ? sleeper(secs) : sleep(secs)));
        default:
            return undefined;
    }
}

/** The answer of the protocol, from what a hook gave; `undefined` for one that gave no answer. */
function encoded(kind, given) {
    if (isObject(given) && given.error !== undefined && given.error !== null) {
        return bytesOf({ error: String(given.error) });
    }
    switch (kind) {
        case "http":
            return bytesOf(httpAnswer(given));
        case "kv_get":
            return bytesOf(isObject(given) ? given : { value: given ?? null });
        case "kv_list":
            return bytesOf(isIterable(given) ? { keys: [...given] } : given);
        case "llm":
            return bytesOf(given);
        default:
            return bytesOf({});
    }
}

function isIterable(value) {
    return isObject(value) && typeof value[Symbol.iterator] === "function";
}

function isObject(value) {
    return typeof value === "object" && value !== null;
}

function httpAnswer(given) {
    if (!isObject(given)) {
        return given;
    }
    const { status, headers, body, body_base64 } = given;
    const pairs = isIterable(headers) ? [...headers] : headers ?? [];
    if (body_base64 !== undefined) {
        return { status, headers: pairs, body_base64 };
    }
    const binary = base64(body);
    return binary === null ? { status, headers: pairs, body: body ?? "" } : { status, headers: pairs, body_base64: binary };
}

function bytesOf(answer) {
    const text = JSON.stringify(answer);
    return text === undefined ? undefined : encoder.encode(text);
}

/** Blocks this thread. */
function wait(seconds) {
    const end = performance.now() + seconds * 1000;
    try {
        const cell = new Int32Array(new SharedArrayBuffer(4));
        for (let left = end - performance.now(); left > 0; left = end - performance.now()) {
            Atomics.wait(cell, 0, 0, Math.min(left, LONGEST_MS));
        }
    } catch {
        // The main thread of a browser may not wait, and there may be no shared memory: there is only this.
        while (performance.now() < end);
    }
}

async function pause(seconds) {
    const end = performance.now() + seconds * 1000;
    for (let left = end - performance.now(); left > 0; left = end - performance.now()) {
        // The worker keeps the process alive for as long as somebody waits for the call; after close() nobody does.
        await new Promise((resolve) => setTimeout(resolve, Math.min(left, LONGEST_MS)).unref?.());
    }
}
