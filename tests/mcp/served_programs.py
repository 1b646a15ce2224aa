"""The programs of the manual that are tool servers: one written by hand, one with ``mcp_reply``."""

from __future__ import annotations

BY_HAND = """
require serve(8080)

let versions be ["2025-06-18", "2025-03-26"]
let pens be [{"id": 1, "owner": "ann", "name": "blue"}, {"id": 2, "owner": "bob", "name": "red"}]
let tools be [
    {"name": "add", "description": "Adds two numbers", "inputSchema": {"type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}},
    {"name": "read_rows", "description": "Rows of a resource", "inputSchema": {"type": "object",
        "properties": {"resource": {"type": "string"}}, "required": ["resource"]}}
]

task who(token)
    when token == "t-ann"
        give {"name": "ann"}
    when token == "t-bob"
        give {"name": "bob"}
    give nothing

task rows_for(user, resource)
    when resource != "pens"
        give nothing
    let out be []
    when user == nothing
        give out
    each r in pens
        when r["owner"] == user["name"]
            set out to append(out, r)
    give out

task reply(id, result)
    give {"jsonrpc": "2.0", "id": id, "result": result}

task refuse(id, code, message)
    give {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}

task said(t)
    give {"content": [{"type": "text", "text": t}]}

task pick_version(p)
    when get(p, "protocolVersion") in versions
        give p["protocolVersion"]
    give versions[0]

task call_tool(id, p, user)
    let args be get(p, "arguments", {})
    when p["name"] == "add"
        give reply(id, said(text(args["a"] + args["b"])))
    when p["name"] == "read_rows"
        let rows be rows_for(user, args["resource"])
        when rows == nothing
            give refuse(id, -32602, "unknown resource")
        give reply(id, said(json_encode(rows)))
    give refuse(id, -32602, "unknown tool")

task mcp(msg, user)
    let id be msg["id"]
    let p be get(msg, "params", {})
    when msg["method"] == "initialize"
        give reply(id, {"protocolVersion": pick_version(p), "capabilities": {"tools": {}},
            "serverInfo": {"name": "pens", "version": "1.0.0"}})
    when msg["method"] == "tools/list"
        give reply(id, {"tools": tools})
    when msg["method"] == "tools/call"
        give call_tool(id, p, user)
    give refuse(id, -32601, "method not found")

task safe(id)
    try
        raise("pen not found")
    recover err
        give {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text(err)}], "isError": true}}

print(json_encode(rows_for(nothing, "pens")))

serve on 8080
    auth with who
    route "GET /pens" requires auth
        give rows_for(request.user, "pens")
    route "POST /mcp" requires auth
        expect body {jsonrpc: text, method: text}
        let msg be request.json
        when "id" not in msg
            give respond("", "application/json", 202)
        give mcp(msg, request.user)
    route "POST /b"
        give [{"id": 1}]
    route "POST /b2"
        give respond(json_encode([{"id": 1}]), "application/json")
    route "POST /safe"
        give safe(7)
"""

WITH_REPLY = """
require serve({port})
require env("DEMO_HOME")
task who(token)
    when token == "t-ann"
        give {"name": "ann"}
    give nothing
task add(args)
    give args.a + args.b
task greet(args, user)
    give {"hello": user.name, "style": get(args, "style", "plain")}
task home(args)
    give env("DEMO_HOME", "/home")
task own_home(args)
    require env("DEMO_HOME")
    give env("DEMO_HOME", "/home")
let server be {"name": "demo", "version": "1.0.0", "tools": {
    "add": {"description": "Adds two numbers", "run": add,
        "params": {"a": {"type": "number"}, "b": {"type": "number", "description": "second"}}},
    "greet": {"description": "Greets", "run": greet, "params": {"style": {"type": "text", "required": false}}},
    "home": {"description": "No require line", "run": home},
    "own_home": {"description": "Its own require line", "run": own_home}}}
serve on {port}
    auth with who
    route "POST /mcp" requires auth
        give mcp_reply(request.json, server, request.user)
    route "POST /wrapped"
        give with_header(mcp_reply(request.json, server), "Mcp-Session-Id", "s1")
    route "POST /faulty"
        give mcp_reply(request.json, {"name": "demo", "version": "1", "tools": {"t": {"description": "d"}}})
"""

WITH_GATES = """
require serve(8080)
task delete(args)
    let ok be approve `Delete {args.name}?` within 60s
    give {"deleted": ok}
task paint(args)
    let colour be ask "Which colour?" with ["red", "blue"] within 60s
    give `painted {colour}`
let server be {"name": "asks", "version": "1.0.0", "tools": {
    "delete": {"description": "Deletes", "run": delete, "params": {"name": {"type": "text"}}},
    "paint": {"description": "Paints", "run": paint}}}
serve on 8080
    route "POST /mcp"
        give mcp_reply(request.json, server)
"""
