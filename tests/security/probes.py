"""One probe for every builtin that reaches outside: how to make it act, and how to see from outside whether it did."""

from __future__ import annotations

import http.server
import os
import socketserver
import tarfile
import threading
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from language.native.host import NativeHost
from tests.folders import paths_below

VARIABLE = "PROBE_VARIABLE"
VALUE = "what only the environment knows"
TYPED = "what only the person typed"
CONTENT = "what only the file holds"


class WatchedHost(NativeHost):
    """The operating system, with a list of the doors that were used."""

    def __init__(self) -> None:
        self.used: list[str] = []
        super().__init__()

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name not in ("used", "on_disk", "deployed"):  # the last two are facts, not doors
            self.used.append(name)
        return super().__getattribute__(name)

    def read_line(self) -> str | None:
        return TYPED

    def write_error_line(self, line: str) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    """A server on this machine that counts what reaches it: connections and requests."""

    daemon_threads = True

    def __init__(self) -> None:
        self.connections = 0
        self.called: list[str] = []  # methods of JSON-RPC
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        self.connections += 1
        return True

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    def _answer(self) -> None:
        come = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b'{"jsonrpc": "2.0", "id": 1, "result": "0x1"}'
        if b'"method": "' in come:
            self.server.called.append(come.decode().partition('"method": "')[2].partition('"')[0])  # type: ignore[attr-defined]
            if self.server.called[-1] == "initialize":  # type: ignore[attr-defined]
                body = b'{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _answer

    def log_message(self, format: str, *args: object) -> None:
        pass


