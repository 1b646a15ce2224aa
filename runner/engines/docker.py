"""The engine ``docker``: each start in a container of its own, which goes on when the runner is gone.

The network is ``none``, always: what a program reaches, it reaches over its host link. A project's volume is a volume of
Docker's. What a container was started for stands in its labels, where a later runner finds it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import httpx

from runner.engines import (
    APP,
    CACHE,
    DATA,
    GID,
    LINK,
    MOST_PROCESSES,
    TMP_MB,
    UID,
    EngineError,
    Program,
    Running,
)  # fmt: skip
from runner.engines.docker_api import (
    DockerApi,
    DockerFault,
    api_version,
    blocking_client,
    checked,
    docker_host,
    filters,
    limits,
)
from runner.engines.docker_container import Container
from runner.engines.docker_logs import Frames
from runner.engines.image import ensure_image, image_name, own_version
from runner.engines.interpreter import compile_words, environment, program_words
from runner.engines.volumes import MEGABYTE, give, nearly_full, readable

COMPILE_SECONDS, COMPILE_MB = 120.0, 1024
#: A second of the processors' time each second: one processor.
ONE_PROCESSOR = 1_000_000_000
#: Bytes of a container's output that the daemon keeps: two files of this size.
LOG_SIZE, LOG_FILES = "10m", "2"
IN_IMAGE = ["python3", "-IB", "-m", "language"]
USER = f"{UID}:{GID}"
#: A version of the language, as a tag of an image.
_VERSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
#: The label that holds all of a start.
PROGRAM = "lang.program"


class DockerEngine:
    """See the module.

    Arguments:
        folder: of the runner; two runners of one daemon keep apart by it.
        host: the daemon, as in ``DOCKER_HOST``, which decides where it is not given.
        words: the command inside, where it is not to be the language's.

    Raises:
        EngineError: no daemon answers.
    """

    name = "docker"
    outlives_runner = True
    remarks: tuple[str, ...] = ()

    def __init__(
        self, folder: Path, *, host: str | None = None, words: Callable[[Program], Sequence[str]] | None = None
    ) -> None:
        self._host = host or docker_host()
        self.runner = hashlib.sha256(bytes(folder.resolve())).hexdigest()[:12]
        self._words = words
        try:
            with blocking_client(self._host) as client:
                told = checked(client.get("/version")).json()
                self.info: dict[str, Any] = checked(client.get("/info")).json()
        except httpx.HTTPError as error:
            raise EngineError(f"no Docker daemon answers at {self._host}: {error or type(error).__name__}") from error
        self.version = f"docker {told['Version']}, {image_name()}"
        self.api = DockerApi(self._host, api_version(told))
        self._watching: asyncio.Task[None] | None = None
        self._containers: dict[str, Container] = {}
        #: by project: starts that may have left something which could not be removed
        self._left: dict[str, set[str]] = {}

    def ensure_image(self) -> str:
        """Makes the image where it is missing. Blocks. Raises ``EngineError``."""
        return ensure_image(self._host)

    async def isolation(self) -> Mapping[str, bool]:
        return {
            "sandbox": True,
            "filesystem": True,
            "network": True,
            "user": False,  # all programs are one user of the machine's, in namespaces of their own
            **limits(self.info),
            "disk": True,
        }

    async def engine_for(self, version: str) -> str:
        own = own_version()
        if version in ("", own) or _VERSION.fullmatch(version) is None:
            return own
        try:
            await self.api.ask("GET", f"/images/{image_name(version)}/json")
        except DockerFault as fault:
            if fault.status != 404:
                raise
            return own
        return version

    async def prepare(self, package: Path, entry: str, cache: Path, engine: str = "") -> None:
        root = Path(str(self.info.get("DockerRootDir", "/")))
        if root.exists() and await asyncio.to_thread(nearly_full, root):
            raise EngineError("less than a tenth of the containers' disk is free: no new version is taken")
        await asyncio.to_thread(self.ensure_image)
        await asyncio.to_thread(readable, package)
        cached = await asyncio.to_thread(_cache_made, cache)
        flags = [] if cached else ["caps", f"{APP}/{entry}"]  # fails for what cannot be started, as compiling does
        settings = self.container_settings(COMPILE_MB, 64, engine)
        settings["HostConfig"]["Mounts"] = [_folder(package, APP), *([_folder(cache, CACHE, writable=True)] if cached else [])]
        settings["HostConfig"]["Tmpfs"][DATA] = "size=1m,mode=0777"
        settings |= {
            "Cmd": [*IN_IMAGE, *flags] if flags else compile_words(IN_IMAGE, entry),
            "Env": [f"{name}={value}" for name, value in environment(cached).items()],
            "Labels": {"lang.runner": self.runner, "lang.preparing": "1"},
        }
        code, said = await self._once(settings)
        if code != 0:
            raise EngineError(f"the version could not be compiled: {said[-500:]}")

    async def _once(self, settings: dict[str, Any]) -> tuple[int, str]:
        """Runs a container to its end; its exit code and what it said."""
        made = await self._create(settings, f"lang-prepare{time.time_ns()}")
        container = made["Id"]
        try:
            await self.api.ask("POST", f"/containers/{container}/start")
            ended = await self.api.ask("POST", f"/containers/{container}/wait", seconds=COMPILE_SECONDS)
            async with self.api.stream(f"/containers/{container}/logs", stdout="1", stderr="1") as pieces:
                frames = Frames()
                said = b"".join([text async for piece in pieces for _, text in frames.feed(piece)])
        finally:
            with suppress(DockerFault):
                await self.api.ask("DELETE", f"/containers/{container}", force="1")
        return int(ended["StatusCode"]), said.decode("utf-8", "replace").strip()

    async def _create(self, settings: dict[str, Any], name: str) -> Any:
        try:
            return await self.api.ask("POST", "/containers/create", body=settings, name=name)
        except DockerFault as fault:
            if fault.status != 404:
                raise
        await asyncio.to_thread(self.ensure_image)  # somebody has removed it
        return await self.api.ask("POST", "/containers/create", body=settings, name=name)

    def container_settings(self, memory_mb: int, file_mb: int, engine: str = "") -> dict[str, Any]:
        """What every container has. Each of these lines is a protection."""
        return {
            "Image": image_name(engine),
            "User": USER,
            "WorkingDir": DATA,
            "Hostname": "lang",
            "NetworkDisabled": True,
            "AttachStdin": False,
            "OpenStdin": False,
            "HostConfig": {
                "NetworkMode": "none",
                "ReadonlyRootfs": True,
                "Tmpfs": {"/tmp": f"rw,nosuid,nodev,size={TMP_MB}m,mode=1777"},
                "ShmSize": TMP_MB * MEGABYTE,
                "IpcMode": "private",
                "CapDrop": ["ALL"],
                "SecurityOpt": ["no-new-privileges"],
                "Privileged": False,
                "Memory": memory_mb * MEGABYTE,
                "MemorySwap": memory_mb * MEGABYTE,
                "NanoCpus": ONE_PROCESSOR,
                "PidsLimit": MOST_PROCESSES,
                "Ulimits": [
                    {"Name": "core", "Soft": 0, "Hard": 0},
                    {"Name": "fsize", "Soft": file_mb * MEGABYTE, "Hard": file_mb * MEGABYTE},
                ],
                "OomScoreAdj": 500,
                "Init": True,
                "RestartPolicy": {"Name": "no"},
                "LogConfig": {"Type": "local", "Config": {"max-size": LOG_SIZE, "max-file": LOG_FILES}},
            },
        }

    def volume(self, project: str) -> str:
        """The name of a project's volume."""
        return f"lang-{self.runner}-{project}"

    async def network(self, project: str) -> None:
        """Descriptors reach its programs."""

    async def start(self, program: Program) -> Running:
        self._watch()
        await self._clear(program.project)
        try:
            await asyncio.to_thread(readable, program.link)
            if program.cache is not None and os.geteuid() == 0:
                await asyncio.to_thread(give, program.cache, UID)
            labels = {"lang.runner": self.runner, "lang.project": program.project}
            volume = None if program.scratch else await self._volume(program.project, labels)
            settings = self.container_settings(program.memory_mb, program.disk_mb, program.engine)
            settings |= {
                "Cmd": program_words(IN_IMAGE, program) if self._words is None else list(self._words(program)),
                "Env": [f"{name}={value}" for name, value in environment(program.cache is not None).items()],
                "Labels": {
                    **labels,
                    "lang.deploy": program.deploy,
                    "lang.start": program.start,
                    "lang.program": told_of(program),
                },
            }
            settings["HostConfig"]["Mounts"] = [
                _folder(program.package, APP),
                _folder(program.link, LINK),
                *([] if program.cache is None else [_folder(program.cache, CACHE)]),
                *([] if volume is None else [{"Type": "volume", "Source": self.volume(program.project), "Target": DATA}]),
            ]
            if volume is None:
                settings["HostConfig"]["Tmpfs"][DATA] = f"rw,nosuid,nodev,size={program.disk_mb}m,uid={UID},gid={GID},mode=0700"
        except OSError as error:
            raise EngineError(f"the link or the cache cannot be used: {error}") from error
        try:
            made = await self._create(settings, f"lang-{program.start}")
            await self.api.ask("POST", f"/containers/{made['Id']}/start")
        except BaseException:
            await self._undo(program)
            raise
        return self._kept(program, made["Id"], volume)

    async def _undo(self, program: Program) -> None:
        """Removes what a start has left, now or before the next start of the project: it may run."""
        self._left.setdefault(program.project, set()).add(program.start)
        with suppress(DockerFault):
            await self._clear(program.project)

    async def _clear(self, project: str) -> None:
        """Removes what earlier starts of a project have left. Raises ``DockerFault``."""
        for start in list(self._left.get(project, ())):
            await self._removed(f"lang-{start}")
            self._left[project].discard(start)
        self._left.pop(project, None)

    async def _volume(self, project: str, labels: Mapping[str, str]) -> Path:
        """Where the files of a project's volume lie, which is made where it is missing."""
        made = await self.api.ask("POST", "/volumes/create", body={"Name": self.volume(project), "Labels": labels})
        return Path(made["Mountpoint"])

    def _kept(self, program: Program, container: str, volume: Path | None, *, paused: bool = False) -> Container:
        kept = Container(self.api, program, container, volume, lambda: self._containers.pop(container, None), paused=paused)
        self._containers[container] = kept
        return kept

    def _watch(self) -> None:
        """Listens for containers that are out of memory: the kernel ends one process of them, and the others would go on."""
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        wanted = filters(label=[f"lang.runner={self.runner}"], event=["oom"], type=["container"])
        while True:
            with suppress(DockerFault):
                async with self.api.stream("/events", filters=wanted) as pieces:
                    rest = b""
                    async for piece in pieces:
                        *lines, rest = (rest + piece).split(b"\n")
                        for line in filter(None, lines):
                            found = self._containers.get(json.loads(line)["Actor"]["ID"])
                            if found is not None:
                                await found.end("memory")
            await asyncio.sleep(1)  # the daemon is being restarted

    async def adopt(self) -> list[Running]:
        self._watch()
        found: list[Running] = []
        for listed in await self._listed(f"lang.runner={self.runner}"):
            labels = listed["Labels"]
            if PROGRAM not in labels:  # a version was being prepared
                await self._removed(listed["Id"])
                continue
            if listed["Id"] in self._containers:
                continue
            try:
                program = program_of(labels[PROGRAM])
            except (ValueError, KeyError, TypeError):  # of a version that told it in another way, or of somebody else
                await self._removed(listed["Id"])
                continue
            volume = None
            if not program.scratch:
                volume = Path((await self.api.ask("GET", f"/volumes/{self.volume(program.project)}"))["Mountpoint"])
            found.append(self._kept(program, listed["Id"], volume, paused=listed["State"] == "paused"))
        return found

    async def _listed(self, *labels: str) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = await self.api.ask(
            "GET", "/containers/json", all="1", filters=filters(label=list(labels))
        )
        return listed

    async def _removed(self, container: str) -> None:
        try:
            await self.api.ask("DELETE", f"/containers/{container}", force="1")
        except DockerFault as fault:
            if fault.status not in (404, 409):  # gone, or going
                raise

    async def drop_files(self) -> None:
        """Its containers read the runner's folders themselves."""

    async def erase(self, project: str) -> None:
        labels = (f"lang.runner={self.runner}", f"lang.project={project}")
        for listed in await self._listed(*labels):
            await self._removed(listed["Id"])
        for container in [kept for kept in self._containers.values() if kept.program.project == project]:
            await container.remove()
        try:
            await self.api.ask("DELETE", f"/volumes/{self.volume(project)}")
        except DockerFault as fault:
            if fault.status != 404:
                raise
        if await self._listed(*labels):
            raise EngineError(f"a container of {project} is still there")
        try:
            await self.api.ask("GET", f"/volumes/{self.volume(project)}")
        except DockerFault as fault:
            if fault.status != 404:
                raise
        else:
            raise EngineError(f"the volume of {project} is still there")
        self._left.pop(project, None)

    async def close(self) -> None:
        for container in list(self._containers.values()):
            await container.leave()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await self.api.close()


def _folder(path: Path, target: str, *, writable: bool = False) -> dict[str, Any]:
    return {"Type": "bind", "Source": str(path.resolve()), "Target": target, "ReadOnly": not writable}


def _cache_made(cache: Path) -> bool:
    """An empty folder that is the program's own; ``False`` where only the superuser could give it away."""
    from shutil import rmtree

    rmtree(cache, ignore_errors=True)
    cache.mkdir(mode=0o700, parents=True)
    if os.geteuid() != 0:
        return os.geteuid() == UID
    os.chown(cache, UID, GID)
    return True


def told_of(program: Program) -> str:
    """A start as a label."""
    return json.dumps({name: str(value) if isinstance(value, Path) else value for name, value in asdict(program).items()})


def program_of(text: str) -> Program:
    """The start in a label of ``told_of``. Raises ``ValueError``, ``KeyError`` or ``TypeError`` for any other text."""
    told = json.loads(text)
    mode: Literal["serve", "run"] = "run" if told["mode"] == "run" else "serve"
    paths = {name: None if told[name] is None else Path(told[name]) for name in ("package", "link", "cache")}
    return Program(**{**told, **paths, "mode": mode})
