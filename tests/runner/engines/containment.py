"""What every engine must withstand: programs that try to get out of their sandbox, or to take all of the machine.

Each check gets an engine and a program of another project, which must go on answering.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.runner.engines.engine_stage import Neighbour, Stage

#: In the environment of the process that the engine runs in.
MARKER = "known-to-the-runner-alone-4711"

Check = Callable[[Stage, Neighbour], None]


def what_is_enforced_is_said(stage: Stage, neighbour: Neighbour) -> None:
    said = stage.run(stage.engine.isolation())
    assert said["sandbox"] and said["network"] and said["filesystem"] and said["system_calls"] and said["disk"], said
    if os.geteuid() == 0:
        assert {name for name, enforced in said.items() if not enforced} == ({"user"} if stage.name == "docker" else set())


def nothing_around_it_can_be_reached(stage: Stage, neighbour: Neighbour) -> None:
    secret = stage.folder / "secret"
    secret.write_text("of the runner", encoding="utf-8")
    with socket.socket() as listening, socket.socket(socket.AF_UNIX) as abstract:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        name = f"lang-test-{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen()
        told = {
            "folders": [str(stage.folder), str(secret), str(neighbour.running.program.link), str(stage.volume("neighbour"))],
            "port": listening.getsockname()[1],
            "abstract": name,
            "marker": MARKER[::-1],
            "closer": stage.name == "process",
        }
        exit, lines = stage.result(stage.program("attacker", "surroundings", json.dumps(told)))
    found = [json.loads(line.text) for line in lines if line.stream == "out"]
    assert found and found[-1] == ["all", "tried"], (exit, lines[-5:])
    assert len(found) > 100
    assert not (reached := [attack for attack in found[:-1] if attack[1]]), reached
    assert neighbour.answers()


def native_code_stays_inside(stage: Stage, neighbour: Neighbour) -> None:
    stage.build_native()
    with socket.socket() as listening, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, ExitStack() as more:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))
        watched = [(listening, listening.accept), (datagrams, lambda: datagrams.recv(1))]
        name = f"lang-test-native-{os.getpid()}"
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            abstract = more.enter_context(socket.socket(socket.AF_UNIX, kind))
            abstract.bind(f"\0{name}")
            if kind == socket.SOCK_STREAM:
                abstract.listen()
        if socket.has_ipv6:
            six = more.enter_context(socket.create_server(("::1", port), family=socket.AF_INET6))
            watched.append((six, six.accept))
        words = (str(port), name, "1" if stage.name == "process" else "0")
        exit, lines = stage.result(stage.program("attacker", "native", *words))
        found = [json.loads(line.text) for line in lines if line.stream == "out"]
        assert found and found[-1] == ["native", len(found) - 1], (exit, lines[-5:])
        assert len(found) > 100
        assert not (reached := [attack for attack in found[:-1] if attack[1]]), reached
        for outside, take in watched:
            outside.setblocking(False)
            with pytest.raises(BlockingIOError):
                take()
    assert neighbour.answers()


def a_process_gets_nothing_but_what_it_needs(stage: Stage, neighbour: Neighbour) -> None:
    exit, lines = stage.result(stage.program("attacker", "told_of_files"))
    assert (exit.code, exit.reason) == (0, ""), lines
    told = json.loads(lines[0].text)
    assert set(told["environ"]) <= {"PATH", "HOME", "LANG", "TMPDIR", "PLATFORM_CACHE", "PWD", "LC_CTYPE", "HOSTNAME"}
    assert told["folder"] == "/data"
    assert told["descriptors"] == ["0", "1", "2"]


def a_bomb_of_processes(stage: Stage, neighbour: Neighbour) -> None:
    program = stage.program("attacker", "bomb_of_processes")
    running = stage.start(program)
    assert 50 < int(stage.first_line(running)) <= 260
    assert neighbour.answers()
    stage.run(running.remove())
    assert stage.left_of(program) == []


def bombs_of_memory(stage: Stage, neighbour: Neighbour) -> None:
    for bomb in ("bomb_of_memory", "bomb_of_small_memory"):
        program = stage.program("attacker", bomb, memory_mb=128)
        exit, lines = stage.result(program)
        assert exit.reason == "memory" and exit.code != 0, lines
        assert neighbour.answers()
        assert stage.left_of(program) == []


def a_full_volume(stage: Stage, neighbour: Neighbour) -> None:
    for bomb in ("full_volume", "full_volume_without_names", "full_volume_below_a_deep_folder"):
        exit, lines = stage.result(stage.program("filler", bomb, disk_mb=20, memory_mb=1024))
        assert exit.reason == "disk" and exit.code != 0, lines
        assert neighbour.answers()
    stage.run(stage.engine.erase("filler"))
    assert not stage.volume("filler").exists()


def folders_in_memory_have_an_end(stage: Stage, neighbour: Neighbour) -> None:
    exit, lines = stage.result(stage.program("filler", "full_memory_disks", disk_mb=30))
    sizes = json.loads(lines[0].text)
    assert exit.code == 0 and sizes["/tmp"] <= 64 and sizes["/dev/shm"] <= 64 and sizes["/data"] <= 30, sizes


def a_program_that_will_not_end(stage: Stage, neighbour: Neighbour) -> None:
    program = stage.program("attacker", "deaf")
    running = stage.start(program)
    assert stage.first_line(running) == "deaf"
    exit = stage.run(running.stop(0.2))
    assert exit.reason == "stopped" and exit.code == 137
    stage.run(running.remove())
    assert stage.left_of(program) == []


def a_program_that_ends_when_asked(stage: Stage, neighbour: Neighbour) -> None:
    running = stage.start(stage.program("attacker", "polite"))
    assert stage.first_line(running) == "polite"
    exit = stage.run(running.stop(50))
    assert (exit.code, exit.reason) == (3, "stopped")
    assert stage.run(running.wait()) == exit
    stage.run(running.remove())


def a_paused_program_stands_still_and_goes_on(stage: Stage, neighbour: Neighbour) -> None:
    paused = Neighbour(stage, "paused")
    assert paused.answers()
    stage.run(paused.running.pause())
    assert paused.running.paused
    paused.connection.sendall(b"x")
    paused.connection.settimeout(0.5)
    with pytest.raises(TimeoutError):
        paused.connection.recv(1)
    stage.run(paused.running.resume())
    paused.connection.settimeout(60)
    assert paused.connection.recv(1) == b"x" and paused.answers()
    stage.run(paused.running.pause())
    assert stage.run(paused.running.stop(0.2)).reason == "stopped"
    paused.close(stage)


def output_in_order_and_the_exit_code(stage: Stage, neighbour: Neighbour) -> None:
    exit, lines = stage.result(stage.program("attacker", "loud", "30000"))
    assert (exit.code, exit.reason) == (7, "")
    assert [line.text for line in lines if line.stream == "out"] == [f"line {number}" for number in range(30000)]
    assert [line.text for line in lines if line.stream == "err"] == ["last"]
    moments = [line.at for line in lines if line.stream == "out"]
    assert moments == sorted(moments)


def what_a_program_takes(stage: Stage, neighbour: Neighbour) -> None:
    used = stage.run(neighbour.running.usage())
    assert 0 < used.memory_mb < 64 and 0 < used.cpu_seconds < 30 and used.disk_mb == 0


def a_volume_for_one_start_is_empty_and_goes_with_it(stage: Stage, neighbour: Neighbour) -> None:
    """Beside a project that has files: they are neither seen nor changed, and two such starts do not meet."""
    first, lines = stage.result(stage.program("kept", "keep", "once"))
    assert (first.code, [line.text for line in lines]) == (0, ["[]"])
    for _ in range(2):
        exit, lines = stage.result(stage.program("kept", "keep", "scratch", scratch=True))
        assert (exit.code, [line.text for line in lines]) == (0, ["[]"])
    again, lines = stage.result(stage.program("kept", "keep", "twice"))
    assert (again.code, [line.text for line in lines]) == (0, ["['once']"])
    stage.run(stage.engine.erase("kept"))
    assert stage.left_of_scratch() == []


CHECKS: tuple[Check, ...] = (
    what_is_enforced_is_said,
    nothing_around_it_can_be_reached,
    native_code_stays_inside,
    a_process_gets_nothing_but_what_it_needs,
    a_bomb_of_processes,
    bombs_of_memory,
    a_full_volume,
    a_volume_for_one_start_is_empty_and_goes_with_it,
    folders_in_memory_have_an_end,
    a_program_that_will_not_end,
    a_program_that_ends_when_asked,
    a_paused_program_stands_still_and_goes_on,
    output_in_order_and_the_exit_code,
    what_a_program_takes,
)
