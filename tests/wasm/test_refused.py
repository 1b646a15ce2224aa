"""What the builds refuse: each builtin of the manual's table says exactly why, is there, and comes before any check."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

import language
from conformance.wasm_builds import WebModule, run_command
from stdlib import all_builtins
from tests.wasm.web_build import wasip1_build, web_build

NO_SOCKETS = "this build has no network sockets (WebSocket/TLS identity need an event loop and a process)"
NO_DRIVERS = "this build has no database drivers"
NO_SCHEDULER = "this build has no scheduler threads"
NO_PROCESSES = "this build has no child processes"

FAMILIES = {
    NO_SOCKETS: [
        *("mtls_identity", "ws_connect", "ws_send", "ws_recv", "ws_close", "ws_status", "ws_stats", "ws_select"),
        *("ws_select_all", "ws_broadcast"),
    ],
    NO_DRIVERS: ["db_open", "db_close", "sql", "sql_exec", "sql_tables", "sql_batch", "paged"]
    + [name for name in all_builtins() if name.startswith(("mongo_", "redis_"))],
    NO_SCHEDULER: ["cron_every", "cron_after", "cron_cancel", "cron_list", "cron_status"],
    NO_PROCESSES: ["select"] + [name for name in all_builtins() if name.startswith(("proc_", "term_", "watch"))],
    "this build has no agent threads": ["agents", "agent_stop"] + [name for name in all_builtins() if name.startswith("bus_")],
}
#: What no build of this version has: nobody could be told to run it elsewhere.
NOWHERE = {"mtls_identity", "ws_stats", "ws_select", "ws_select_all"}
NO_FILES = ["read_file", "read_file_bytes", "write_file", "append_file", "edit_file", "list_dir", "file_info", "file_exists"]
NO_FILES += ["grep", "run"]

REFUSED = [(name, why) for why, names in FAMILIES.items() for name in names if name not in NOWHERE]


def called(name: str) -> str:
    """A call with as many arguments as it needs, of the kinds that it takes; what it answers is its message."""
    lists = dict.fromkeys(("keys", "rows", "sockets"), '["a"]')
    maps = dict.fromkeys(("fields", "values"), '{"a": 1}')
    numbers = dict.fromkeys(("amount", "seconds", "start", "end"), "1")
    values = {"job": "() => 1", "task": "() => 1", **lists, **maps, **numbers}
    needed = [word for word in all_builtins()[name].params if not word.endswith(("?", "..."))]
    call = f"{name}({', '.join(values.get(word, json.dumps(word)) for word in needed)})"
    return f"try\n    {call}\n    print('no error')\nrecover e\n    print(e)\n".replace("'", '"')


def in_this_process(source: str) -> tuple[list[str], list[str]]:
    answer = language.run(source, ceiling="stdout")
    return answer["output"] + answer["errors"], [each["capability"] for each in answer["audit"] if each["source"] != "ambient"]


def in_the_web_build(source: str) -> tuple[list[str], list[str]]:
    web_build()
    answer = WebModule().run(source, ceiling="stdout")
    return answer["output"] + answer["errors"], [each["capability"] for each in answer["audit"] if each["source"] != "ambient"]


def in_the_command(source: str) -> tuple[list[str], list[str]]:
    wasip1_build()
    done = run_command(["--cap-set", "stdout", "-"], stdin=source.encode())
    return [*done.stdout.splitlines(), *done.stderr.splitlines()], ["stdout"]


BUILDS = {"in process": in_this_process, "web": in_the_web_build, "wasip1": in_the_command}


@pytest.mark.parametrize("build", BUILDS)
def test_each_says_why_before_any_check(build: str) -> None:
    source = "".join(called(name) for name, _ in REFUSED)
    lines, asked = BUILDS[build](source)
    assert lines == [
        f"{name}: not available in the wasm profile — {why} (run the program with the native `lang` binary)"
        for name, why in REFUSED
    ]
    assert set(asked) == {"stdout"}  # nothing else was asked for, so nothing was refused there


def test_the_table_leaves_out_what_no_build_has() -> None:
    assert {name for names in FAMILIES.values() for name in names} - set(all_builtins()) == NOWHERE
    assert len(REFUSED) > 50


@pytest.mark.parametrize("build", BUILDS)
def test_a_server_started_as_a_command(build: str) -> None:
    lines, asked = BUILDS[build]('try\n    mcp_connect("server --stdio")\nrecover e\n    print(e)')
    assert lines == [
        f"mcp_connect: not available in the wasm profile — {NO_PROCESSES} (run the program with the native `lang` binary)"
    ]
    assert asked == ["stdout"]


def files_refused() -> Iterator[str]:
    for name in NO_FILES:
        capability = "exec" if name == "run" else "file.read"
        if name in ("write_file", "append_file", "edit_file"):
            capability = "file.write"
        yield f'require {capability}("*")\nrequire file.read("*")\n{called(name)}'


@pytest.mark.parametrize("ask", [in_this_process, in_the_web_build])
def test_there_are_no_files(ask: Callable[[str], tuple[list[str], list[str]]]) -> None:
    text = (
        "{}: this host has no filesystem — pass data in through the program's source/env, or run the program with the native "
        "`lang` binary (or the wasip1 build under wasmtime with --dir)"
    )
    if ask is in_the_web_build:
        web_build()
    for name, source in zip(NO_FILES, files_refused(), strict=True):
        answer = language.run(source) if ask is in_this_process else WebModule().run(source)
        assert answer["output"] == [text.format(name)]
        (record,) = answer["audit"]
        assert record["granted"] is True
        (undeclared,), asked = ask(called(name))
        assert undeclared.startswith("Capability not granted: ") and undeclared.endswith("; " + text.format(name))
        assert len(asked) == 2 and asked[1] == "stdout"


def test_no_processes_in_the_command() -> None:
    lines, _ = in_the_command('try\n    run("ls")\nrecover e\n    print(e)')
    assert lines[0].startswith('Capability not granted: exec("ls")')
    assert "this build has no child processes" in lines[0]
