// A client made with the official SDK: `node client.cjs PACKAGES URL TOKEN`. Prints what it sees as one JSON map.
"use strict";
const { createRequire } = require("node:module");
const [packages, url, token] = process.argv.slice(2);
const load = createRequire(packages + "/");
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");

async function failure(promise) {
    try {
        await promise;
    } catch (error) {
        return { code: error.code ?? null, message: error.message };
    }
    return null;
}

async function main() {
    const client = new Client({ name: "check", version: "1" });
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
    const refused = await failure(client.connect(transport));
    if (refused) return { refused };
    const seen = {
        server: client.getServerVersion(),
        instructions: client.getInstructions() ?? null,
        tools: (await client.listTools()).tools,
        sum: await client.callTool({ name: "add", arguments: { a: 2, b: 3 } }),
        sums: (await Promise.all(
            Array.from({ length: 20 }, (_, n) => client.callTool({ name: "add", arguments: { a: n, b: 1 } })),
        )).map((done) => done.content[0].text),
        greeting: await client.callTool({ name: "greet", arguments: { style: "é" } }),
        failed: await client.callTool({ name: "home" }),
        unknown: await failure(client.callTool({ name: "drop" })),
        missing: await failure(client.callTool({ name: "add", arguments: { a: 1 } })),
        ping: await client.ping(),
        resources: await failure(client.listResources()),
    };
    await client.close();
    return seen;
}

main().then((seen) => console.log(JSON.stringify(seen)));
