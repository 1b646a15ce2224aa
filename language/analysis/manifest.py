"""The manifest of a program: what it declares, reads, asks, serves and schedules, as far as its source says so."""

from __future__ import annotations

from dataclasses import dataclass, field

from language.capabilities import INERT_NAMES, Capability, Ceiling
from language.errors import placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from typing import Any

    from language.errors import ErrorKind


@dataclass(frozen=True, slots=True)
class Problem:
    """An error or a warning with its place.

    ``file`` is the name of the file as it was given. ``line`` and ``column`` count from 1, columns in code points; both are 0
    where the problem has no place. ``message`` is one sentence without the place. ``kind`` is the kind of the error
    (:class:`language.LanguageError`), for a warning the text ``warning``. ``code`` names the class of mistake, as in
    ``E0201``. ``end_line`` and ``end_column`` are where the faulty text ends, the column exclusive; both are 0 where that is
    not known. ``help`` says how to put it right; it may be empty.
    """

    file: str
    line: int
    column: int
    message: str
    kind: ErrorKind | str
    code: str = ""
    end_line: int = 0
    end_column: int = 0
    help: str = ""

    def __str__(self) -> str:
        """``Error: file:line:col: message``; ``warning`` stands for ``Error`` where it is one."""
        category = "warning" if self.kind == "warning" else "Error"
        place = f"{placed(self.file, self.line, self.column)}: " if self.line else ""
        return f"{category}: {place}{self.message}"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One ``require`` line.

    ``capability`` is what it declares, in canonical form. ``file`` and ``line`` (from 1) say where it stands. ``module`` says
    whether it stands in an imported module and not in the entry file; ``imported_by`` is then the file that imports the module
    first. ``covered`` is false for a line of a module that no line of the entry file covers: such a line grants nothing.
    """

    capability: Capability
    file: str
    line: int
    module: bool
    imported_by: str | None
    covered: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """A variable or a secret that the program reads by its literal name: ``env("PORT")``, ``secret("API_KEY", "none")``.

    ``optional`` says whether the call gives a default. ``line`` and ``column`` count from 1.
    """

    name: str
    optional: bool
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class DeclaredRoute:
    """A route of the ``serve`` block. ``path`` is as written, with the prefix of its ``mount`` clause; ``host`` is the name of
    its ``host`` block, the empty text outside of one. ``line`` and ``column`` count from 1.
    """

    method: str
    path: str
    host: str
    requires_auth: bool
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class DeclaredGate:
    """A place where the program asks a person. ``type`` is ``approve``, ``confirm`` or ``ask``; ``message`` is the question, or
    ``None`` where it is computed. ``line`` and ``column`` count from 1.
    """

    type: str
    message: str | None
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class DeclaredJob:
    """A job that the program schedules with ``cron_every`` or ``cron_after``.

    ``schedule`` is the cron expression, or ``every 300s`` or ``after 60s`` (seconds as written), or ``None`` where it is
    computed. ``task`` is the name of the task, or ``None`` where that is computed. ``line`` and ``column`` count from 1.
    """

    schedule: str | None
    task: str | None
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A tool that the program offers to a model: an entry, written out as a map with ``run``, of the tools of ``tool_loop`` or
    of the ``server`` of ``mcp_reply``.

    ``description`` is ``None`` where it is computed. ``schema`` is the JSON Schema of the arguments, an object, or ``None``
    where its ``params`` are computed or not valid. ``task`` is the name of the task that runs, ``None`` for a lambda.
    ``capabilities`` are the names of those that the task can come to use: which its own leading ``require`` lines declare, and
    which a builtin needs that it, or a task that it can get to, names. ``line`` and ``column`` count from 1.
    """

    name: str
    description: str | None
    schema: Mapping[str, Any] | None = field(hash=False)
    capabilities: tuple[str, ...]
    task: str | None
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one program declares and does, as far as its source says so; made by :func:`language.inspect`.

    ``entry`` is the name of the entry file. ``kind`` is ``web`` for a program with a ``serve`` block, else ``worker``; that a
    program is a job, which runs and ends, is decided by whoever deploys it. ``port`` is the literal port of the ``serve``
    block, ``None`` without one.

    ``errors`` are what stops the program before its first statement, and beside such errors everything else that ``lang check``
    calls an error. Where there are any, everything below them is empty. ``faults`` are what ``lang check`` calls errors of a
    program that can be started: what surely fails where it is reached, which may be never. ``warnings`` are what it warns of.

    ``files`` are the entry file and the modules it imports, ``templates`` the pages it renders by literal paths.
    ``requires`` are the ``require`` lines, those of the entry file first. ``secrets`` and ``env`` are what is read by literal
    names. ``routes``, ``gates``, ``cron``, ``agents`` (names) and ``tools`` are what is declared. Tests and tasks of modules
    that the program never names are left out of all of these but ``requires``.
    """

    entry: str
    kind: str
    port: int | None
    errors: tuple[Problem, ...]
    faults: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    files: tuple[str, ...]
    templates: tuple[str, ...]
    requires: tuple[Requirement, ...]
    secrets: tuple[Reading, ...]
    env: tuple[Reading, ...]
    routes: tuple[DeclaredRoute, ...]
    gates: tuple[DeclaredGate, ...]
    cron: tuple[DeclaredJob, ...]
    agents: tuple[str, ...]
    tools: tuple[DeclaredTool, ...] = ()

    @property
    def grants(self) -> tuple[Capability, ...]:
        """What the program can come to hold: the capabilities that its entry file declares, each once."""
        found = {(line.capability.name, line.capability.scope): line.capability for line in self.requires if not line.module}
        return tuple(found.values())

    @property
    def ceiling(self) -> Ceiling:
        """The narrowest ceiling under which every ``require`` line of the entry file is granted, ``stdout`` and ``time``
        included. ``str`` of it is what ``--cap-set`` takes.
        """
        always = (Capability("stdout", None), Capability("time", None))
        own = [grant for grant in self.grants if grant.name not in INERT_NAMES and str(grant) not in ("stdout", "time")]
        return Ceiling((*own, *always))

    def missing_secrets(self, stored: Container[str] = (), listed: Iterable[str] = ()) -> tuple[str, ...]:
        """The names of the secrets that the program needs and that have no value, sorted.

        ``stored`` are the names that have one. Needed are those read by a literal name without a default, those that a
        ``require`` line names exactly unless every reading of that name gives a default, and ``listed``, those that somebody
        else says are needed.
        """
        return _missing("secret", self.secrets, self.grants, stored, listed)

    def missing_env(self, stored: Container[str] = (), listed: Iterable[str] = ()) -> tuple[str, ...]:
        """The names of the variables that the program needs and that have no value, by the rules of
        :meth:`missing_secrets`, sorted.
        """
        return _missing("env", self.env, self.grants, stored, listed)

    def declares_secret(self, name: str) -> bool:
        """Whether the program may ask for the secret of that name: it reads it by name, or a ``require`` line covers it."""
        request = Capability("secret", name)
        return any(reading.name == name for reading in self.secrets) or any(grant.covers(request) for grant in self.grants)


def _missing(
    capability: str,
    readings: tuple[Reading, ...],
    grants: tuple[Capability, ...],
    stored: Container[str],
    listed: Iterable[str],
) -> tuple[str, ...]:
    needed = {reading.name for reading in readings if not reading.optional}
    read = {reading.name for reading in readings}
    exact = {grant.scope for grant in grants if grant.name == capability and grant.scope is not None}
    needed |= {scope for scope in exact if not any(mark in scope for mark in "*?") and scope not in read}
    return tuple(sorted(name for name in {*needed, *listed} if name not in stored))
