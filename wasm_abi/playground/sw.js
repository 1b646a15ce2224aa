/**
 * Caches the page for offline use, and makes it cross-origin isolated if its server does not send the headers for that.
 * Network first, so that nobody uses an outdated interpreter.
 */

const CACHE = "lang-playground";

/** Everything that the page loads; a test compares this with the files that exist. */
const FILES = [
    "./",
    "app.js",
    "audit.js",
    "checker.js",
    "editor.js",
    "examples.js",
    "examples/capabilities.lang",
    "examples/charts.lang",
    "examples/hello.lang",
    "examples/http.lang",
    "examples/memory.lang",
    "examples/model.lang",
    "examples/money.lang",
    "examples/shapes.lang",
    "examples/shop.lang",
    "examples/tests.lang",
    "highlight.js",
    "hooks.js",
    "icon.svg",
    "index.html",
    "js/background.js",
    "js/base64.js",
    "js/channel.js",
    "js/fetch-http.js",
    "js/guest.js",
    "js/hooks.js",
    "js/lang.js",
    "js/loading.js",
    "js/worker.js",
    "lang-web.wasm",
    "network.js",
    "preview.html",
    "preview.js",
    "questions.js",
    "session.js",
    "share.js",
    "style.css",
    "words.js",
];

const ISOLATION = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
};

addEventListener("install", (event) => {
    event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => skipWaiting()));
});

addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
    const { request } = event;
    const url = new URL(request.url);
    if (request.method === "GET" && url.origin === location.origin && url.href.startsWith(registration.scope)) {
        event.respondWith(answer(request));
    }
});

async function answer(request) {
    const cache = await caches.open(CACHE);
    let response;
    try {
        response = await fetch(request, { cache: "no-cache" });
        if (response.ok) {
            await cache.put(request.url.split(/[?#]/)[0], response.clone());
        }
    } catch (error) {
        response = await cache.match(request, { ignoreSearch: true });
        if (response === undefined) {
            throw error;
        }
    }
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(ISOLATION)) {
        headers.set(name, value);
    }
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
