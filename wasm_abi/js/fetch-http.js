/** An `http` hook over `fetch`, for the asynchronous calls. */

/** These describe the bytes on the wire, which `fetch` has decoded. */
const OF_THE_WIRE = ["content-encoding", "content-length", "transfer-encoding"];

export function fetchHttp(options = {}) {
    const ask = options.fetch ?? globalThis.fetch;
    return async ({ method, url, headers, timeout, body, body_base64 }) => {
        const reply = await ask(url, {
            method,
            headers,
            body: body_base64 === undefined ? body : Uint8Array.from(atob(body_base64), (c) => c.charCodeAt(0)),
            // The program's grant covers this host only; it must request the target of a redirect itself.
            redirect: "manual",
            credentials: "omit",
            referrerPolicy: "no-referrer",
            signal: AbortSignal.timeout(Math.min(timeout * 1000, 0x7fffffff)),
        });
        if (reply.type === "opaqueredirect") {
            return { error: "the server answers with a redirect, which a browser keeps to itself" };
        }
        const kept = [...reply.headers].filter(([name]) => !OF_THE_WIRE.includes(name));
        return { status: reply.status, headers: kept, body: new Uint8Array(await reply.arrayBuffer()) };
    };
}
