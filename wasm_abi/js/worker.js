/** The interpreter in a worker: it blocks while the page waits for the Promise of a hook. */

import { Questions } from "./channel.js";
import { Guest, Trapped } from "./guest.js";

function serve(port, listen) {
    let questions = null;
    let start = null;
    let guest = null;

    async function call(request) {
        try {
            guest ??= await start();
            port.postMessage({ type: "result", response: guest.call(request) });
        } catch (error) {
            if (questions.ended) {
                return;
            }
            guest = null; // the next call makes a fresh one
            const detail = error instanceof Trapped ? error.detail : undefined;
            port.postMessage({ type: "error", message: error.message, detail });
        }
    }

    async function begin({ module, sab }) {
        questions = new Questions(sab);
        const ask = (kind, payload) =>
            questions.ask(
                () => port.postMessage({ type: "host", kind, payload }),
                () => port.postMessage({ type: "ack" }),
            );
        start = () => Guest.start(module, ask);
        try {
            guest = await start();
            port.postMessage({ type: "ready" });
        } catch (error) {
            port.postMessage({ type: "error", message: error.message });
        }
    }

    listen((message) => (message.type === "init" ? begin(message) : call(message.request)));
}

if (typeof postMessage === "function") {
    serve(globalThis, (receive) => addEventListener("message", (event) => receive(event.data)));
} else {
    const { parentPort } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:worker_threads");
    serve(parentPort, (receive) => parentPort.on("message", receive));
}
