/**
 * A worker that sends the requests of the `http` hook, if the user has switched that on. It is apart because the page's own
 * policy lets nothing out.
 */

import { fetchHttp } from "./js/fetch-http.js";

const ask = fetchHttp();

addEventListener("message", async ({ data: { number, request } }) => {
    const answer = await ask(request).catch((error) => ({ error: `${error.name}: ${error.message}` }));
    postMessage({ number, answer });
});
