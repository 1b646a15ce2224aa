"""The machines of a swarm as the runner uses them: the Docker API of each, the image, and the files of versions there.

A machine is used only where its own Docker API is given: images, volumes, output and figures of containers belong to it, and no
manager of a swarm hands them on. No registry is needed: the image is copied from the manager's daemon, and files are put into
volumes of the machine. (Secrets and configurations of a swarm are limited to 500 KB, packages are not.)
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import tarfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.engines import GID, UID, EngineError
from runner.engines.docker_api import DockerApi, DockerFault, api_version, filters
from runner.engines.volumes import is_there

#: A label of volumes: the folder of the runner whose files they hold.
FILES = "lang.files"
#: Where the container that fills a volume has it.
_INSIDE = "/files"
#: What the name of a volume ends with that is empty, and says that another one is whole.
_WHOLE = "-whole"
PROBE_SECONDS = 5.0


@dataclass(eq=False, slots=True)
class Machine:
    """A machine of the swarm whose Docker API is known.

    Attributes:
        id: of the node; of the swarm's, not of the machine's.
        host: as in ``DOCKER_HOST``.
        info: what its daemon tells of it.
        here: it is the machine of the runner.
        lost: set when the swarm takes it to be gone; another record is made when it is back.
    """

    id: str
    name: str
    host: str
    api: DockerApi
    info: Mapping[str, Any]
    here: bool
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    filling: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def image(self, name: str) -> str | None:
        """The id of an image that it has."""
        try:
            there = await self.api.ask("GET", f"/images/{name}/json")
        except DockerFault as fault:
            if fault.status != 404:
                raise
            return None
        return str(there["Id"])

    async def take_image(self, name: str, wanted: str, source: DockerApi) -> None:
        """Copies an image from another daemon where it is not here with this id. Raises ``EngineError``."""
        if await self.image(name) == wanted:
            return

        async def pieces() -> AsyncIterator[bytes]:
            async with source.stream(f"/images/{name}/get") as found:
                async for piece in found:
                    yield piece

        await self.api.send("POST", "/images/load", pieces(), quiet="1")
        if await self.image(name) != wanted:
            raise EngineError(
                f"the image {name} has another id on the machine {self.name}: its daemon keeps images in another way"
            )

    async def take_files(self, files: Files, image: str, labels: Mapping[str, str]) -> None:
        """Puts files into a volume of the machine, which no program can write. Raises ``DockerFault``.

        A second, empty volume says that the first is whole.
        """
        async with self.filling:
            whole = f"{files.name}{_WHOLE}"
            if not (await self._has_volume(whole) and await self._has_volume(files.name)):
                labelled = {**labels, FILES: str(files.folder)}
                await self.api.ask("POST", "/volumes/create", body={"Name": files.name, "Labels": labelled})
                await self._fill(files, image, labels)
                await self.api.ask("POST", "/volumes/create", body={"Name": whole, "Labels": labelled})

    async def _fill(self, files: Files, image: str, labels: Mapping[str, str]) -> None:
        mount = {"Type": "volume", "Source": files.name, "Target": _INSIDE, "VolumeOptions": {"NoCopy": True}}
        settings = {
            "Image": image,
            "Cmd": ["true"],
            "NetworkDisabled": True,
            "Labels": {**labels, "lang.preparing": "1"},
            "HostConfig": {"NetworkMode": "none", "Mounts": [mount]},
        }
        made = await self.api.ask("POST", "/containers/create", body=settings, name=f"lang-fill{time.time_ns()}")
        try:  # it is never started
            await self.api.send("PUT", f"/containers/{made['Id']}/archive", files.content, path=_INSIDE)
        finally:
            with suppress(DockerFault):
                await self.api.ask("DELETE", f"/containers/{made['Id']}", force="1")

    async def _has_volume(self, name: str) -> bool:
        try:
            await self.api.ask("GET", f"/volumes/{name}")
        except DockerFault as fault:
            if fault.status != 404:
                raise
            return False
        return True

    async def drop_old_files(self, label: str) -> None:
        """Removes the files of versions that the runner has no more, except those in use. Raises ``DockerFault``."""
        async with self.filling:
            names = [each["Name"] for each in await self.volumes(label, FILES) if not is_there(Path(each["Labels"][FILES]))]
            # First those that say that others are whole: what is half removed is filled anew.
            for name in sorted(names, key=lambda name: not name.endswith(_WHOLE)):
                try:
                    await self.api.ask("DELETE", f"/volumes/{name}")
                except DockerFault as fault:
                    if fault.status not in (404, 409):  # gone, or a program still uses it
                        raise

    async def volumes(self, *labels: str) -> list[dict[str, Any]]:
        """Those with all these labels."""
        told = await self.api.ask("GET", "/volumes", filters=filters(label=list(labels)))
        return list(told.get("Volumes") or ())

    async def containers(self, *labels: str) -> list[dict[str, Any]]:
        """Those with all these labels, ended ones too."""
        listed: list[dict[str, Any]] = await self.api.ask(
            "GET", "/containers/json", all="1", filters=filters(label=list(labels))
        )
        return listed


async def machine_at(host: str, *, here: bool) -> Machine:
    """The machine behind a Docker API. Raises ``DockerFault``; ``EngineError`` where its daemon is in no swarm."""
    trial = DockerApi(host, "")
    try:
        told = await trial.ask("GET", "/version", seconds=PROBE_SECONDS)
    finally:
        await trial.close()
    api = DockerApi(host, api_version(told))
    try:
        info = await api.ask("GET", "/info", seconds=PROBE_SECONDS)
        node = (info.get("Swarm") or {}).get("NodeID")
        if not node:
            raise EngineError(f"the daemon at {host} is in no swarm: `docker swarm join` there")
    except BaseException:
        await api.close()
        raise
    return Machine(node, info["Name"], host, api, info, here)


@dataclass(frozen=True, slots=True)
class Files:
    """What a volume is filled with.

    Attributes:
        folder: where the runner has them.
        name: of the volume; the same for the same files.
        content: a tar.
    """

    folder: Path
    name: str
    content: bytes


def files_of(folder: Path, prefix: str, *, own: str) -> Files:
    """A folder as what a volume is filled with; blocks.

    Args:
        prefix: what the volume's name begins with.
        own: the program's user owns them, and nobody else reads them; else the superuser owns them, and all read them. They lie
            below a folder of this name in the volume, whose own folder is the superuser's.
    """
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as archive:
        if own:
            archive.addfile(_entry(own, folder, own=True))
        for path in _below(folder):
            entry = _entry(os.path.join(own, path.relative_to(folder)), path, own=bool(own))
            if entry.isreg():
                with path.open("rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)
    content = output.getvalue()
    name = hashlib.sha256(bytes(folder) + b"\0" + content).hexdigest()[:32]
    return Files(folder, f"{prefix}-{name}", content)


def _below(folder: Path) -> Iterator[Path]:
    """Folders and files below a folder, in an order of names; what is neither, and links, are no part of a version."""
    for name in sorted(os.listdir(folder)):
        path = folder / name
        if path.is_symlink():
            continue
        if path.is_dir():
            yield path
            yield from _below(path)
        elif path.is_file():
            yield path


def _entry(name: str, path: Path, *, own: bool) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    if path.is_dir():
        entry.type = tarfile.DIRTYPE
        entry.mode = 0o700 if own else 0o755
    else:
        entry.size = path.stat().st_size
        entry.mode = 0o600 if own else 0o644
    entry.uid, entry.gid = (UID, GID) if own else (0, 0)
    if not own:  # what is compiled again is the same again
        entry.mtime = int(path.stat().st_mtime)
    return entry