class RedisServer(socketserver.ThreadingTCPServer):
    """Speaks as much of the Redis protocol (RESP) as it takes to receive commands, and keeps their names."""

    daemon_threads = True
    allow_reuse_address = True
    GREETINGS = frozenset({"CLIENT", "HELLO", "PING", "SELECT", "AUTH"})

    def __init__(self) -> None:
        self.commands: list[str] = []
        super().__init__(("127.0.0.1", 0), _RedisHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _RedisHandler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while head := self.rfile.readline():
            parts = []
            for _ in range(int(head[1:])):
                parts.append(self.rfile.read(int(self.rfile.readline()[1:])).decode())
                self.rfile.readline()
            name = parts[0].upper()
            if name not in RedisServer.GREETINGS:
                self.server.commands.append(name)  # type: ignore[attr-defined]
            self.wfile.write(b"+OK\r\n")


class World:
    """What stands around a probed program: a folder, a host, a server, what came out."""

    def __init__(self, folder: Path, server: Server, redis: RedisServer) -> None:
        self.folder = folder
        self.redis = redis
        redis.commands.clear()
        server.called.clear()
        self.host = WatchedHost()
        self.server = server
        self.output: list[str] = []
        self.error = ""
        self.records: list[dict[str, Any]] = []
        self._connections = server.connections
        (folder / "kept.txt").write_text(CONTENT + "\n", encoding="utf-8")
        (folder / "empty").mkdir()
        (folder / "below").mkdir()
        (folder / "below" / "inner.txt").write_text(CONTENT, encoding="utf-8")
        with zipfile.ZipFile(folder / "kept.zip", "w") as packed:
            packed.write(folder / "kept.txt", "kept.txt")
        with tarfile.TarFile(folder / "kept.tar", "w") as bound:
            bound.add(folder / "kept.txt", "kept.txt")

    def shows(self, text: str) -> bool:
        return any(text in line for line in self.output)

    def placed(self, text: str) -> str:
        """The text with the places of the servers filled in."""
        redis = f"127.0.0.1:{self.redis.server_address[1]}"
        return text.replace("{place}", self.server.place).replace("{redis}", redis)

    def commanded(self) -> bool:
        return bool(self.redis.commands)

    def reached(self) -> bool:
        return self.server.connections > self._connections


class Probe(NamedTuple):
    """``act`` is an expression that makes the builtin act, ``require`` what it needs, ``seen`` whether the act has happened.

    ``before`` are lines that prepare it with the same grants. ``{place}`` stands for host and port of the server.
    """

    act: str
    require: str
    seen: Callable[[World], bool]
    before: str = ""


def used(door: str) -> Callable[[World], bool]:
    return lambda world: door in world.host.used


def shown(text: str) -> Callable[[World], bool]:
    return lambda world: world.shows(text)


def remembered(text: str) -> Callable[[World], bool]:
    def seen(world: World) -> bool:
        for path in (path for path in paths_below(world.folder) if path.name.startswith("probe.db")):
            with suppress(FileNotFoundError):  # a file beside the database, which goes with the last connection
                if text.encode() in path.read_bytes():
                    return True
        return False

    return seen


def exists(name: str) -> Callable[[World], bool]:
    return lambda world: (world.folder / name).exists()


def gone(name: str) -> Callable[[World], bool]:
    return lambda world: not (world.folder / name).exists()


def holds(name: str, text: str) -> Callable[[World], bool]:
    def seen(world: World) -> bool:
        path = world.folder / name
        return path.exists() and text in path.read_bytes().decode("utf-8", "replace")

    return seen


def request(act: str) -> Probe:
    return Probe(act, 'net("{place}")', World.reached)


def tools(act: str, method: str) -> Probe:
    """Over a connection to a tool server, made where it is allowed."""

    def seen(world: World) -> bool:
        return method in world.server.called

    return Probe(act, 'net("{place}")', seen, 'let conn be mcp_connect("http://{place}/")')


def redis(act: str) -> Probe:
    return Probe(act, 'db("redis://{redis}/0")', World.commanded, 'db_open("redis://{redis}/0")')


def process(act: str, text: str) -> Probe:
    """Of a process that was started where that is allowed."""
    return Probe(act, 'exec("cat")', shown(text), 'let p be proc_spawn("cat")')


_READ = 'file.read("kept.txt")'
_OPEN = 'db_open("data.sqlite")'
_TABLE = f'{_OPEN}\nsql_exec("CREATE TABLE kept (a TEXT)")\nsql_exec("INSERT INTO kept VALUES (\'{CONTENT}\')")'
_DATA = 'db("data.sqlite")'
_MEMORY = 'memory("probe")'
_STEP = 'create_progress("t", ["s"])'

_ADDRESS = "0x" + "00" * 20
_HASH = "0x" + "00" * 32
_ACCOUNT = "1" * 32  # 32 zero bytes in base58

PROBES: dict[str, Probe] = {
    "now": Probe("now()", "time", used("now")),
    "sleep": Probe("sleep(0.001)", "time", used("sleep")),
    "random": Probe("random()", "random", used("random_bytes")),
    "random_int": Probe("random_int(1, 6)", "random", used("random_bytes")),
    "uuid": Probe("uuid()", "random", used("random_bytes")),
    "random_bytes": Probe("random_bytes(8)", "random", used("random_bytes")),
    "token": Probe("token()", "random", used("random_bytes")),
    "ecdh_keypair": Probe('ecdh_keypair("x25519")', "random", used("random_bytes")),
    "ecdh_shared_secret": Probe(
        "ecdh_shared_secret(key, int_to_bytes_le(9, 32))",
        'sign("K")',
        shown("secret(K)"),
        'let key be as_secret(int_to_bytes(7, 32), "K")',
    ),
    "ed25519_sign": Probe('ed25519_sign(as_secret(int_to_bytes(7, 32), "K"), "x")', 'sign("K")', shown("bytes(")),
    "env": Probe(f'env("{VARIABLE}")', f'env("{VARIABLE}")', shown(VALUE)),
    "secret": Probe(f'secret("{VARIABLE}")', f'secret("{VARIABLE}")', used("environ")),
    "reveal": Probe('reveal(as_secret("pla" + "in", "K"))', 'reveal("K")', shown("plain")),
    "jwt_sign": Probe('jwt_sign({"a": 1}, "a key that is long enough for it", {"expires_in": 60})', "time", used("now")),
    "jwt_verify": Probe('jwt_verify("eyJhbGciOiJIUzI1NiJ9.e30.x", "a key that is long enough for it")', "time", used("now")),
    "retry": Probe('retry((n) => 1 / (n - 1), {"wait": 0.001})', "time", used("random_bytes")),
    "totp": Probe('totp("12345678901234567890")', "time", used("now")),
    "totp_verify": Probe('totp_verify("12345678901234567890", "123456")', "time", used("now")),
    # files
    "read_file": Probe('read_file("kept.txt")', _READ, shown(CONTENT)),
    "read_file_bytes": Probe('decode(read_file_bytes("kept.txt"))', _READ, shown(CONTENT)),
    "file_exists": Probe('file_exists("kept.txt")', _READ, shown("true")),
    "file_info": Probe('file_info("kept.txt")', _READ, shown("size: 25")),
    "list_dir": Probe('list_dir("below")', 'file.read("below")', shown("inner.txt")),
    "grep": Probe('grep("kept.txt", "only")', _READ, shown(CONTENT)),
    "zip_create": Probe('length(zip_create("kept.txt")) > 100', _READ, shown("true")),
    "tar_create": Probe('length(tar_create("kept.txt")) > 100', _READ, shown("true")),
    "zip_extract": Probe('decode(zip_extract("kept.zip")["kept.txt"])', 'file.read("kept.zip")', shown(CONTENT)),
    "tar_extract": Probe('decode(tar_extract("kept.tar")["kept.txt"])', 'file.read("kept.tar")', shown(CONTENT)),
    "watch": Probe('watch("kept.txt")', _READ, shown("watch(kept.txt)")),
    "watch_next": Probe("watch_next(w, 0)", _READ, shown("[]"), 'let w be watch("kept.txt")'),
    "write_file": Probe('write_file("made.txt", "x")', 'file.write("made.txt")', exists("made.txt")),
    "append_file": Probe('append_file("made.txt", "x")', 'file.write("made.txt")', exists("made.txt")),
    "edit_file": Probe('edit_file("kept.txt", "only", "once")', 'file.write("kept.txt")', holds("kept.txt", "once")),
    "delete_file": Probe('delete_file("kept.txt")', 'file.write("kept.txt")', gone("kept.txt")),
    "delete_dir": Probe('delete_dir("empty")', 'file.write("empty")', gone("empty")),
    # processes
    "run": Probe('run("touch", ["made.txt"])', 'exec("touch")', exists("made.txt")),
    "proc_spawn": Probe('proc_wait(proc_spawn("touch", ["made.txt"]))', 'exec("touch")', exists("made.txt")),
    "proc_recv": process("proc_recv(p, 0)", "nothing"),
    "proc_send": process('proc_send(p, "x")', "true"),
    "proc_close_stdin": process("proc_close_stdin(p)", "true"),
    "proc_status": process("proc_status(p)", "running"),
    "proc_kill": process("proc_kill(p)", "true"),
    "proc_wait": process("proc_wait(p, 0)", "nothing"),
    "proc_stats": process("proc_stats(p)", "received: 0"),
    # requests
    "fetch": request('fetch("http://{place}/")'),
    "http": request('http("PUT", "http://{place}/")'),
    "http_get": request('http_get("http://{place}/")'),
    "http_post": request('http_post("http://{place}/", "x")'),
    "http_put": request('http_put("http://{place}/", "x")'),
    "http_delete": request('http_delete("http://{place}/")'),
    "http_bytes": request('http_bytes("GET", "http://{place}/")'),
    "ws_connect": Probe('ws_connect("ws://{place}/")', 'net("{place}")', World.reached),
    # tool servers
    "mcp_connect": request('mcp_connect("http://{place}/")'),
    "mcp_tools": tools("mcp_tools(conn)", "tools/list"),
    "mcp_call": tools('mcp_call(conn, "x")', "tools/call"),
    "mcp_toolset": tools("mcp_toolset(conn)", "tools/list"),
    # models
    "llm_chat": Probe('llm_chat("hi")', "llm", used("llm")),
    "llm_step": Probe('llm_step("hi", [], "")', "llm", used("llm")),
    "llm_stream": Probe('llm_stream("hi", "", (part) => 1)', "llm", used("llm")),
    "tool_loop": Probe('tool_loop("hi", {})', "llm", used("llm")),
    # nodes of block chains
    "evm_rpc": request('evm_rpc("http://{place}/", "web3_clientVersion")'),
    "evm_nonce": request(f'evm_nonce("http://{{place}}/", "{_ADDRESS}")'),
    "evm_balance": request(f'evm_balance("http://{{place}}/", "{_ADDRESS}")'),
    "evm_gas_price": request('evm_gas_price("http://{place}/")'),
    "evm_chain_id": request('evm_chain_id("http://{place}/")'),
    "evm_block_number": request('evm_block_number("http://{place}/")'),
    "evm_estimate_gas": request('evm_estimate_gas("http://{place}/", {})'),
    "evm_call": request('evm_call("http://{place}/", {})'),
    "evm_fee_history": request('evm_fee_history("http://{place}/")'),
    "evm_receipt": request(f'evm_receipt("http://{{place}}/", "{_HASH}")'),
    "evm_wait": request(f'evm_wait("http://{{place}}/", "{_HASH}")'),
    "evm_logs": request('evm_logs("http://{place}/", {})'),
    "solana_rpc": request('solana_rpc("http://{place}/", "getHealth")'),
    "solana_latest_blockhash": request('solana_latest_blockhash("http://{place}/")'),
    "solana_balance": request(f'solana_balance("http://{{place}}/", "{_ACCOUNT}")'),
    "solana_wait": request(f'solana_wait("http://{{place}}/", "{"1" * 64}")'),
    "spl_balance": request(f'spl_balance("http://{{place}}/", "{_ACCOUNT}", "{_ACCOUNT}")'),
    "algorand_params": request('algorand_params("http://{place}/")'),
    "algorand_account": request('algorand_account("http://{place}/", "A")'),
    "algorand_wait": request('algorand_wait("http://{place}/", "T", 0)'),
    "btc_utxos": request('btc_utxos("http://{place}/", "a")'),
    "btc_balance": request('btc_balance("http://{place}/", "a")'),
    "btc_fee_estimates": request('btc_fee_estimates("http://{place}/")'),
    "btc_wait": request('btc_wait("http://{place}/", "a", 1, 0)'),
    "btc_rpc": request('btc_rpc("http://{place}/", "getblockcount")'),
    # databases
    "db_open": Probe(_OPEN, _DATA, exists("data.sqlite")),
    "sql": Probe('sql("SELECT a FROM kept")', _DATA, shown(CONTENT), _TABLE),
    "sql_exec": Probe("sql_exec(\"INSERT INTO kept VALUES ('added')\")", _DATA, holds("data.sqlite", "added"), _TABLE),
    "sql_batch": Probe('sql_batch("INSERT INTO kept VALUES (?)", [["added"]])', _DATA, holds("data.sqlite", "added"), _TABLE),
    "paged": Probe('paged("SELECT a FROM kept")', _DATA, shown(CONTENT), _TABLE),
    "sql_tables": Probe("sql_tables()", _DATA, shown("kept"), _TABLE),
    # memory
    "remember": Probe('remember("rule", "x")', _MEMORY, used("memory")),
    "recall": Probe("recall()", _MEMORY, used("memory")),
    "forget_memory": Probe('forget_memory("mem_1")', _MEMORY, used("memory")),
    "recall_ranked": Probe('recall_ranked("x")', _MEMORY, used("memory")),
    "memory_summary": Probe("memory_summary()", _MEMORY, shown("Agent Memory")),
    "add_rule": Probe('add_rule("r", "must", "n < 1")', _MEMORY, used("memory")),
    "get_rules": Probe("get_rules()", _MEMORY, used("memory")),
    "check_rules": Probe("check_rules()", _MEMORY, used("memory")),
    "create_progress": Probe('create_progress("t", ["s"])', _MEMORY, used("memory")),
    "start_step": Probe('start_step("t", "s")', _MEMORY, remembered("in_progress"), _STEP),
    "complete_step": Probe('complete_step("t", "s", "the result")', _MEMORY, remembered("the result"), _STEP),
    "fail_step": Probe('fail_step("t", "s", "the reason")', _MEMORY, remembered("the reason"), _STEP),
    "resume_point": Probe('resume_point("t")', _MEMORY, used("memory")),
    "progress_percent": Probe('progress_percent("t")', _MEMORY, used("memory")),
    "progress_display": Probe('progress_display("t")', _MEMORY, used("memory")),
}

PROBES |= {
    f"redis_{name}": redis(f"redis_{name}({arguments})")
    for name, arguments in {
        "get": '"k"', "set": '"k", "v"', "del": '"k"', "exists": '"k"', "mget": '["k"]', "mset": '{"k": "v"}', "keys": '"*"',
        "type": '"k"', "incr": '"k"', "decr": '"k"', "incrby": '"k", 2', "expire": '"k", 5', "ttl": '"k"', "persist": '"k"',
        "hget": '"k", "f"', "hset": '"k", {"f": "v"}', "hgetall": '"k"', "hdel": '"k", "f"', "hincrby": '"k", "f", 2',
        "lpush": '"k", "v"', "rpush": '"k", "v"', "lpop": '"k"', "rpop": '"k"', "lrange": '"k", 0, 1', "llen": '"k"',
        "sadd": '"k", "v"', "srem": '"k", "v"', "smembers": '"k"', "sismember": '"k", "v"', "lock": '"k"',
        "unlock": '"k", "token"',
    }.items()
}  # fmt: skip

#: An agent, which has ended once it was waited for.
_AGENT = "1\nagent Done\n    give 1\ntask start()\n    spawn Done\nlet id be start()\n"
_AGENT_DOORS = ("runs_jobs", "environ", "warn", "monotonic")

#: A plan is made by the host's clock; a job asks for what it does when it runs.
_PLAN = ("now", "runs_jobs")

#: Context builtins that need no capability, an example each, and the doors that it may use.
HARMLESS: dict[str, tuple[str, tuple[str, ...]]] = {
    "llm_available": ("llm_available()", ("llm", "model_tape", "setting", "warn")),
    "llm_usage": ("llm_usage()", ("llm_usage", "environ", "warn")),
    "exit": ("exit(0)", ()),
    "flush": ("flush()", ("flush",)),
    "args": ("args()", ()),
    "range": ("range(3)", ()),
    "json_encode": ('json_encode({"a": as_secret("x")})', ()),
    "json_for_script": ('json_for_script({"a": as_secret("x")})', ()),
    "jsonl_encode": ('jsonl_encode([{"a": as_secret("x")}])', ()),
    "csv_encode": ('csv_encode([{"a": as_secret("x")}])', ()),
    "toml_encode": ('toml_encode({"a": as_secret("x")})', ()),
    "password_hash": ('password_hash("correct horse")', ("random_bytes",)),  # the salt
    "password_verify": (
        'password_verify("x", "$argon2id$v=19$m=32,t=1,p=1$c29tZXNhbHRzb21l$RH+DVRfgQAvbZH8XTLaJd5Ro8zEmbO9gdyaf8WYc0ik")',
        (),
    ),
    "aes_gcm_encrypt": ('aes_gcm_encrypt(int_to_bytes(7, 32), nothing, "x")', ("random_bytes",)),  # the nonce
    "state_set": ('state_set("a", 1)', ()),
    "state_get": ('state_get("a")', ()),
    "state_incr": ('state_incr("a")', ()),
    "state_delete": ('state_delete("a")', ()),
    "state_all": ("state_all()", ()),
    "render": ('render("kept.txt")', ("files",)),  # a page named literally is part of the program
    "set_cookie": ('set_cookie(1, "a", "b")', ()),
    "parallel_map": ("parallel_map((x) => x, [1, 2, 3])", ()),
    "time_limit": ("time_limit(60, () => 1)", ()),
    "llm_limit": ("llm_limit(10, () => 1)", ()),
    "agents": ("agents()", ("runs_jobs", "monotonic")),
    "agent_wait": (_AGENT + "agent_wait(id)", _AGENT_DOORS),
    "agent_stop": (_AGENT + "agent_stop(id)", _AGENT_DOORS),
    "agent_restart": (_AGENT + "agent_wait(id)\nagent_restart(id, 1, 1)", _AGENT_DOORS),
    "bus_subscribe": ('bus_subscribe("t")', ("runs_jobs",)),
    "bus_publish": ('bus_publish("t", 1)', ("runs_jobs",)),
    "bus_recv": ('bus_recv(bus_subscribe("t"), 0)', ("runs_jobs",)),
    "bus_unsubscribe": ('bus_unsubscribe(bus_subscribe("t"))', ("runs_jobs",)),
    "bus_topics": ("bus_topics()", ("runs_jobs",)),
    "select": ("select([0])", ("runs_jobs", "monotonic")),
    "share_change": ('share_change("a", (n) => 1)', ("runs_jobs", "monotonic")),
    "steps": ("steps()", ()),
    "cwd": ("cwd()", ("files",)),
    "db_close": ("db_close()", ("databases",)),
    "cron_every": ('cron_every(60, "upper_")', _PLAN),
    "cron_after": ('cron_after(60, "upper_")', _PLAN),
    "cron_cancel": ('cron_cancel("upper_")', _PLAN),
    "cron_list": ("cron_list()", _PLAN),
    "cron_status": ("cron_status()", _PLAN),
    "call_tool": ("call_tool(upper_, {})", ()),
    "mcp_reply": ('mcp_reply({"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"name": "s", "version": "1", "tools": {}})', ()),
}

#: What asks for nothing and acts only on a handle that took a capability to get: where its tests are.
ON_A_HANDLE = {
    "proc_close": "tests/stdlib/test_child_processes.py, TestEnd",
    "mcp_close": "tests/mcp/test_client_http.py, TestClosing",
    "shutdown": "tests/cli/test_shutdown.py",  # acts on the service alone that runs the program, which took `serve`
    "watch_close": "tests/stdlib/test_file_watches.py, test_closing",
    **dict.fromkeys(("ws_send", "ws_recv", "ws_broadcast", "ws_status", "ws_close"), "tests/serve/test_sockets.py"),
}

#: Only gated where the host has set a ceiling: the terminal of whoever runs the program.
STREAMS: dict[str, tuple[str, str, Callable[[World], bool]]] = {
    "print": ('print("a line")', "stdout", shown("a line")),
    "eprint": ('eprint("a line")', "stdout", used("write_error_line")),
    "read_line": ("read_line()", "stdin", used("read_line")),
    "term_key": ("term_key(0)", "stdin", used("terminal")),
    "term_size": ("term_size()", "stdout", used("terminal")),
    "term_style": ('term_style("x", {"bold": true})', "stdout", used("terminal")),
    "term_move": ("term_move(1, 1)", "stdout", used("terminal")),
    "term_clear": ("term_clear()", "stdout", used("terminal")),
    "term_cursor": ("term_cursor(true)", "stdout", used("terminal")),
}


def environment(folder: Path) -> dict[str, str]:
    """The variables that the probes look for."""
    return {VARIABLE: VALUE, "PLATFORM_AUDIT_DIR": str(folder / "audit"), "PATH": os.environ.get("PATH", "/usr/bin:/bin")}
