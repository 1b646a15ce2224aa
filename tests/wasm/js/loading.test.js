import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { Lang } from "../../../wasm_abi/js/lang.js";
import { WEB_BUILD, bytes, module } from "./builds.js";

const DIGEST = createHash("sha256").update(bytes).digest("hex");

async function works(source, options) {
    const lang = await (await Lang.load(source, options)).ready();
    assert.deepEqual(lang.run("print(6 * 7)").output, ["42"]);
}

let server;
let origin;

before(async () => {
    server = createServer((request, response) => {
        if (request.url === "/gone") {
            response.writeHead(404).end("gone");
        } else {
            const type = request.url === "/plain" ? "application/octet-stream" : "application/wasm";
            response.writeHead(200, { "content-type": type }).end(bytes);
        }
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${server.address().port}`;
});

after(() => server.close());

test("bytes", () => works(new Uint8Array(bytes)));
test("a Buffer", () => works(bytes));
test("an ArrayBuffer", () => works(new Uint8Array(bytes).buffer));
test("a module", () => works(module));
test("a path", () => works(WEB_BUILD));
test("a file URL, as an object and as text", async () => {
    await works(pathToFileURL(WEB_BUILD));
    await works(pathToFileURL(WEB_BUILD).href);
});
test("a URL over HTTP, whatever its type", async () => {
    await works(`${origin}/lang-web.wasm`);
    await works(new URL(`${origin}/plain`));
});
test("a response, and the promise of one", async () => {
    await works(await fetch(`${origin}/lang-web.wasm`));
    await works(fetch(`${origin}/plain`));
});

test("a response that is an error", async () => {
    await assert.rejects(Lang.load(fetch(`${origin}/gone`)), /cannot load the module: 404/);
    await assert.rejects(Lang.load(`${origin}/gone`), /cannot load the module: 404/);
});

test("what is no module", async () => {
    await assert.rejects(Lang.load(new Uint8Array([1, 2, 3])), WebAssembly.CompileError);
    await assert.rejects(Lang.load(42), TypeError);
    await assert.rejects(Lang.load("no-such-file.wasm"), /ENOENT/);
});

test("integrity holds for bytes, files and responses", async () => {
    await works(bytes, { integrity: DIGEST });
    await works(WEB_BUILD, { integrity: DIGEST.toUpperCase() });
    await works(fetch(`${origin}/lang-web.wasm`), { integrity: DIGEST });
    const wrong = DIGEST.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
    for (const source of [bytes, WEB_BUILD, fetch(`${origin}/lang-web.wasm`)]) {
        await assert.rejects(Lang.load(source, { integrity: wrong }), new RegExp(`SHA-256 is ${DIGEST}, not ${wrong}`));
    }
    await assert.rejects(Lang.load(module, { integrity: DIGEST }), /a compiled module has no bytes/);
});

test("what was verified is what is compiled", async () => {
    const given = new Uint8Array(bytes.length + 8);
    const part = given.subarray(8);
    part.set(bytes);
    const loading = Lang.load(part, { integrity: DIGEST });
    await new Promise(setImmediate); // the bytes have been taken, and are being verified
    given.fill(0);
    await (await loading).ready();
});

test("the size of the shared buffer", async () => {
    for (const bufferBytes of [0, -1, 1.5, Infinity, "16", null]) {
        await assert.rejects(Lang.load(module, { bufferBytes }), /bufferBytes must be a whole number from 1/);
    }
});

test("loading does not instantiate", async () => {
    const lang = await Lang.load(module);
    assert.throws(() => lang.run(""), /not ready: await ready\(\)/);
    assert.throws(() => lang.version(), /not ready/);
    const [one, two] = await Promise.all([lang.ready(), lang.ready()]);
    assert.equal(one, lang);
    assert.equal(two, lang);
    assert.match(lang.version().version, /^v\d+\.\d+\.\d+(-dev)?$/);
});
