"""What the engines over Docker do while daemons fail, answer nonsense, or lose what they were given."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from runner.engines import EngineAway, EngineError, Program, socket_broker, swarm_check, swarm_machines
from runner.engines.docker import PROGRAM, DockerEngine, told_of
from runner.engines.docker_api import DockerApi, DockerFault, limits
from runner.engines.image import image_name
from runner.engines.swarm import SwarmEngine
from runner.engines.swarm_files import VersionFiles
from runner.engines.swarm_machines import Machines
from runner.engines.swarm_networks import Networks
from runner.engines.swarm_nodes import FILES, Machine, machine_at
from tests.runner.engines.scripted_daemon import INFO, Daemon, scripted_daemon, until

LEAST = limits(INFO)


def node(name: str, state: str = "ready") -> dict[str, Any]:
    return {
        "ID": name,
        "Spec": {"Availability": "active", "Labels": {}},
        "Status": {"State": state},
        "Description": {"Hostname": name},
    }


async def ready(machine: Machine) -> None:
    """Nothing has to be set up there."""


def run(story: Callable[[Daemon, Daemon], Coroutine[Any, Any, None]], tmp_path: Path) -> None:
    """Args: story: is given the daemon of the manager's machine, and that of another one."""

    async def whole() -> None:
        async with scripted_daemon(tmp_path / "1") as one, scripted_daemon(tmp_path / "2") as other:
            other.answers["GET", "/info"] = INFO | {"Name": "other", "Swarm": {"NodeID": "n2"}}
            one.answers["GET", "/nodes"] = [node("n1"), node("n2")]
            await story(one, other)

    asyncio.run(whole())


def test_a_machine_that_is_tried_again_and_again_costs_no_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swarm_machines, "LOOK_SECONDS", 0.01)

    async def story(one: Daemon, other: Daemon) -> None:
        one.answers["GET", "/nodes"] = [node("n1"), node("n2", "down")]
        manager = DockerApi(one.host, "/v1.47")
        machines = Machines(manager, one.host, [other.host], ready, lambda text: None, LEAST)
        await machines.begin()
        await until(lambda: other.count("GET", "/info") > 20)
        assert [machine.name for machine in machines.usable] == ["here"] and "not up" in machines.told[other.host]
        await until(lambda: other.connections <= 1)
        await machines.close()
        await manager.close()

    run(story, tmp_path)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (b"<html>It works</html>", "is no Docker daemon"),
        ({"Swarm": {"NodeID": "n2"}}, "Name"),
        (INFO | {"Swarm": {"NodeID": "n2"}, "PidsLimit": False, "SecurityOptions": []}, "system_calls, processes"),
    ],
    ids=["no daemon", "an answer of another form", "fewer limits"],
)
def test_a_machine_that_cannot_be_used_leaves_the_others(tmp_path: Path, told: Any, why: str) -> None:
    async def story(one: Daemon, other: Daemon) -> None:
        other.answers["GET", "/info"] = told
        manager, said = DockerApi(one.host, "/v1.47"), []
        machines = Machines(manager, one.host, [other.host], ready, said.append, LEAST)
        await machines.begin()
        assert [machine.name for machine in machines.usable] == ["here"]
        assert why in machines.told[other.host] and len(said) == 1
        await machines.close()
        await manager.close()

    run(story, tmp_path)


def fillable(daemon: Daemon) -> None:
    """Has it take the files of versions."""
    daemon.answers |= {
        ("POST", "/containers/create"): {"Id": "c"},
        ("PUT", "/containers/c/archive"): {},
        ("DELETE", "/containers/c"): {},
    }


