/**
 * A worker that sends the requests of the `http` hook, if the user has enabled that. It is separate because the content
 * security policy of the page itself allows no requests.
 */

import { fetchHttp } from "./js/fetch-http.js";

const ask = fetchHttp();

addEventListener("message", async ({ data: { number, request } }) => {
    const answer = await ask(request).catch((error) => ({ error: `${error.name}: ${error.message}` }));
    postMessage({ number, answer });
});
