"""Extracts the programs of a git revision into a folder."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile

from language.cli.arguments import UsageError, clean
from language.runtime.modules import extensions


def extracted(revision: str, path: str, folder: str, command: str) -> str:
    """Writes the programs of ``revision`` below ``folder`` and returns the path of ``path`` in there.

    ``path`` is relative to the root of the repository, or to the working directory if it begins with ``./`` or ``../``. Raises
    ``UsageError`` of ``command`` for a revision or a path that does not exist.
    """
    if revision.startswith("-"):
        raise UsageError(command, f"'{clean(revision)}' is not a git revision", usage=False)
    root = _git(["rev-parse", "--show-toplevel"], ".", revision, command).decode("utf-8", "surrogateescape").removesuffix("\n")
    if path.startswith(("./", "../")):
        path = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
    commit = _git(["rev-parse", "--verify", "--quiet", revision + "^{commit}"], root, revision, command).decode().strip()
    archive = _git(["archive", "--format=tar", commit], root, revision, command)
    endings = extensions()
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            if member.isreg() and member.name.endswith(endings):
                content = files.extractfile(member)
                if content is not None:
                    _write(folder, member.name, content.read())
    target = os.path.join(folder, os.path.normpath(path))
    if os.path.relpath(target, folder).startswith("..") or not os.path.exists(target):
        raise UsageError(command, f"no program '{clean(path)}' in the revision '{clean(revision)}'", usage=False)
    return target


def _write(folder: str, name: str, content: bytes) -> None:
    if os.path.isabs(name) or ".." in name.split("/"):
        return  # git does not create such names
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def _git(words: list[str], folder: str, revision: str, command: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise UsageError(command, f"cannot run git: {error.strerror}", usage=False) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0] or "unknown revision"
        raise UsageError(command, f"'{clean(revision)}': {said}", usage=False)
    return done.stdout
