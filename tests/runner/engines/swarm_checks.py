"""What the engine ``swarm`` must do on two machines: programs on the second one, which nothing but their link reaches."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runner.engines import EngineAway, EngineError, Exit, Line, Program, Running, swarm_check
from runner.engines.docker import IN_IMAGE
from runner.engines.interpreter import program_words
from runner.engines.swarm import SwarmEngine
from runner.links import Egress, StartValues, TcpLink
from tests.host_link.linked_program import addresses
from tests.runner.engines.engine_stage import HERE, LONG, attack_words
from tests.runner.engines.two_machines import ADDRESSES, TwoMachines
from tests.runner.links.dialling import Told

Answer = TypeVar("Answer")
SECRET, KEY = "5ec2e7" * 8, "key-of-the-project-4711"
PORT = 8080
SERVICE = """
require serve(8080)
require net("web.example")
require net("other.example")
require env("A")
require file.read
serve on 8080
    route "GET /"
        try
            give {"a": env("A"), "to": text(fetch("http://" + request.query["to"]))}
        recover why
            give why
    route "GET /packaged"
        give read_file("greeting.txt")
    route "GET /ship"
        let yes be approve "Ship it?"
        give {"shipped": yes}
"""


class SwarmStage:
    """An engine on the first machine, whose programs all go to the second."""

    def __init__(self, machines: TwoMachines) -> None:
        self.machines = machines
        #: where the second machine's Docker API is reached in the end
        self.late: asyncio.Server | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="lang-swarm-", dir=os.environ.get("HOME")))
        self.loop = asyncio.Runner()
        self.package = self.folder / "package"
        self.package.mkdir()
        for script in ("attacks.py", "network_attacks.py"):
            shutil.copy(HERE / script, self.package)
        (self.package / "main.lang").write_text(SERVICE, encoding="utf-8")
        (self.package / "greeting.txt").write_text("packaged greeting", encoding="utf-8")
        machines.docker(0, "node", "update", "--label-add", "lang.programs=off", machines.nodes[0])
        self.engine = self.run(self._engine())
        self.engine.ensure_image()
        self.run(self.engine.prepare(self.package, "main.lang", self.folder / "cache"), 120)

    async def _engine(self, folder: str = "runner", *, encrypted: bool = False, at: str = "") -> SwarmEngine:
        """Args: at: another address of the second machine's Docker API."""

        def words(program: Program) -> list[str]:
            return program_words(IN_IMAGE, program) if program.address else attack_words(program, "python3")

        (self.folder / folder).mkdir(exist_ok=True)
        here, other = self.machines.hosts
        return SwarmEngine(self.folder / folder, host=here, others=[at or other], encrypted=encrypted, words=words)

    def run(self, act: Coroutine[Any, Any, Answer], seconds: float = LONG) -> Answer:
        async def bounded() -> Answer:
            async with asyncio.timeout(seconds):
                return await act

        return self.loop.run(bounded())

    def program(self, project: str, ceiling: str, **parts: Any) -> Program:
        start = uuid.uuid4().hex[:16]
        link = self.folder / "links" / start
        link.mkdir(parents=True, mode=0o755)
        given = {
            "deploy": "d1", "run": None, "mode": "run", "cache": None, "package": self.package, "entry": "attacks.py",
            "memory_mb": 128, "disk_mb": 20, "keeps_data": False, **parts,
        }  # fmt: skip
        return Program(project=project, start=start, link=link, ceiling=ceiling, **given)

    def result(self, program: Program) -> tuple[Exit, list[Line]]:
        """Starts it, waits for its end, removes it."""

        async def act() -> tuple[Exit, list[Line]]:
            running = await self.engine.start(program)
            try:
                lines = [line async for _, line in running.lines(None)]
                return await running.wait(), lines
            finally:
                await running.remove()

        return self.run(act())

    def close(self) -> None:
        self.run(self.engine.close())
        self.loop.close()
        shutil.rmtree(self.folder)
        self.machines.docker(0, "node", "update", "--label-rm", "lang.programs", self.machines.nodes[0])


