"""Packages on this machine: fetched once, verified by their hash, unpacked into a folder that is not changed afterwards."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Protocol

from runner.protocol import PackageAnswer, package_hash

_HASH = re.compile(r"sha256:([0-9a-f]{64})")


class PackageBroken(Exception):
    """What the service gave is not the package that was asked for, or cannot be unpacked."""


class Source(Protocol):
    """Where packages come from."""

    async def package(self, package_hash: str) -> PackageAnswer:
        """The files of the package with that hash."""


class Packages:
    """The packages of a runner.

    Args:
        folder: of this runner alone; it is made.
    """

    def __init__(self, folder: Path, source: Source) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder, self._source = folder, source
        self._fetching: dict[str, asyncio.Lock] = {}
        remove_all([*folder.glob("new-*"), *folder.glob("old-*")])  # what a runner was unpacking or removing when it ended

    async def folder(self, wanted: str, entry: str, kind: str) -> Path:
        """The folder of a package.

        Errors: ``PackageBroken``, and what the source raises.
        """
        matched = _HASH.fullmatch(wanted)
        if matched is None:
            raise PackageBroken(f"{wanted!r} is no hash of a package")
        place = self._folder / matched[1]
        async with self._fetching.setdefault(wanted, asyncio.Lock()):
            if not place.is_dir():
                answer = await self._source.package(wanted)
                await asyncio.to_thread(_unpack, answer, wanted, entry, kind, place)
        return place

    def set_aside(self, kept: Collection[str]) -> list[Path]:
        """Takes away the packages whose names, their hashes without ``sha256:``, are not among these.

        They are there no longer when this returns; ``remove_all`` removes what it gives. That includes what is still there of
        an earlier call.
        """
        return set_aside(self._folder, kept)


def set_aside(folder: Path, kept: Collection[str]) -> list[Path]:
    """Renames everything else in a folder at once, so that it is not found while it is being removed.

    What stands behind the first dot of a name does not count. What was renamed before and is still there is given again.
    """
    gone = list(folder.glob("old-*"))
    for place in folder.iterdir():
        if place.name.partition(".")[0] not in kept and not place.name.startswith(("new-", "old-")):
            gone.append(place.rename(place.with_name(f"old-{secrets.token_hex(8)}.{place.name}")))
    return gone


def remove_all(places: Iterable[Path]) -> None:
    """Removes folders, whatever their modes. Raises ``OSError`` where one could not be removed, behind all others."""
    failed: OSError | None = None
    for place in places:
        try:
            _remove(place)
        except OSError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _unpack(answer: PackageAnswer, wanted: str, entry: str, kind: str, place: Path) -> None:
    try:
        files = [(file.path, file.encoding, base64.b64decode(file.content, validate=True)) for file in answer.files]
    except binascii.Error:
        raise PackageBroken("a file of the package is no base64") from None
    found = package_hash(files, entry, kind)
    if found != wanted:
        raise PackageBroken(f"the package has the hash {found}, not {wanted}")
    made = place.with_name(f"new-{secrets.token_hex(8)}")
    made.mkdir(mode=0o755)
    try:
        for path, _, content in files:
            _write(made, path, content)
        for folder, _, _ in os.walk(made, topdown=False):
            os.chmod(folder, 0o555)
        made.rename(place)
    except BaseException:
        _remove(made)
        raise


def _write(folder: Path, path: str, content: bytes) -> None:
    parts = path.split("/")
    if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise PackageBroken(f"the package has a file with the path {path!r}")
    file = folder.joinpath(*parts)
    try:
        file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444)
    except (FileExistsError, NotADirectoryError) as error:
        raise PackageBroken(f"two files of the package have the path {path!r}: {error}") from None
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
        os.fchmod(opened.fileno(), 0o444)


def _remove(folder: Path) -> None:
    for path, _, _ in os.walk(folder):
        os.chmod(path, 0o700)
    shutil.rmtree(folder)
