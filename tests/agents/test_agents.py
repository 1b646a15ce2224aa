"""Agents of a program on the native host: how they end, what ends them, and that nothing is left of them."""

from __future__ import annotations

import _thread
import json
import subprocess
import sys
import time
from typing import Any

import language


def run(source: str, **options: Any) -> dict[str, Any]:
    return language.run(source, host=language.NativeHost(), **options)


def agents_left(before: int) -> bool:
    """Whether more threads run than before, after those that end have had time to."""
    end = time.monotonic() + 60
    while _thread._count() > before and time.monotonic() < end:
        time.sleep(0.01)
    return _thread._count() > before


SLEEPER = """
agent Sleeper
    signal "begun"
    sleep(3000)
spawn Sleeper
wait_for "begun"
"""


def test_an_error_of_the_main_program_ends_its_agents() -> None:
    before = _thread._count()
    result = run(SLEEPER + 'raise("main")')
    assert result["errors"] == ["Runtime error: <embedded>:7:6: main"]
    assert not agents_left(before)


def test_exit_ends_agents_and_an_agent_cannot_exit() -> None:
    before = _thread._count()
    assert run(SLEEPER + "exit(3)")["exit"] == 3
    result = run("agent A\n    exit(0)\nspawn A\n")
    assert "Agent 'A_0' failed: exit() cannot be called in an agent" in result["errors"][0]
    assert not agents_left(before)


def test_a_limit_of_time_ends_a_program_that_waits_for_its_agents() -> None:
    before = _thread._count()
    result = run(SLEEPER, limits={"time_ms": 300})
    assert result["limit"] == "time_ms"
    assert not agents_left(before)


def test_agents_that_ended_by_themselves_leave_no_threads() -> None:
    before = _thread._count()
    assert run('agent A\n    give 1\neach i in range(100)\n    spawn A\n    agent_wait("A_" + text(i))\n')["ok"]
    assert not agents_left(before)


def test_agents_are_stopped_while_they_start_others() -> None:
    """What is raised in a thread must not reach the thread that it has just started."""
    source = """
agent Parent
    agent Child
        sleep(3000)
    spawn Child
    signal "begun"
    sleep(3000)
each i in range(10)
    spawn Parent
    wait_for "begun"
    agent_stop("Parent_" + text(2 * i))
    print(agent_wait("Parent_" + text(2 * i), 60).state + agent_wait("Child_" + text(2 * i + 1), 60).state)
"""
    assert run(source)["output"] == ["STOPPEDSTOPPED"] * 10


def test_every_agent_that_failed_is_told_of() -> None:
    result = run('agent A\n    raise("one")\nagent B\n    raise("two")\nspawn A\nspawn B\nprint("on")\n')
    assert result["output"] == ["on"]
    assert [error.partition(": Agent")[2] for error in result["errors"]] == [" 'A_0' failed: one", " 'B_1' failed: two"]


def test_too_many_agents_are_an_error() -> None:
    source = "agent A\n    sleep(3000)\neach i in range(65)\n    spawn A\n"
    assert "spawn: too many agents (64)" in run(source)["errors"][0]


def test_mutual_waits_end_at_once() -> None:
    """The program would otherwise take the hour that each wait has."""
    source = """
agent A
    wait_for "b" timeout 3600
agent B
    wait_for "a" timeout 3600
spawn A
spawn B
wait_for "c" timeout 3600 as c
print(c)
"""
    assert run(source, limits={"time_ms": 60_000})["output"] == ["nothing"]


def test_an_agent_that_works_keeps_others_waiting() -> None:
    source = """
agent Works
    sleep(0.3)
    signal "a" with "came"
spawn Works
wait_for "a" timeout 3600 as a
print(a)
"""
    assert run(source)["output"] == ["came"]


def test_a_scheduled_job_may_still_signal() -> None:
    source = """
task later()
    signal "a" with "from the job"
cron_after(0.2, later)
wait_for "a" timeout 60 as a
print(a)
"""
    assert run(source)["output"] == ["from the job"]


def test_a_secret_crosses_without_its_value(monkeypatch: Any) -> None:
    monkeypatch.setenv("KEY", "hunter2")
    source = """
require secret("KEY")
let key be secret("KEY")
share {"k": key} as "board"
observe "board" as board
signal "c" with [key]
wait_for "c" as got
agent A
    give [text(key), text(given), key == "hunter2"]
spawn A with given = key
print([board, got, agent_wait("A_0").result])
"""
    (line,) = run(source)["output"]
    assert "hunter2" not in line and "true" not in line and line.count("KEY") == 4


