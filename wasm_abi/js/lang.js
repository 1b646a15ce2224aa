/** The web build from JavaScript: browsers, Node, Bun, Deno. Types and a description of every member are in lang.d.ts. */

import { base64 } from "./base64.js";
import { Background } from "./background.js";
import { Guest, Trapped } from "./guest.js";
import { answerNow, hooksOf, lent } from "./hooks.js";
import { compiled } from "./loading.js";

export { fetchHttp } from "./fetch-http.js";
export { Trapped };

const BUFFER_BYTES = 4 * 1024 * 1024;
const OPTIONS = ["filename", "env", "ceiling", "limits", "files", "error_detail", "host"];
const BUSY = "one call at a time per instance";

export class Lang {
    #module;
    #bufferBytes;
    #guest = null;
    #starting = null;
    #background = null;
    #host = {};
    #busy = false;
    #busyBehind = false;

    /** Use `Lang.load`. */
    constructor(module, bufferBytes = BUFFER_BYTES) {
        this.#module = module;
        this.#bufferBytes = bufferBytes;
    }

    static async load(source, { integrity, bufferBytes } = {}) {
        if (bufferBytes !== undefined && !(Number.isSafeInteger(bufferBytes) && bufferBytes > 0)) {
            throw new RangeError(`bufferBytes must be a whole number from 1, not ${bufferBytes}`);
        }
        return new Lang(await compiled(source, integrity), bufferBytes);
    }

    async ready() {
        if (this.#guest === null || this.#guest.gone) {
            this.#starting ??= Guest.start(this.#module, (kind, payload) => answerNow(this.#host, kind, payload));
            try {
                this.#guest = await this.#starting;
            } finally {
                this.#starting = null;
            }
        }
        return this;
    }

    version() {
        return this.#call({ op: "version" }, {});
    }

    run(source, options = {}) {
        return this.#call(requestOf("run", source, options), options.host);
    }

    test(source, options = {}) {
        return this.#call(requestOf("test", source, options), options.host);
    }

    check(source, options = {}) {
        const { problems, ...others } = options;
        return this.#call({ ...requestOf("check", source, others), problems }, options.host);
    }

    handle(source, request, options = {}) {
        return this.#call(handleRequestOf(source, request, options), options.host);
    }

    async runAsync(source, options = {}) {
        return this.#callBehind(requestOf("run", source, options), options.host);
    }

    async testAsync(source, options = {}) {
        return this.#callBehind(requestOf("test", source, options), options.host);
    }

    async handleAsync(source, request, options = {}) {
        return this.#callBehind(handleRequestOf(source, request, options), options.host);
    }

    async close() {
        const started = this.#background;
        this.#background = null;
        // A worker that could not start is reported by the call that started it.
        const background = await started?.catch(() => null);
        await background?.close();
    }

    #call(request, host) {
        if (this.#busy) {
            throw new Error(BUSY);
        }
        const guest = this.#guest;
        if (guest === null || guest.gone) {
            throw new Error("not ready: await ready() before a synchronous call, and again after a trap");
        }
        this.#busy = true;
        this.#host = hooksOf(host);
        try {
            const response = guest.call(request);
            if (this.#host.misuse !== undefined) {
                throw this.#host.misuse;
            }
            return response;
        } finally {
            this.#host = {};
            this.#busy = false;
        }
    }

    async #started() {
        const started = (this.#background ??= Background.start(this.#module, this.#bufferBytes));
        const background = await started.catch((error) => {
            this.#background = null;
            throw error;
        });
        if (this.#background === started && background.ended) {
            this.#background = null;
            return this.#started();
        }
        return background;
    }

    async #callBehind(request, host) {
        if (this.#busyBehind) {
            throw new Error(BUSY);
        }
        this.#busyBehind = true;
        try {
            const background = await this.#started();
            return await background.call(request, hooksOf(host));
        } finally {
            this.#busyBehind = false;
        }
    }
}

function requestOf(op, source, options) {
    for (const name of Object.keys(options)) {
        if (!OPTIONS.includes(name)) {
            throw new TypeError(`unknown option "${name}" (expected ${OPTIONS.join(", ")})`);
        }
    }
    const { filename, env, ceiling, limits, files, error_detail, host } = options;
    const lending = lent(hooksOf(host));
    return { op, source, filename, env, ceiling, limits, files: files && filesOf(files), error_detail, host: lending };
}

function filesOf(files) {
    const sent = Object.entries(files).map(([path, content]) => {
        const encoded = base64(content);
        return [path, encoded === null ? content : { base64: encoded }];
    });
    return Object.fromEntries(sent); // not by assignment: a path may be called __proto__
}

function handleRequestOf(source, request, options) {
    const { method, path, headers, body, ip } = request;
    const sent = { method, path, ip };
    if (headers !== undefined && headers !== null) {
        sent.headers = typeof headers[Symbol.iterator] === "function" ? [...headers] : headers;
    }
    const encoded = base64(body);
    if (encoded !== null) {
        sent.body_base64 = encoded;
    } else if (request.body_base64 !== undefined) {
        sent.body_base64 = request.body_base64;
    } else {
        sent.body = body ?? "";
    }
    return { ...requestOf("handle", source, options), request: sent };
}