def test_files_that_somebody_removed_are_put_there_again_and_what_is_half_removed_is_not_taken_for_whole(
    tmp_path: Path,
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "main.lang").write_text("print(1)\n")

    async def story(one: Daemon, other: Daemon) -> None:
        fillable(one)
        machine = await machine_at(one.host, here=True)
        versions = VersionFiles("r", lambda text: None)
        files = await versions.of(package, None)
        name = files[0].name
        filled = lambda: one.count("PUT", "/containers/c/archive")  # noqa: E731
        for _ in range(2):
            await versions.hand_out(machine, files, "image")
        assert filled() == 1 and one.volumes == {name, f"{name}-whole"}
        one.volumes.remove(name)
        await versions.hand_out(machine, files, "image")
        assert filled() == 2

        one.answers["GET", "/volumes"] = {"Volumes": [{"Name": each, "Labels": {FILES: str(package)}} for each in one.volumes]}
        await versions.drop([machine])
        assert len(one.volumes) == 2, "the runner has it still"
        shutil.rmtree(package)
        one.answers["DELETE", f"/volumes/{name}"] = 409
        await versions.drop([machine])
        assert one.volumes == {name}, "a program uses it"
        one.answers["DELETE", f"/volumes/{name}"] = 500
        with pytest.raises(DockerFault):
            await versions.drop([machine])
        await machine.api.close()

    run(story, tmp_path)


def test_a_version_is_there_for_the_machines_that_take_it(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()

    async def story(one: Daemon, other: Daemon) -> None:
        fillable(one)
        other.answers["POST", "/volumes/create"] = 500
        machines = [await machine_at(daemon.host, here=False) for daemon in (one, other)]
        said: list[str] = []
        versions = VersionFiles("r", said.append)
        files = await versions.of(package, None)
        await versions.hand_out_to_all(machines, files, "image")
        assert len(one.volumes) == 2 and len(said) == 1 and "other" in said[0]
        with pytest.raises(DockerFault):
            await versions.hand_out_to_all(machines[1:], files, "image")
        for machine in machines:
            await machine.api.close()

    run(story, tmp_path)


def test_programs_are_reached_again_after_the_daemon_could_not_start_the_broker_of_their_network(tmp_path: Path) -> None:
    """They hold the network that was there before."""

    def broker(path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(path))
            socket_broker.serve(link)

    async def story(one: Daemon, other: Daemon) -> None:
        inspected: dict[str, Any] = {
            "State": {"Running": True},
            "Config": {"Cmd": []},
            "NetworkSettings": {"Networks": {"lang-r-p": {"NetworkID": "net", "IPAddress": "10.0.1.2", "IPPrefixLen": 24}}},
        }
        one.answers |= {
            ("GET", "/networks/lang-r-p"): {"Id": "net", "Options": {}},
            ("GET", "/containers/lang-r-p-broker/json"): inspected,
            ("DELETE", "/containers/lang-r-p-broker"): {},
            ("POST", "/containers/create"): {"Id": "c"},
            ("POST", "/containers/lang-r-p-broker/start"): {},
        }
        api = DockerApi(one.host, "/v1.47")

        def settings(memory: int, file: int) -> dict[str, Any]:
            return {"NetworkDisabled": True, "HostConfig": {}}

        networks = Networks(api, "r", tmp_path, settings, lambda start: None, lambda project: None, encrypted=False)
        network = await networks.of("p")
        inspected["State"] = {"Running": False}
        one.answers["POST", "/containers/lang-r-p-broker/start"] = 500
        with pytest.raises(EngineError):
            await networks.of("p")
        thread = threading.Thread(target=broker, args=(tmp_path / "networks" / "p" / "host.sock",), daemon=True)
        thread.start()
        made = await network.listen(0)
        made.close()
        inspected["State"] = {"Running": True}
        assert await networks.of("p") is network
        networks.close()
        await asyncio.to_thread(thread.join, 60)
        await api.close()

    run(story, tmp_path)


def test_what_could_not_be_asked_of_a_machine_is_asked_once_its_daemon_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swarm_machines, "LOOK_SECONDS", 0.01)

    async def story(one: Daemon, other: Daemon) -> None:
        told = other.answers["GET", "/version"]
        other.answers["GET", "/version"] = 503
        manager = DockerApi(one.host, "/v1.47")
        machines = Machines(manager, one.host, [other.host], ready, lambda text: None, LEAST)
        await machines.begin()
        machine, lost = machines.of("n2"), machines.of("n3")
        assert lost is None, "the swarm does not know it"
        assert machine is not None and machines.of("n2") is machine and machine not in machines.usable
        with pytest.raises(EngineAway):
            await machine.api.ask("GET", "/info")
        other.answers["GET", "/version"] = told
        await until(lambda: len(machines.usable) == 2)
        assert (await machine.api.ask("GET", "/info"))["Name"] == "other"
        one.answers["GET", "/nodes"] = [node("n1"), node("n2", "down")]
        await until(machine.lost.is_set)
        await machines.close()
        await manager.close()

    run(story, tmp_path)


