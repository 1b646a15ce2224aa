"""What a program can wait in, each with a program that is stopped while it waits there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import sleep

import language
from tests import servers
from tests.models.provider_peer import Turn, chunked, events, head, serving
from tests.web_server import Received, WebServer

#: Far more seconds than anybody waits for here.
LONG = 120
#: The seconds that a wait has to begin before it is stopped.
BEFORE = 0.5

#: Without somebody who could signal, a wait for a signal ends at once.
SLEEPER = f"agent Sleeps\n    sleep({LONG})\nspawn Sleeps\n"
#: A process that writes nothing, and the one wait that needs a database server.
SILENT = f'require exec("sleep")\nlet child be proc_spawn("sleep", ["{LONG}"])\n'
POSTGRES = "a statement of postgresql"
#: The body of the task that waits, and the lines above it.
WAITS = {
    "sleep": ("", f"sleep({LONG})"),
    "a signal": (SLEEPER, f'wait_for "never" timeout {LONG}'),
    "an agent": (SLEEPER, f'agent_wait("Sleeps_0", {LONG})'),
    "workers": ("", f"parallel_map((n) => sleep({LONG}), [1, 2], 2)"),
    "a process": ('require exec("sleep")\n', f'run("sleep", ["{LONG}"])'),
    "what a process writes": (SILENT, f"proc_recv(child, {LONG})"),
    "the end of a process": (SILENT, f"proc_wait(child, {LONG})"),
    "a request": ("require net\n", 'http_get("{web}")'),
    "a model that says nothing": ("require llm\n", 'llm_chat("Hello?", {"retries": 0})'),
    "a model in the middle": ("require llm\n", 'llm_chat("Hello?", {"retries": 0, "on_chunk": (part) => print(part)})'),
    "a tool loop": ("require llm\n", 'tool_loop("Hello?", {}, {"retries": 0})'),
    "a database": (
        'require db(":memory:")\ndb_open(":memory:", "memory")\n',
        'sql("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c")',
    ),
    POSTGRES: ('require db("*")\ndb_open("{database}")\n', f'sql("SELECT pg_sleep({LONG})")'),
}
SOURCE = """{above}require time
task waits()
    {wait}
let began be now()
try
    time_limit({before}, waits)
recover why
    print(why)
print(now() - began)
each one in agents()
    agent_stop(one.id)
"""


@contextmanager
def stopped(name: str, before: float = BEFORE) -> Iterator[language.Program]:
    """The program that waits there and is stopped after ``before`` seconds. It prints the error of the stop, and the seconds
    until it was over.
    """

    def silent(connection: socket.socket) -> None:
        sleep(LONG)

    def begun(connection: socket.socket) -> None:
        connection.sendall(head("chat") + b"".join(map(chunked, events("chat", Turn(("Good ", "morning")))[:2])))
        sleep(LONG)

    def unanswered(request: Received, connection: socket.socket) -> bytes | None:
        silent(connection)
        return None

    with ExitStack() as stack:
        peer = serving("chat", [begun if name == "a model in the middle" else silent])
        web = stack.enter_context(WebServer(unanswered))
        stack.enter_context(peer.server)
        above, wait = WAITS[name]
        if name == POSTGRES:
            address = stack.enter_context(contextmanager(servers.postgres)())
            above = above.replace("{database}", f"postgres://lang:p%40ss%20word@{address}/app")
        text = (
            SOURCE.replace("{above}", above).replace("{wait}", wait.replace("{web}", web.url)).replace("{before}", str(before))
        )
        yield language.Program(text, host=language.NativeHost(peer.settings))
