/** Compiles the web build from any kind of source: a URL, a path, bytes, a response or a module. */

const inNode = typeof process === "object" && process.versions?.node !== undefined;

/** The module of a source; `integrity` is the SHA-256 that its bytes must have, in hexadecimal digits. */
export async function compiled(source, integrity) {
    const given = (await source) ?? new URL("lang-web.wasm", import.meta.url);
    if (given instanceof WebAssembly.Module) {
        if (integrity !== undefined) {
            throw new TypeError("integrity: a compiled module has no bytes to verify");
        }
        return given;
    }
    if (integrity === undefined && isResponse(given) && streams(given)) {
        return WebAssembly.compileStreaming(given);
    }
    const content = await bytesOf(given);
    if (integrity === undefined) {
        return WebAssembly.compile(content);
    }
    // A copy, so that exactly the verified bytes are compiled even if somebody else changes the original.
    const own = new Uint8Array(ArrayBuffer.isView(content) ? content.buffer : content).slice();
    const bytes = ArrayBuffer.isView(content) ? own.subarray(content.byteOffset, content.byteOffset + content.byteLength) : own;
    await verify(bytes, integrity);
    return WebAssembly.compile(bytes);
}

function isResponse(value) {
    return typeof Response === "function" && value instanceof Response;
}

/** Whether a response may be compiled while it arrives: only if its type is that of WebAssembly. */
function streams(response) {
    return response.ok && response.headers.get("content-type")?.split(";")[0].trim().toLowerCase() === "application/wasm";
}

async function bytesOf(source) {
    if (isResponse(source)) {
        if (!source.ok) {
            throw new Error(`cannot load the module: ${source.status} ${source.statusText} ${source.url}`.trimEnd());
        }
        return source.arrayBuffer();
    }
    if (typeof source === "string" || source instanceof URL) {
        return read(source);
    }
    if (ArrayBuffer.isView(source) || Object.prototype.toString.call(source) === "[object ArrayBuffer]") {
        return source;
    }
    throw new TypeError("the module must be bytes, a WebAssembly.Module, a URL, a path or a Response");
}

/** Fetches a URL; where there are files, reads a path. */
async function read(place) {
    const text = String(place);
    const isFile = place instanceof URL ? place.protocol === "file:" : !/^[a-z][a-z0-9+.-]+:/i.test(text) || text.startsWith("file:");
    if (isFile && (inNode || typeof Deno === "object")) {
        const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:fs/promises");
        return readFile(text.startsWith("file:") ? new URL(text) : text);
    }
    return bytesOf(await fetch(place));
}

async function verify(content, integrity) {
    const subtle =
        globalThis.crypto?.subtle ??
        (inNode ? (await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:crypto")).webcrypto.subtle : undefined);
    if (subtle === undefined) {
        throw new Error("integrity: this page is no secure context (HTTPS), so it cannot compute a digest");
    }
    const digest = new Uint8Array(await subtle.digest("SHA-256", content));
    const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (found !== String(integrity).toLowerCase()) {
        throw new Error(`integrity: the module's SHA-256 is ${found}, not ${integrity}`);
    }
}