def refusing(body: bytes) -> Any:
    """The connection ends without an answer."""
    raise ConnectionResetError


def program(start: str, **parts: Any) -> Program:
    given: dict[str, Any] = {
        "project": "p", "deploy": "d", "run": None, "mode": "serve", "package": Path("/nowhere"), "entry": "main.lang",
        "ceiling": "none", "link": Path("/nowhere"), "cache": None, "memory_mb": 64, "disk_mb": 1, **parts,
    }  # fmt: skip
    return Program(start=start, **given)


def swarm(one: Daemon, tmp_path: Path, *others: str) -> SwarmEngine:
    """An engine whose manager has the image."""
    one.answers["GET", "/info"] = INFO | {"Swarm": {"NodeID": "n1", "ControlAvailable": True}, "Driver": "overlay2"}
    one.answers["GET", f"/images/{image_name()}/json"] = {"Id": "sha256:1"}
    one.answers["GET", "/version"] = {"ApiVersion": "1.47", "Version": "28"}
    return SwarmEngine(tmp_path, host=one.host, others=others, encrypted=False)


def started(one: Daemon, node: str) -> None:
    """A program that a runner before this one has started runs on a node."""
    told = told_of(program("s1"))
    one.answers["GET", "/services"] = [{"Spec": {"Name": "lang-s1", "Labels": {PROGRAM: told, "lang.start": "s1"}}}]
    task = {"NodeID": node, "Status": {"State": "running", "ContainerStatus": {"ContainerID": "c1"}}}
    one.answers["GET", "/tasks"] = [task]


def test_programs_of_a_machine_that_does_not_answer_go_on_until_it_is_lost(tmp_path: Path) -> None:
    async def story(one: Daemon, other: Daemon) -> None:
        engine = await asyncio.to_thread(swarm, one, tmp_path, f"unix://{tmp_path}/nobody")
        started(one, "n2")
        (running,) = await engine.adopt()
        assert [asked for asked in one.asked if asked[0] == "DELETE"] == []
        assert (await running.usage()).memory_mb == 0
        with pytest.raises(EngineAway):
            await running.pause()
        with pytest.raises(EngineAway):  # it is asked again: nobody has said that it is gone
            await running.remove()
        one.answers["GET", "/nodes"] = [node("n1"), node("n2", "down")]
        async with asyncio.timeout(60):
            assert (await running.wait()).code is None
            await running.remove()
        await engine.close()

    run(story, tmp_path)


@pytest.mark.parametrize(("told", "goes"), [(500, False), (refusing, False), (404, True)], ids=["a fault", "silence", "gone"])
def test_a_program_is_removed_at_a_restart_only_where_its_daemon_says_that_it_is_gone(
    tmp_path: Path, told: Any, goes: bool
) -> None:
    async def story(one: Daemon, other: Daemon) -> None:
        engine = await asyncio.to_thread(swarm, one, tmp_path)
        started(one, "n1")
        one.answers["GET", "/containers/c1/json"] = told
        assert len(await engine.adopt()) == (0 if goes else 1)
        assert (("DELETE", "/services/lang-s1") in one.asked) == goes
        await engine.close()

    run(story, tmp_path)


def test_a_program_is_not_removed_where_the_manager_cannot_say_what_became_of_it(tmp_path: Path) -> None:
    async def story(one: Daemon, other: Daemon) -> None:
        engine = await asyncio.to_thread(swarm, one, tmp_path)
        started(one, "n1")
        one.answers["GET", "/tasks"] = 500
        with pytest.raises(DockerFault):
            await engine.adopt()
        assert ("DELETE", "/services/lang-s1") not in one.asked
        await engine.close()

    run(story, tmp_path)