class Service:
    """A service of the language on the second machine, with its link."""

    def __init__(self, stage: SwarmStage, project: str, ceiling: str) -> None:
        self.stage, self.project = stage, project
        stage.run(self._begin(ceiling), 120)

    async def _begin(self, ceiling: str) -> None:
        engine = self.stage.engine
        self.network = await engine.network(self.project)
        doors = await self.network.listen(0), await self.network.listen(0)
        egress = Egress(ceiling, private_addresses=True, resolver=addresses)
        values = StartValues(env={"A": "1"}, secrets={"KEY": KEY}, trust_proxy=(self.network.members,))
        self.told = Told()
        self.link = TcpLink(self.network.name, SECRET, values, egress, self.told, port=PORT, doors=doors)
        await self.link.open()
        self.program = self.stage.program(
            self.project, ceiling, mode="serve", entry="main.lang", cache=self.stage.folder / "cache",
            address=f"tcp://{self.network.name}:{self.link.port}",
        )  # fmt: skip
        (self.program.link / "secret").write_text(SECRET, encoding="ascii")
        self.running: Running = await engine.start(self.program)
        ready = asyncio.create_task(self.told.until("ready"))
        ended = asyncio.create_task(self.running.wait())
        await asyncio.wait({ready, ended}, return_when=asyncio.FIRST_COMPLETED)
        assert ready.done(), [line.text async for _, line in self.running.lines(None)]

    @property
    def address(self) -> str:
        """Its own, in its network."""
        return str(self.running.address)  # type: ignore[attr-defined]

    async def get(self, path: str) -> str:
        made = await self.network.connect(self.program.start, PORT)
        reader, writer = await asyncio.open_connection(sock=made)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
        return answer

    def printed(self) -> str:
        """What it has written so far."""
        return self.stage.machines.docker(1, "logs", f"{self.running._path.rpartition('/')[2]}")  # type: ignore[attr-defined]

    def close(self) -> None:
        async def act() -> None:
            await self.link.stop(5)
            await self.running.stop(10)
            await self.link.close()
            await self.running.remove()

        self.stage.run(act())


async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server of the world outside."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved")
    await writer.drain()
    writer.close()


def what_is_enforced_is_said(stage: SwarmStage) -> None:
    said = stage.run(stage.engine.isolation())
    assert {name for name, enforced in said.items() if not enforced} == {"user", "encryption"}
    assert "descriptors do not cross machines" in stage.engine.remarks[0] and "not encrypted" in stage.engine.remarks[1]
    with pytest.raises(EngineError, match="no manager of a swarm"):
        SwarmEngine(stage.folder, host=stage.machines.hosts[1], others=[])


