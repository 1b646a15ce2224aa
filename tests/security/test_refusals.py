"""No builtin reaches outside without its ``require``, above the ceiling, inside ``sandbox`` or through ``call_tool``.

The table comes from the registry: a builtin that is bound to the running program and has no probe fails here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from probes import HARMLESS, ON_A_HANDLE, PROBES, STREAMS, Probe, RedisServer, Server, World, environment

from language.audit.records import Audit
from language.capabilities import IMPLICIT, Ceiling, declared
from language.capabilities.grants import CapabilitySet
from language.compiler.compilation import compile_source
from language.errors import ExitProgram, LanguageError
from language.runtime.context import Context
from language.runtime.instance import Instance
from stdlib import all_builtins

BUILTINS = all_builtins()
CONTEXT_BOUND = {name for name, builtin in BUILTINS.items() if builtin.context or builtin.capability}
#: An alias is the same function under another name: the same probe, with that name in its place.
ALIASED = {name: builtin.alias_of for name, builtin in BUILTINS.items() if builtin.alias_of and name in CONTEXT_BOUND}
PRESENT = [name for name in PROBES if name in BUILTINS]

#: Host doors that a program opens by being run at all.
#: The streams, and the setting that says which files a host has: it opens nothing.
ALWAYS_USED = {"write_line", "write_error_line", "write_notice", "package"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    running = RedisServer()
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture
def world(tmp_path: Path, server: Server, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return World(tmp_path, server, redis_server)


def run(
    world: World, program: str, *, ceiling: str | None = None, prepare: Callable[[CapabilitySet], None] | None = None
) -> None:
    """Runs a program in the world, which then knows what came out."""
    audit = Audit(time.time)
    context = Context(world.host, ceiling=None if ceiling is None else Ceiling.parse(ceiling), collect=True, audit=audit)
    if prepare is not None:
        prepare(context.capabilities)
    code = compile_source(world.placed(program), "probe.lang").named("probe.lang")
    world.host.used.clear()
    try:
        Instance(code, world.host, context=context).run()
    except LanguageError as error:
        world.error = str(error)
    except ExitProgram:
        pass
    world.output = context.collected
    world.records = audit.records


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def wanted(world: World, probe: Probe) -> tuple[str, str | None, str]:
    """Name, canonical scope and ``require`` line of what a probe needs."""
    name, _, scope = world.placed(probe.require).rstrip(")").partition("(")
    capability = declared(name, scope.strip('"') or None)
    return capability.name, capability.scope, capability.require_line


def assert_refused(world: World, probe: Probe, why: str, text: str) -> None:
    """The act has not happened, the error says why, and the last decision over this capability is a refusal."""
    assert not probe.seen(world), "it acted"
    name, scope, line = wanted(world, probe)
    assert "Capability not granted: " in world.error
    assert text.replace("{line}", f"`{line}`") in world.error
    decisions = [record for record in world.records if record["capability"] == name and record["origin"] == "program"]
    assert decisions, "no record of the refusal"
    last = decisions[-1]
    assert (last["granted"], last["scope"], last["why"]) == (False, scope, why)


def test_every_builtin_that_reaches_outside_has_a_probe() -> None:
    known = {*PROBES, *HARMLESS, *STREAMS, *ON_A_HANDLE}
    missing = {name for name in CONTEXT_BOUND if name not in known and ALIASED.get(name) not in known}
    assert not missing, f"write a probe for them in tests/security/probes.py: {sorted(missing)}"


def test_what_declares_a_capability_is_probed_for_it() -> None:
    for name, builtin in BUILTINS.items():
        if builtin.capability is not None and not builtin.alias_of:
            assert name in PROBES, name
            assert PROBES[name].require.partition("(")[0] == builtin.capability, name


def test_the_table_is_not_empty() -> None:
    assert len(PRESENT) >= 14
    assert not {*PROBES} & {*HARMLESS}


@pytest.mark.parametrize("name", PRESENT)
def test_with_its_require_it_acts(world: World, name: str) -> None:
    probe = PROBES[name]
    run(world, f"require {probe.require}\n{probe.before}\nprint({probe.act})")
    assert probe.seen(world), f"the probe does not see its act: {world.error}"
    capability, scope, _ = wanted(world, probe)
    made = [(r["capability"], r["scope"], r["granted"]) for r in world.records]
    assert (capability, scope, True) in made or capability in IMPLICIT


@pytest.mark.parametrize("name", PRESENT)
def test_without_its_require(world: World, name: str) -> None:
    probe = PROBES[name]
    run(world, f"{probe.before}\nprint({probe.act})")
    if probe.require in IMPLICIT:
        assert probe.seen(world)
        return
    if probe.require.startswith("memory("):
        # Undeclared, a memory has no name that could be refused: the error says how to declare one.
        probe = probe._replace(require="memory")
        assert_refused(world, probe, "No matching grant found", "Add: require memory(")
        return
    assert_refused(world, probe, "No matching grant found", "add {line}")


@pytest.mark.parametrize("name", PRESENT)
def test_under_a_ceiling_without_it(world: World, name: str) -> None:
    probe = PROBES[name]
    run(world, f"require {probe.require}\n{probe.before}\nprint({probe.act})", ceiling="stdout")
    assert_refused(world, probe, "above host ceiling (--sandbox/--cap-set)", "the host must widen the ceiling")


@pytest.mark.parametrize("name", PRESENT)
def test_inside_a_sandbox(world: World, name: str) -> None:
    probe = PROBES[name]
    body = indented(f"require {probe.require}\nprint({probe.act})")
    run(world, f"require {probe.require}\n{probe.before}\nsandbox\n{body}")
    assert_refused(world, probe, "No matching grant found", "add {line}")


@pytest.mark.parametrize("name", PRESENT)
def test_inside_a_sandbox_that_keeps_something_else(world: World, name: str) -> None:
    probe = PROBES[name]
    other = '{"random": true}' if probe.require != "random" else '{"time": true}'
    body = indented(f"require {probe.require}\nprint({probe.act})")
    run(world, f"require random\nrequire {probe.require}\n{probe.before}\nsandbox under {other}\n{body}")
    assert_refused(world, probe, "No matching grant found", "add {line}")


@pytest.mark.parametrize("name", PRESENT)
def test_through_a_tool_that_does_not_declare_it(world: World, name: str) -> None:
    probe = PROBES[name]
    deeper = indented("print(0)\nrequire " + probe.require + f"\nprint({probe.act})")
    run(world, f"require {probe.require}\n{probe.before}\ntask tool()\n{deeper}\ncall_tool(tool, nothing)")
    assert_refused(world, probe, "No matching grant found", "add {line}")


@pytest.mark.parametrize("name", PRESENT)
def test_through_a_tool_that_declares_what_the_caller_lacks(world: World, name: str) -> None:
    probe = PROBES[name]
    body = indented(f"require {probe.require}\nprint({probe.act})")
    calls = f"task tool()\n{body}\nsandbox\n    call_tool(tool, nothing)\n"
    run(world, f"require {probe.require}\n{probe.before}\n{calls}")
    assert_refused(world, probe, "No matching grant found", "add {line}")


@pytest.mark.parametrize("name", PRESENT)
def test_in_a_worker_of_a_sandbox(world: World, name: str) -> None:
    probe = PROBES[name]
    body = indented(f"require {probe.require}\nprint({probe.act})")
    calls = f"task work(n)\n{body}\nsandbox\n    parallel_map(work, [1, 2])\n"
    run(world, f"require {probe.require}\n{probe.before}\n{calls}")
    assert_refused(world, probe, "No matching grant found", "add {line}")


@pytest.mark.parametrize("name", PRESENT)
def test_as_a_callback_in_a_sandbox(world: World, name: str) -> None:
    """Not called by its name in the block: a lambda made outside, called by a builtin."""
    probe = PROBES[name]
    body = indented("apply([1], act)")
    run(world, f"require {probe.require}\n{probe.before}\nlet act be (n) => print({probe.act})\nsandbox\n{body}")
    assert_refused(world, probe, "No matching grant found", "add {line}")


@pytest.mark.parametrize("name", PRESENT)
def test_denied_by_the_host(world: World, name: str) -> None:
    probe = PROBES[name]
    capability = wanted(world, probe)[0]
    program = f"require {probe.require}\n{probe.before}\nprint({probe.act})"
    run(world, program, prepare=lambda capabilities: capabilities.deny(capability, None))
    shown = capability.replace(".", "_")
    written = shown.replace("file_", "file.")
    assert_refused(world, probe, f"Explicitly denied by {shown}", f"explicitly denied by {written}")


@pytest.mark.parametrize("name", PRESENT)
def test_a_program_can_catch_the_refusal_and_goes_on(world: World, name: str) -> None:
    probe = PROBES[name]
    body = indented(f"print({probe.act})")
    caught = f'{probe.before}\nsandbox\n    try\n{indented(body)}    recover e\n        print("caught", e)\nprint("on")'
    run(world, f"require {probe.require}\n{caught}")
    assert not probe.seen(world)
    assert world.output[-2].startswith("caught ") and "Capability not granted: " in world.output[-2]
    assert world.output[-1] == "on"


@pytest.mark.parametrize("name", [name for name in HARMLESS if name in BUILTINS])
def test_without_a_capability_no_door_is_used(world: World, name: str) -> None:
    """Whatever is bound to the running program and asks for nothing opens nothing, but what the table says."""
    act, doors = HARMLESS[name]
    program = f"task upper_()\n    give 1\nlet made be {act}\n"
    run(world, program, ceiling="none")
    assert world.error == ""
    assert set(world.host.used) - ALWAYS_USED == set(doors)
    assert all(record["origin"] == "runtime" for record in world.records)


@pytest.mark.parametrize("name", STREAMS)
def test_the_streams_of_the_command(world: World, name: str) -> None:
    act, _, seen = STREAMS[name]
    run(world, act)
    assert seen(world)
    assert not world.records


@pytest.mark.parametrize("name", STREAMS)
def test_the_streams_of_the_command_under_a_ceiling(world: World, name: str) -> None:
    act, capability, seen = STREAMS[name]
    run(world, act, ceiling="random")
    assert not seen(world)
    assert f"Capability not granted: {capability} — no grant covers it, and it is above the host ceiling" in world.error
    last: dict[str, Any] = world.records[-1]
    assert (last["capability"], last["granted"], last["origin"]) == (capability, False, "program")
