/** A worker that checks programs while they are written. */

import { Lang } from "./js/lang.js";

let lang = null;
let waiting = null;

function check() {
    const { source, filename, number } = waiting;
    waiting = null;
    postMessage({ number, ...lang.check(source, { filename, problems: true }) });
}

addEventListener("message", async ({ data }) => {
    if (data.module !== undefined) {
        lang = await (await Lang.load(data.module)).ready();
    } else {
        waiting = data;
    }
    if (lang !== null && waiting !== null) {
        check();
    }
});