def a_service_is_reached_and_reaches_its_ceiling_alone(stage: SwarmStage) -> None:
    async def act() -> None:
        server = await asyncio.start_server(web, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            answer = await service.get(f"/?to=web.example:{port}/")
            assert "served" in answer and '"a": "1"' in answer, answer
            answer = await service.get("/?to=other.example/")
            assert "other.example" in answer and "served" not in answer, answer
        answer = await service.get("/packaged")
        assert "packaged greeting" in answer, answer
        asked = asyncio.create_task(service.get("/ship"))
        (gate,) = await service.told.until("gate")
        assert await service.link.decide(gate.id, decision=True, value=None, seconds=LONG)
        assert '"shipped": true' in await asked
        # The secret of the link, which a command could read from its file, opens no connection.
        with pytest.raises(AssertionError, match="407"):
            await _connected(service, SECRET, "web.example", port)

    ceiling = "serve=8080,net=web.example,net=127.0.0.1,env=A,stdout,file.read"
    service = Service(stage, "shop", ceiling)
    try:
        found = stage.machines.inspected(1, f"lang.start={service.program.start}")
        assert len(found) == 1, "it is not on the second machine"
        stage.run(act())
        witnesses = {record["scope"] for record in service.told.of("audit of runner")}
        assert any(scope.startswith("web.example:") for scope in witnesses)
        denied = [record["scope"] for record in service.told.of("audit of program") if not record["granted"]]
        assert "other.example" in denied
        a_task_has_every_protection(stage, found[0])
        no_secret_is_shown(stage, service)
    except AssertionError as error:
        error.add_note(service.printed())
        raise
    finally:
        service.close()


async def _connected(service: Service, secret: str, host: str, port: int) -> None:
    made = await _into(service)
    reader, writer = await asyncio.open_connection(sock=made)
    writer.write(f"CONNECT {host}:{port} HTTP/1.1\r\nProxy-Authorization: Bearer {secret}\r\n\r\n".encode())
    status = (await reader.readline()).split(b" ")[1].decode()
    writer.close()
    assert status == "200", status


async def _into(service: Service) -> socket.socket:
    """A connection to the proxy of a link, as one that its program could make."""
    port = service.link.egress_port
    return await service.network._made({"connect": [service.network.name, port]})  # type: ignore[attr-defined]


def a_task_has_every_protection(stage: SwarmStage, told: dict[str, Any]) -> None:
    host = told["HostConfig"]
    assert host["ReadonlyRootfs"] and not host["Privileged"] and host["Init"] and not host["PortBindings"]
    assert host["CapDrop"] == ["ALL"] and not host["CapAdd"] and host["Dns"] == ["127.0.0.1"]
    assert host["Memory"] == host["MemorySwap"] == 128 << 20 and host["PidsLimit"] == 256 and host["NanoCpus"] == 10**9
    assert host["LogConfig"] == {"Type": "local", "Config": {"max-file": "2", "max-size": "10m"}}
    assert told["Config"]["User"] == "10001:10001" and told["Config"]["Labels"]["lang.project"] == "shop"
    mounts = {mount["Destination"]: mount["RW"] for mount in told["Mounts"] if mount["Type"] != "tmpfs"}
    assert mounts == {"/app": False, "/var/cache": False}, "a program that cannot write has no volume of its own"
    (network,) = told["NetworkSettings"]["Networks"]
    found = json.loads(stage.machines.docker(0, "network", "inspect", network))[0]
    assert found["Internal"] and found["Driver"] == "overlay"
    name = told["Config"]["Labels"]["com.docker.swarm.service.name"]
    assert not json.loads(stage.machines.docker(0, "service", "inspect", name))[0]["Endpoint"].get("Ports")


def no_secret_is_shown(stage: SwarmStage, service: Service) -> None:
    shown = ""
    for machine in (0, 1):
        for kind in ("container", "volume", "network"):
            found = stage.machines.docker(machine, kind, "ls", "-q").split()
            shown += stage.machines.docker(machine, kind, "inspect", *found) if found else ""
    for kind in ("service", "secret", "node"):
        shown += stage.machines.docker(0, kind, "inspect", *stage.machines.docker(0, kind, "ls", "-q").split())
    assert service.program.start in shown
    for secret in (SECRET, KEY, service.link.state.resume):
        assert secret not in shown
    command = stage.machines.docker(1, "ps", "--no-trunc", "--format", "{{.Command}}")
    assert SECRET not in command


def nothing_but_its_link_can_be_reached(stage: SwarmStage) -> None:
    neighbour = Service(stage, "neighbour", "serve=8080,stdout,file.read")
    try:
        brokers = [
            network["IPAddress"]
            for broker in stage.machines.inspected(0, "lang.broker=1", "lang.project=neighbour")
            for network in broker["NetworkSettings"]["Networks"].values()
        ]
        assert len(brokers) == 1
        told = {
            "addresses": [neighbour.address, *brokers, *ADDRESSES, *_bridges(stage), "169.254.169.254", "1.1.1.1", "127.0.0.1"],
            "ports": [neighbour.link.port, neighbour.link.egress_port],
            "names": ["runner", "example.com", "neighbour", f"lang-{neighbour.program.start}"],
        }
        with stage.machines.watched() as reached:
            program = stage.program("attacker", json.dumps([json.dumps(told)]), entry="network_attacks.py")
            exit, lines = stage.result(program)
            assert exit.code == 0, lines
            trial = f"import socket; socket.create_connection(('{ADDRESSES[1]}', 4444), 10)"
            subprocess.run([*stage.machines.inside(0), sys.executable, "-Ic", trial], check=True)
        got = json.loads(lines[0].text)["got"]
        # The name of the runner is the one that is known, and datagrams to its own loopback are the ones that leave.
        assert got.pop("names") == ["runner"]
        assert [place for place in got.pop("datagrams to others") if not place.startswith("127.")] == []
        assert {name: what for name, what in got.items() if what} == {}, got
        assert reached == [ADDRESSES[0]], "but for the trial nobody reached a machine"
        answer = stage.run(neighbour.get("/packaged"))
        assert "packaged greeting" in answer, answer
    finally:
        neighbour.close()


def _bridges(stage: SwarmStage) -> list[str]:
    """The addresses of the machines' own bridges."""
    found = []
    for name in stage.machines.names:
        told = json.loads(subprocess.run(["ip", "-n", name, "-j", "address"], capture_output=True, check=True).stdout)
        own = [info for link in told if link["ifname"] != "lo" for info in link["addr_info"]]
        found += [info["local"] for info in own if info["family"] == "inet"]
    return found


def nothing_around_it_can_be_reached(stage: SwarmStage) -> None:
    secret = stage.folder / "secret"
    secret.write_text("of the runner", encoding="utf-8")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        told = {
            "folders": [str(stage.folder), str(secret)],
            "port": listening.getsockname()[1],
            "abstract": "none",
            "marker": "known-to-the-runner-alone-4711"[::-1],
            "closer": False,
        }
        exit, lines = stage.result(stage.program("attacker", json.dumps(["surroundings", json.dumps(told)]), keeps_data=True))
    found = [json.loads(line.text) for line in lines if line.stream == "out"]
    assert found and found[-1] == ["all", "tried"], (exit, lines[-5:])
    assert [attack[0] for attack in found[:-1] if attack[1]] == ["other interfaces"], found


def a_program_whose_way_to_the_runner_is_gone_is_ended(stage: SwarmStage) -> None:
    """The container that makes sockets is started again: in another place, where the link's sockets do not listen."""
    service = Service(stage, "shop", "serve=8080,stdout,file.read")
    (broker,) = stage.machines.inspected(0, "lang.broker=1", "lang.project=shop")
    stage.machines.docker(0, "restart", "-t", "1", broker["Id"])
    assert stage.run(service.running.wait()).reason == "killed"
    service.close()
    again = Service(stage, "shop", "serve=8080,stdout,file.read")
    try:
        answer = stage.run(again.get("/packaged"))
        assert "packaged greeting" in answer, answer
    finally:
        again.close()


def limits_hold(stage: SwarmStage) -> None:
    exit, lines = stage.result(stage.program("attacker", json.dumps(["bomb_of_memory"])))
    assert exit.reason == "memory" and exit.code != 0, lines
    exit, lines = stage.result(stage.program("filler", json.dumps(["full_volume"]), keeps_data=True, memory_mb=1024))
    assert exit.reason == "disk" and exit.code != 0, lines


def a_rehearsal_has_a_volume_that_goes_with_it(stage: SwarmStage) -> None:
    words = json.dumps(["full_memory_disks"])
    before = set(stage.machines.docker(1, "volume", "ls", "-q").split())
    exit, lines = stage.result(stage.program("filler", words, keeps_data=True, scratch=True))
    sizes = json.loads(lines[0].text)
    assert exit.code == 0 and 0 < sizes["/data"] <= 20 and sizes["/tmp"] <= 64, (exit, lines)
    assert set(stage.machines.docker(1, "volume", "ls", "-q").split()) <= before


def a_program_goes_on_whose_machine_does_not_answer_at_a_restart(stage: SwarmStage) -> None:
    """It is taken up once the Docker API of its machine is there, and let go on where it was paused."""
    place = stage.folder / "late.sock"
    other = stage.machines.hosts[1].removeprefix("unix://")

    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(other)
        await asyncio.gather(_copied(reader, back), _copied(there, writer))

    async def act() -> None:
        running = await stage.engine.start(stage.program("shop", json.dumps(["polite"])))
        printed = aiter(running.lines(None))
        assert (await anext(printed))[1].text == "polite"
        await running.pause()
        await stage.engine.close()
        stage.engine = await stage._engine(at=f"unix://{place}")
        (found,) = await stage.engine.adopt()
        assert found.program == running.program and stage.machines.inspected(1, f"lang.start={found.program.start}")
        stage.late = await asyncio.start_unix_server(passed_on, place)
        assert (await anext(aiter(found.lines(None))))[1].text == "polite"
        while stage.machines.inspected(1, f"lang.start={found.program.start}")[0]["State"]["Paused"]:
            await asyncio.sleep(0.05)
        assert (await found.stop(5)).reason == "stopped"
        await found.remove()
        assert stage.machines.inspected(1, f"lang.start={found.program.start}") == []

    stage.run(act(), 120)


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


def an_erased_project_leaves_nothing(stage: SwarmStage) -> None:
    volume = stage.engine.volume("filler")
    assert volume in stage.machines.docker(1, "volume", "ls", "-q").split()
    for project in ("filler", "attacker", "shop", "neighbour"):
        stage.run(stage.engine.erase(project))
    for machine in (0, 1):
        assert volume not in stage.machines.docker(machine, "volume", "ls", "-q").split()
        for project in ("filler", "attacker", "shop", "neighbour"):
            assert stage.machines.inspected(machine, f"lang.project={project}") == []
    assert stage.machines.docker(0, "service", "ls", "-q") == "" == stage.machines.docker(0, "secret", "ls", "-q")
    networks = stage.machines.docker(0, "network", "ls", "--format", "{{.Name}}").split()
    assert [name for name in networks if name.endswith(("filler", "attacker", "shop", "neighbour"))] == []
    assert "lang.data" not in stage.machines.docker(0, "node", "inspect", *stage.machines.nodes)


def a_machine_that_cannot_encrypt_is_not_used(stage: SwarmStage) -> None:
    """Asked for, encryption is either there or no program is put on the machine."""
    encrypts = stage.machines.encrypts()

    async def act() -> None:
        with pytest.MonkeyPatch.context() as quicker:
            if not encrypts:
                quicker.setattr(swarm_check, "CHECK_SECONDS", 6.0)
            engine = await stage._engine("encrypted", encrypted=True)
            try:
                assert (await engine.isolation())["encryption"]
                started = stage.program("attacker", json.dumps(["polite"]))
                if encrypts:
                    running = await engine.start(started)
                    assert [line.text async for _, line in running.lines(None)][:1] == ["polite"]
                    await running.remove()
                else:
                    with pytest.raises(EngineAway, match="no machine of the swarm can be used"):
                        await engine.start(started)
                    assert "need IPsec in the kernels" in engine.refused[stage.machines.hosts[1]]
                (found,) = [
                    told
                    for told in json.loads(stage.machines.docker(0, "network", "inspect", *_networks(stage)))
                    if told["Name"].endswith(swarm_check.PROJECT) and "encrypted" in told["Options"]
                ]
                assert found["Internal"]
                await engine.networks.erase("attacker")
                await engine.networks.erase(swarm_check.PROJECT)
            finally:
                await engine.close()

    stage.run(act(), 120)


def _networks(stage: SwarmStage) -> list[str]:
    return stage.machines.docker(0, "network", "ls", "-q", "--filter", "driver=overlay").split()


CHECKS = (
    what_is_enforced_is_said,
    a_service_is_reached_and_reaches_its_ceiling_alone,
    nothing_but_its_link_can_be_reached,
    nothing_around_it_can_be_reached,
    a_program_whose_way_to_the_runner_is_gone_is_ended,
    limits_hold,
    a_rehearsal_has_a_volume_that_goes_with_it,
    a_program_goes_on_whose_machine_does_not_answer_at_a_restart,
    an_erased_project_leaves_nothing,
    a_machine_that_cannot_encrypt_is_not_used,
)
