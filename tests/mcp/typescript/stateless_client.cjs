// A client made with the official SDK of the version without a handshake: `node stateless_client.cjs PACKAGES URL [TOKEN]`.
// Without a token it calls tools that ask a person. Prints what it sees as one JSON map.
"use strict";
const { createRequire } = require("node:module");
const [packages, url, token] = process.argv.slice(2);
const load = createRequire(packages + "/");
const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");

async function failure(promise) {
    try {
        await promise;
    } catch (error) {
        return { code: error.code ?? null, message: error.message };
    }
    return null;
}

async function usual(client) {
    return {
        tools: (await client.listTools()).tools,
        sum: await client.callTool({ name: "add", arguments: { a: 2, b: 3 } }),
        sums: (await Promise.all(
            Array.from({ length: 20 }, (_, n) => client.callTool({ name: "add", arguments: { a: n, b: 1 } })),
        )).map((done) => done.content[0].text),
        greeting: await client.callTool({ name: "greet", arguments: { style: "é" } }),
        failed: await client.callTool({ name: "home" }),
        unknown: await failure(client.callTool({ name: "drop" })),
    };
}

async function asking(client) {
    const asked = [];
    client.setRequestHandler("elicitation/create", async ({ params }) => {
        asked.push({ ...params, url: undefined });
        if (params.mode === "url") {
            const page = await fetch(`${params.url}?d=yes`); // a person
            return { action: page.ok ? "accept" : "cancel" };
        }
        return { action: "accept", content: { answer: "blue" } };
    });
    return {
        deleted: await client.callTool({ name: "delete", arguments: { name: "pens" } }),
        painted: await client.callTool({ name: "paint" }),
        asked,
    };
}

async function main() {
    const capabilities = token ? {} : { elicitation: { form: {}, url: {} } };
    const client = new Client({ name: "check", version: "1" }, { capabilities, versionNegotiation: { mode: "auto" } });
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    const seen = { era: client.getProtocolEra(), server: client.getServerVersion() };
    Object.assign(seen, await (token ? usual(client) : asking(client)));
    await client.close();
    return seen;
}

main().then((seen) => console.log(JSON.stringify(seen)));
