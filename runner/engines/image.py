"""The image that containers run: a slim Python, the language and its dependencies.

It is built from ``runner/image/Dockerfile`` where it is missing or made from other files. The files come from the runner's own
environment, so the Python of the base must be of the runner's version.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import httpx

from runner.engines import EngineError
from runner.engines.docker_api import DockerFault, blocking_client, checked
from runner.engines.interpreter import PACKAGES

FOLDER = Path(__file__).parent.parent / "image"
#: The distribution that is installed inside, with what it uses where it is there: drivers of databases.
DISTRIBUTION, EXTRAS = "ceiling-lang", ("postgres", "mysql", "redis")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
#: Images with a Python of that version, the first one found is taken; the last is asked of the registry.
BASES = (f"lang-base:{PYTHON}", f"python:{PYTHON}-slim")
CONTENT = "lang.content"
#: Seconds for a registry, and for building.
PULL_SECONDS, BUILD_SECONDS = 300.0, 600.0
#: Bytes of a file that are read at once.
PIECE = 64 * 1024
_NAME, _EXTRA = re.compile(r"[A-Za-z0-9._-]+"), re.compile(r"extra\s*==\s*['\"]([^'\"]+)")


def image_name(version: str = "") -> str:
    """``lang-runtime:<version>``, of the runner's own version where none is given. Raises ``EngineError``."""
    return f"lang-runtime:{version or own_version()}"


def own_version() -> str:
    """The version of the language that is installed here. Raises ``EngineError``."""
    try:
        return distribution(DISTRIBUTION).version
    except PackageNotFoundError:
        raise EngineError(f"the package {DISTRIBUTION} is not installed: no image can be made of it") from None


def ensure_image(host: str) -> str:
    """The name of the image, built where it is missing. Blocks.

    Raises:
        EngineError: there is no base, or it could not be built.
    """
    digest = _digest()
    name = image_name()
    with blocking_client(host) as client:
        try:
            there = _labels(client, name)
            if there is not None and there.get(CONTENT) == digest:
                return name
            _build(client, name, _base(client), digest)
        except httpx.HTTPError as error:
            raise EngineError(f"the Docker daemon does not answer: {error or type(error).__name__}") from error
    return name


def _labels(client: httpx.Client, name: str) -> dict[str, str] | None:
    answer = client.get(f"/images/{name}/json")
    if answer.status_code == 404:
        return None
    return checked(answer).json()["Config"].get("Labels") or {}


def _base(client: httpx.Client) -> str:
    for name in BASES:
        if _labels(client, name) is not None:
            return name
    wanted = BASES[-1]
    repository, _, tag = wanted.partition(":")
    try:
        query = {"fromImage": repository, "tag": tag}
        with client.stream("POST", "/images/create", params=query, timeout=PULL_SECONDS) as answer:
            answer.read()
            checked(answer)
    except (httpx.HTTPError, DockerFault) as error:
        raise EngineError(
            f"no image with Python {PYTHON} can be had: {wanted} is not here, and the registry says: {error}; "
            f"{FOLDER / 'base'} {PYTHON} makes one of Debian's packages"
        ) from error
    if _labels(client, wanted) is None:
        raise EngineError(f"the registry did not hand out {wanted}")
    return wanted


def _build(client: httpx.Client, name: str, base: str, digest: str) -> None:
    query = {
        "t": name,
        "buildargs": json.dumps({"BASE": base, "PYTHON": PYTHON}),
        "labels": json.dumps({CONTENT: digest}),
        "networkmode": "none",
        "rm": "1",
        "forcerm": "1",
    }
    headers = {"Content-Type": "application/x-tar"}
    answer = client.post("/build", params=query, content=_content(), headers=headers, timeout=BUILD_SECONDS)
    checked(answer)
    for line in answer.text.splitlines():
        told = json.loads(line)
        if "error" in told:
            raise EngineError(f"the image {name} could not be built on {base}: {told['error']}")


def _digest() -> str:
    """What the image was made of, where it is labelled with this."""
    found = hashlib.sha256()
    for piece in _content():
        found.update(piece)
    return found.hexdigest()


def _content() -> Iterator[bytes]:
    """What the image is built from, as a tar, in pieces: it is as large as all else that a runner holds. The same files give
    the same bytes. Raises ``EngineError``."""
    for place, path in sorted([("Dockerfile", FOLDER / "Dockerfile"), *_files()]):
        with path.open("rb", buffering=0) as file:
            entry = tarfile.TarInfo(place)
            entry.size, entry.mode = os.fstat(file.fileno()).st_size, 0o644
            yield entry.tobuf()
            left = entry.size
            while left > 0:
                piece = file.read(min(left, PIECE))
                if not piece:
                    raise EngineError(f"{path} became shorter while it was read: is the platform being installed?")
                left -= len(piece)
                yield piece
            yield bytes(-entry.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _files() -> Iterator[tuple[str, Path]]:
    """Places below the folder that is copied into the image, and the files of this environment that go there."""
    for name in PACKAGES:
        found = find_spec(name)
        if found is None or not found.submodule_search_locations:
            raise EngineError(f"the package {name} is not installed")
        folder = Path(found.submodule_search_locations[0])
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"site/{name}/{path.relative_to(folder)}", path
    for installed in _distributions():
        for file in installed.files or ():
            path = Path(str(installed.locate_file(file)))
            if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
                yield f"site/{file}", path


def _distributions() -> list[Distribution]:
    """What the language depends on, as far as it is installed."""
    found: dict[str, Distribution] = {}
    pending: list[tuple[str, tuple[str, ...]]] = [(DISTRIBUTION, EXTRAS)]
    while pending:
        name, extras = pending.pop()
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue  # of another platform, or an extra that is not installed
        for text in installed.requires or ():
            named = _NAME.match(text)
            wanted = _EXTRA.findall(text)
            if named is None or (wanted and not set(wanted) & set(extras)):
                continue
            needed = named.group().lower()
            if needed not in found and needed != DISTRIBUTION:
                bracket = re.match(r"\[([^\]]*)\]", text[named.end() :])
                pending.append((needed, tuple(part.strip() for part in bracket.group(1).split(",")) if bracket else ()))
        if name != DISTRIBUTION:
            found[name] = installed
    return list(found.values())
