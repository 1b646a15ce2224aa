// A server made with the official SDK: `node server.cjs PACKAGES stdio`, or `... http PORT [json]`.
"use strict";
const { createRequire } = require("node:module");
const { randomUUID } = require("node:crypto");
const http = require("node:http");
const [packages, kind, port, form] = process.argv.slice(2);
const load = createRequire(packages + "/");
const { McpServer } = load("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = load("@modelcontextprotocol/sdk/server/stdio.js");
const { StreamableHTTPServerTransport } = load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { z } = load("zod");

function made() {
    const server = new McpServer({ name: "sdk", version: "1.2.3" }, { capabilities: { logging: {} } });
    const numbers = { a: z.number(), b: z.number() };
    const said = (text) => ({ content: [{ type: "text", text }] });
    server.registerTool("add", { description: "Adds two numbers", inputSchema: numbers }, ({ a, b }) => said(String(a + b)));
    const twice = { inputSchema: { x: z.number() }, outputSchema: { twice: z.number() } };
    server.registerTool("twice", twice, ({ x }) => ({ ...said("twice"), structuredContent: { twice: 2 * x } }));
    server.registerTool("counts", { inputSchema: { to: z.number() } }, async ({ to }) => {
        for (let number = 0; number < to; number++) await server.sendLoggingMessage({ level: "info", data: `at ${number}` });
        return said("é".repeat(to));
    });
    server.registerTool("fails", {}, () => { throw new Error("no such pen"); });
    return server;
}

if (kind === "stdio") {
    made().connect(new StdioServerTransport());
} else {
    const sessions = new Map();
    http.createServer(async (request, response) => {
        let transport = sessions.get(request.headers["mcp-session-id"]);
        if (!transport && request.headers["mcp-session-id"]) {
            response.writeHead(404).end();
            return;
        }
        if (!transport) {
            transport = new StreamableHTTPServerTransport({
                sessionIdGenerator: randomUUID,
                enableJsonResponse: form === "json",
                onsessioninitialized: (id) => sessions.set(id, transport),
                onsessionclosed: (id) => sessions.delete(id) && console.log("closed"),
            });
            await made().connect(transport);
        }
        await transport.handleRequest(request, response);
    }).listen(Number(port), "127.0.0.1");
}
