"""A package: the files of a program, where it begins, what kind of project it is, and what the analysis found in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from language import Capability

KINDS = ("web", "worker", "job")


@dataclass(frozen=True, slots=True)
class PackageFile:
    """One file.

    Attributes:
        path: relative, with ``/``, in the normal form NFC.
        encoding: ``utf8`` or ``base64``: how its content is written in JSON.
    """

    path: str
    content: bytes
    encoding: str = "utf8"


@dataclass(frozen=True, slots=True)
class RequireLine:
    """One ``require`` line, in canonical form. ``line`` counts from 1."""

    capability: str
    scope: str | None
    line: int
    file: str


@dataclass(frozen=True, slots=True)
class FoundProblem:
    """What ``lang check`` says of a program: a fault or a warning, with its place.

    Attributes:
        severity: ``error`` for what surely fails where it is reached, or ``warning``.
        line: from 1, as ``column``; both are 0 where it has no place.
        end_line: where the faulty text ends, ``end_column`` exclusive; both are 0 where that is not known.
        code: the class of mistake, as in ``E0201``.
        help: how to put it right, or empty.
    """

    severity: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    message: str
    help: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known of a program without running it.

    Attributes:
        ceiling: all that the program declares, ``stdout`` and ``time`` included, as ``--cap-set`` takes it.
        requires: the ``require`` lines, those of the entry file first.
        secrets: the names of the secrets that the program needs, sorted: read by name without a default, required by
            their exact name, or listed in the manifest.
        read_secrets: the names that it reads literally, with or without a default.
        manifest_secrets: what ``[secrets]`` of ``lang.toml`` lists, with what each is for.
        env: the variables of ``[env]`` of ``lang.toml`` with their defaults.
        port: the literal port of its ``serve`` block.
        writes_data: whether it may write files, a database or a memory.
        memory_mb: what ``[resources]`` asks for.
        timeout_minutes: how long a run may take, of ``[resources]``.
        repo: the repository that ``[source]`` names, and ``ref`` in it.
        problems: what ``lang check`` says of the program, the faults first; not all of very many.
    """

    entry: str
    kind: str
    ceiling: str
    requires: tuple[RequireLine, ...] = ()
    secrets: tuple[str, ...] = ()
    read_secrets: tuple[str, ...] = ()
    manifest_secrets: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    port: int | None = None
    has_cron: bool = False
    has_agents: bool = False
    writes_data: bool = False
    memory_mb: int | None = None
    timeout_minutes: int | None = None
    name: str = ""
    version: str = ""
    tagline: str = ""
    tagline_es: str = ""
    tagline_pt: str = ""
    repo: str = ""
    ref: str = ""
    problems: tuple[FoundProblem, ...] = ()

    def declares_secret(self, name: str) -> bool:
        """Whether a name is one of a secret: listed, read by that name, or covered by a ``require secret`` with a scope."""
        if name in self.secrets or name in self.read_secrets or name in self.manifest_secrets:
            return True
        scopes = (line.scope for line in self.requires if line.capability == "secret" and line.scope is not None)
        return any(Capability("secret", scope).covers(Capability("secret", name)) for scope in scopes)

    def to_json(self) -> dict[str, Any]:
        """As it is stored and as it comes out of the analysis."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Inspection:
        """The inspection of ``to_json``. Fields that are not known here, or not written there, are passed over."""
        return msgspec.convert(record, cls)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a package without its content. ``size`` is in bytes."""

    path: str
    encoding: str
    size: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A stored package without the contents of its files."""

    entry: str
    kind: str
    hash: str
    files: tuple[ListedFile, ...]
    inspection: Inspection


@dataclass(frozen=True, slots=True)
class Package:
    """A package as it is stored; its files are sorted by path."""

    entry: str
    kind: str
    files: tuple[PackageFile, ...]
    inspection: Inspection

    @property
    def hash(self) -> str:
        """``sha256:`` and hex digits, as ``package_hash`` gives it."""
        return package_hash(self.files, self.entry, self.kind)


def package_hash(files: Iterable[PackageFile], entry: str, kind: str) -> str:
    """The hash of a package, by which a runner checks what it gets."""
    # Loaded here: the process that analyses a program needs none of it, and starts a tenth sooner.
    from runner.protocol import package_hash as hash_of_files

    return hash_of_files(((file.path, file.encoding, file.content) for file in files), entry, kind)
