// An assistant made with the official SDK: `node tools_client.cjs PACKAGES URL TOKEN`. Prints what it sees as one JSON map.
"use strict";
const { createRequire } = require("node:module");
const [packages, url, token] = process.argv.slice(2);
const load = createRequire(packages + "/");
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");

async function main() {
    const client = new Client({ name: "check", version: "1" });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    const seen = {
        server: client.getServerVersion().name,
        instructions: client.getInstructions(),
        tools: (await client.listTools()).tools.map((tool) => tool.name),
        projects: await client.callTool({ name: "list_projects", arguments: {} }),
        nothing: await client.callTool({ name: "get_project", arguments: { project_id: "prj_x" } }),
        unknown: await client.callTool({ name: "decide", arguments: {} }).then(() => null, (error) => error.code),
    };
    await client.close();
    return seen;
}

main().then((seen) => console.log(JSON.stringify(seen)));
