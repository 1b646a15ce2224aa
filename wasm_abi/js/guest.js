/** One instance of the web build: passes requests and answers through its memory, without interpreting them. */

const MODULE = "platform_host";
/** The most bytes that one call of `getRandomValues` returns. */
const RANDOM_BYTES = 65536;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A fault of the interpreter, never an error of a program. The instance is discarded. */
export class Trapped extends Error {
    constructor(detail) {
        super(`the module trapped (${detail}); the instance was discarded`);
        this.name = "Trapped";
        this.detail = detail;
    }
}

export class Guest {
    #exports = null;
    #ask;
    #random;

    constructor(ask, random) {
        this.#ask = ask;
        this.#random = random;
    }

    /**
     * A fresh instance. `ask(kind, payload)` takes two texts and answers the UTF-8 bytes of a JSON text, or `undefined` for what
     * the host does not offer; it must not throw.
     */
    static async start(module, ask) {
        const random = globalThis.crypto ?? (await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:crypto")).webcrypto;
        const guest = new Guest(ask, random);
        // Not `new WebAssembly.Instance`: the main thread of a browser refuses that for a module of this size.
        guest.#exports = (await WebAssembly.instantiate(module, { [MODULE]: guest.#imports() })).exports;
        return guest;
    }

    /** Whether it has trapped. */
    get gone() {
        return this.#exports === null;
    }

    /** The decoded answer to a request. Throws `Trapped`; after that this instance must not be used any more. */
    call(request) {
        const bytes = encoder.encode(JSON.stringify(request));
        let text;
        try {
            const { memory, platform_alloc, platform_call, platform_free } = this.#exports;
            const sent = platform_alloc(bytes.length) >>> 0;
            if (sent === 0 && bytes.length > 0) {
                throw new RangeError("no memory for the request");
            }
            new Uint8Array(memory.buffer).set(bytes, sent);
            const packed = platform_call(sent, bytes.length) >>> 0;
            const length = new DataView(memory.buffer).getUint32(packed, true);
            text = decoder.decode(new Uint8Array(memory.buffer, packed + 4, length));
            platform_free(packed, 4 + length);
            platform_free(sent, bytes.length);
        } catch (error) {
            this.#exports = null;
            throw new Trapped(error instanceof Error ? error.message : String(error));
        }
        return JSON.parse(text);
    }

    #imports() {
        return {
            host_call: (kind, kindLength, payload, payloadLength) => {
                const answer = this.#ask(this.#text(kind, kindLength), this.#text(payload, payloadLength));
                return answer === undefined ? 0 : this.#packed(answer);
            },
            host_random_fill: (start, length) => {
                try {
                    const bytes = new Uint8Array(this.#exports.memory.buffer, start >>> 0, length >>> 0);
                    for (let at = 0; at < bytes.length; at += RANDOM_BYTES) {
                        this.#random.getRandomValues(bytes.subarray(at, at + RANDOM_BYTES));
                    }
                    return 0;
                } catch {
                    return 1;
                }
            },
            host_now_ms: () => Date.now(),
        };
    }

    #text(start, length) {
        return decoder.decode(new Uint8Array(this.#exports.memory.buffer, start >>> 0, length >>> 0));
    }

    /** A packed buffer in the guest, which frees it. */
    #packed(bytes) {
        const { memory, platform_alloc } = this.#exports;
        const start = platform_alloc(4 + bytes.length) >>> 0;
        if (start !== 0) {
            new DataView(memory.buffer).setUint32(start, bytes.length, true);
            new Uint8Array(memory.buffer).set(bytes, start + 4);
        }
        return start;
    }
}