def test_a_test_block_waits_for_its_agents_and_fails_by_their_errors() -> None:
    program = language.Program(
        """
agent Good
    sleep(0.1)
    share "seen" as "key"
agent Bad
    raise("of the agent")
test "joins"
    spawn Good
test "saw"
    observe "key" as found
    assert_eq(found, "seen")
test "fails"
    spawn Bad
""",
        host=language.NativeHost(),
    )
    result = program.test()
    assert (result["passed"], result["failed"]) == (2, 1)
    assert "Agent 'Bad_1' failed: of the agent" in result["lines"][-1]


def test_the_blackboard_is_empty_for_each_request_without_a_server() -> None:
    program = language.Program(
        """
require serve(8080)
serve on 8080
    route "GET /"
        observe "k" as before
        share 1 as "k"
        give text(before)
"""
    )
    request = {"method": "GET", "path": "/"}
    assert [program.handle(request)["body"] for _ in range(2)] == ['"nothing"', '"nothing"']


def test_the_bounds_of_blackboard_and_channels() -> None:
    keys = run("each i in range(10001)\n    share i as i\n")
    assert "share: the blackboard holds 10000 keys already" in keys["errors"][0]
    size = run(
        'let s be "0123456789abcdef"\neach i in range(22)\n    set s to s + s\nshare s as "a"\nshare s as "a"\nshare s as "b"\n'
    )
    assert "share: the blackboard holds at most 64 MiB" in size["errors"][0]
    queue = run('each i in range(10001)\n    signal "x" with i\n')
    assert 'signal: 10000 signals on "x" were not taken yet' in queue["errors"][0]


def test_an_agent_has_its_own_lines_of_a_module_only_where_the_program_has_them(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("ONE", "1")
    monkeypatch.setenv("TWO", "2")
    module = 'agent Reads\n    require env("ONE")\n    require env("TWO")\n    let one be env("ONE")\n    give env("TWO")\n'
    (tmp_path / "m.lang").write_text(module, encoding="utf-8")
    source = 'require env("ONE")\nuse "./m.lang" as m\nspawn Reads\nprint(agent_wait("Reads_0").error)\n'
    result = language.run(source, filename=str(tmp_path / "p.lang"), host=language.NativeHost())
    assert 'Capability not granted: env("TWO")' in result["output"][0]


def test_an_agent_remembers_under_its_own_name(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PLATFORM_STATE_DIR", str(tmp_path))
    source = """
require memory("namespaces")
remember("context", "from the top")
agent Writer
    remember("context", "from writer")
    share length(recall()) as "own"
    share length(recall(from = "*")) as "all"
spawn Writer
agent_wait("Writer_0")
observe "own" as own
observe "all" as everything
print([own, everything, length(recall(from = "main")), length(recall(from = "Writer"))])
"""
    result = language.run(source, filename=str(tmp_path / "p.lang"), host=language.NativeHost())
    assert (result["errors"], result["output"]) == ([], ["[1, 2, 1, 1]"])


def test_a_service_of_several_processes_refuses_agents(tmp_path: Any) -> None:
    """Refused at the start, also where the first agent would be met in a handler."""
    program = tmp_path / "p.lang"
    program.write_text(
        'require serve(8080)\nserve on 8080\n    route "GET /"\n        share 1 as "k"\n        give "x"\n', encoding="utf-8"
    )
    command = [sys.executable, "-m", "language", "serve", "--workers", "2", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "agents, shared values and signals are those of one process" in done.stderr, done.stderr


def test_the_end_of_an_earlier_start_does_not_end_the_next_one() -> None:
    """An agent is started again as soon as its end is told, while its thread before has still to return."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        result = run(
            'share 0 as "tries"\nagent Flaky\n    share_change("tries", (n) => n + 1)\n    observe "tries" as n\n'
            "    raise(text(n))\nspawn Flaky\nlet told be []\n"
            'each i in range(200)\n    set told to append(told, agent_wait("Flaky_0").error)\n'
            '    agent_restart("Flaky_0", 1000, 60)\nagent_stop("Flaky_0")\nprint(told)\n'
        )
    finally:
        sys.setswitchinterval(before)
    assert json.loads(result["output"][0]) == [str(number) for number in range(1, 201)]
