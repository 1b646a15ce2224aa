// A server made with the official SDK of the version without a handshake: `node stateless_server.cjs PACKAGES PORT`.
"use strict";
const { createRequire } = require("node:module");
const http = require("node:http");
const [packages, port] = process.argv.slice(2);
const load = createRequire(packages + "/");
const { McpServer, createMcpHandler } = load("@modelcontextprotocol/server");
const { toNodeHandler } = load("@modelcontextprotocol/node");
const { z } = load("zod");

const said = (text) => ({ content: [{ type: "text", text }] });

function made() {
    const server = new McpServer({ name: "sdk", version: "1.2.3" });
    const numbers = z.object({ a: z.number(), b: z.number() });
    server.registerTool("add", { description: "Adds two numbers", inputSchema: numbers }, ({ a, b }) => said(String(a + b)));
    const region = z.string().meta({ "x-mcp-header": "Region" });
    server.registerTool("where", { description: "Names a region", inputSchema: z.object({ region }) },
        ({ region: name }, context) => said(`${name} ${context.http?.req?.headers.get("mcp-param-region")}`));
    server.registerTool("list", { description: "Lists", outputSchema: z.array(z.number()) },
        () => ({ ...said("[1, 2]"), structuredContent: [1, 2] }));
    server.registerTool("fails", { description: "Fails" }, () => { throw new Error("no such pen"); });
    return server;
}

http.createServer(toNodeHandler(createMcpHandler(made))).listen(Number(port), "127.0.0.1");