def test_a_network_that_cannot_be_looked_at_is_not_made_again(tmp_path: Path) -> None:
    async def story(one: Daemon, other: Daemon) -> None:
        api = DockerApi(one.host, "/v1.47")
        networks = Networks(
            api, "r", tmp_path, lambda memory, file: {}, lambda start: None, lambda project: None, encrypted=False
        )
        for told in (500, refusing):
            one.answers["GET", "/networks/lang-r-p"] = told
            with pytest.raises(DockerFault):
                await networks.of("p")
        assert one.count("POST", "/networks/create") == 0
        networks.close()
        await api.close()

    run(story, tmp_path)


def test_a_program_goes_to_another_machine_where_the_first_does_not_take_its_files(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    labelled = node("n2") | {"Version": {"Index": 1}}

    def update(body: bytes) -> Any:
        labelled["Spec"] = json.loads(body)
        return {}

    async def story(one: Daemon, other: Daemon) -> None:
        engine = await asyncio.to_thread(swarm, one, tmp_path)
        await engine.isolation()
        fillable(other)
        machines = engine._machines
        machines.known["n2"] = await machine_at(other.host, here=False)
        one.answers["POST", "/volumes/create"] = 500
        one.answers |= {("GET", "/nodes/n2"): labelled, ("POST", "/nodes/n2/update"): update}
        wanted = program("s1", package=package, keeps_data=True)
        assert engine._placement.candidates(wanted)[0].id == "n1"
        assert (await engine._placement.place(wanted, await engine._files.of(package, None), "image")).id == "n2"
        assert list(labelled["Spec"]["Labels"].values()) == ["data"], "its data lies there from now on"
        await engine.close()

    run(story, tmp_path)


def test_a_machine_is_refused_with_the_reason_where_its_check_cannot_be_heard(tmp_path: Path) -> None:
    class Deaf:
        async def listen(self, port: int) -> socket.socket:
            made = socket.socket()
            made.bind(("127.0.0.1", port))
            made.setblocking(False)
            return made  # nobody can be accepted there

    class Own:
        async def of(self, project: str) -> Deaf:
            return Deaf()

        def id(self, project: str) -> str:
            return "net"

    async def story(one: Daemon, other: Daemon) -> None:
        one.answers["POST", "/services/create"] = {"ID": "s"}
        api, networks = DockerApi(one.host, "/v1.47"), Own()
        machine = await machine_at(other.host, here=False)
        with pytest.raises(EngineError, match="cannot be listened on"):
            await swarm_check.reaches(api, networks, machine, "r", "image", encrypted=False)  # type: ignore[arg-type]
        assert next(path for method, path in one.asked if method == "DELETE").startswith("/services/lang-check")
        await machine.api.close()
        await api.close()

    run(story, tmp_path)


def test_what_a_start_may_have_left_is_removed_before_the_project_is_started_again(tmp_path: Path) -> None:
    """The daemon took the request to start, and its answer was lost: the program may run."""
    link = tmp_path / "link"
    link.mkdir()

    async def story(one: Daemon, other: Daemon) -> None:
        one.answers["GET", "/version"] = {"ApiVersion": "1.47", "Version": "28"}
        engine = await asyncio.to_thread(DockerEngine, tmp_path, host=one.host)
        one.answers |= {
            ("POST", "/containers/create"): {"Id": "c1"},
            ("POST", "/containers/c1/start"): refusing,
            ("DELETE", "/containers/lang-s1"): refusing,
        }
        wanted = [program(f"s{number}", link=link, scratch=True) for number in (1, 2, 3)]
        for each in wanted[:2]:
            with pytest.raises(EngineAway):
                await engine.start(each)
        assert one.count("POST", "/containers/create") == 1
        one.answers |= {("DELETE", "/containers/lang-s1"): {}, ("POST", "/containers/c1/start"): {}}
        running = await engine.start(wanted[2])
        assert one.asked.index(("DELETE", "/containers/lang-s1")) < len(one.asked) - one.asked[::-1].index(
            ("POST", "/containers/create")
        )
        one.answers["GET", "/containers/json"] = []
        one.answers[("GET", f"/volumes/{engine.volume('p')}")] = 500
        await running.remove()
        with pytest.raises(DockerFault):  # nobody knows whether the volume is gone
            await engine.erase("p")
        await engine.close()

    run(story, tmp_path)
