"""What the service and a runner say to each other: records, and their form as JSON.

The service tells what it wants (``PollAnswer``), a runner what it sees (``ReportRequest``). Nothing is a command: each project
has a generation that grows with every change of what is wanted, and a report names the generation that it is about. A report of
an older generation changes nothing. Moments are whole milliseconds since 1970-01-01 in UTC.

========================================  =========================================  =======================
request                                   body                                       answer
========================================  =========================================  =======================
``POST /runner/v1/poll``                  ``PollRequest``                            ``PollAnswer``
``POST /runner/v1/report``                ``ReportRequest``                          ``ReportAnswer``
``GET /runner/v1/packages/{hash}``                                                   ``PackageAnswer``
========================================  =========================================  =======================
"""

from __future__ import annotations

import hashlib
import json
import types
import typing
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

PREFIX = "/runner/v1"
#: A poll is answered after this many seconds at the latest, whatever it asks for.
LONGEST_WAIT = 30
#: Characters of a run's output that are kept.
OUTPUT_LIMIT = 64 * 1024

#: The cookies of the dashboard: its session, behind TLS and without, and the language of its pages. The way in to programs
#: keeps them back in both directions.
SESSION_COOKIES = ("__Host-platform-session", "platform-session")
LANGUAGE_COOKIE = "platform-language"

#: What the service wants of a project.
Desired = Literal["up", "down", "erased"]
#: What a runner sees of a project.
#:
#: ``starting``: the program is being started, or started again after an exit. ``running``: it serves (web) or works (worker).
#: ``ready``: a job is prepared and can run. ``paused`` and ``sleeping``: a web program was stopped because nobody asked for it.
#: ``waking``: it is being started for a request. ``done``: a worker has ended by itself, without an error. ``failed``: it did
#: not start, or crashed more often than is tried again; ``detail`` says why. ``stopping``, ``stopped``: it is going down, is
#: down. ``erased``: container and volume are gone.
Phase = Literal[
    "starting", "running", "ready", "paused", "sleeping", "waking", "done", "failed", "stopping", "stopped", "erased"
]
#: Ends of a run, as a runner reports them.
RunStatus = Literal["running", "succeeded", "failed", "timed_out", "cancelled"]
#: How far a rehearsal is. ``ended``: the program came to its end by itself, whatever its exit code; ``timed_out``: its time was
#: up; ``failed``: it could not be started.
RehearsalStatus = Literal["running", "ended", "timed_out", "failed"]
#: Ends of a gate. ``expired``: it was not answered in time, or the program has ended.
GateOutcome = Literal["approved", "denied", "answered", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerState:
    """Who polls.

    Attributes:
        id: the runner that the token was made for.
        instance: made once for the folder that this runner keeps its state in. Two folders with one id: the second is refused.
        engines: the engines that answer, the one in use first.
        isolation: each protection by name, and whether it is enforced. ``sandbox`` false: programs are not kept apart from the
            machine, and only projects of administrators are placed here.
        capacity_mb: memory for programs in all.
        free_mb: what of it is not promised to a program.
    """

    id: str
    instance: str
    host: str = ""
    version: str = ""
    engines: tuple[str, ...] = ()
    isolation: Mapping[str, bool] = field(default_factory=dict)
    capacity_mb: int = 0
    free_mb: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PollRequest:
    """Asks for what changed.

    Attributes:
        cursor: that of the answer before; ``""`` after a start, for everything.
        wait: seconds to wait for a change.
    """

    runner: RunnerState
    cursor: str = ""
    wait: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploySpec:
    """The version that is wanted.

    Attributes:
        ceiling: what the program may hold, as ``--cap-set`` takes it.
        engine: the version of the interpreter that it went live with, ``""`` before that.
        variables: the environment but for its secrets.
        timeout_minutes: how long a run of a job may take.
        has_cron, has_agents, writes_data: what the program was found to do; where one of them holds, an old and a new program
            must not run side by side.
    """

    id: str
    number: int
    package_hash: str
    entry: str
    kind: Literal["web", "worker", "job"]
    ceiling: str
    engine: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_minutes: int = 15
    has_cron: bool = False
    has_agents: bool = False
    writes_data: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the plan of the account and the project's settings allow.

    Attributes:
        sleep_after: minutes without a request after which a web program sleeps; 0 is never.
        always_sleeps: whether it sleeps although it has cron jobs or agents.
        private_addresses: whether a literal grant opens private addresses.
    """

    memory_mb: int = 256
    disk_mb: int = 512
    sleep_after: int = 10
    always_sleeps: bool = True
    private_addresses: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSpec:
    """What is wanted of one project.

    Attributes:
        deploy: ``None`` unless it is wanted ``up``.
        port: the port of a web project where projects are told apart by ports.
        url: where the project is reached, ``""`` unless it is a web project.
        approvals: the page of the dashboard where people decide the project's gates, ``""`` where there is none.
    """

    project: str
    generation: int
    desired: Desired
    slug: str
    name: str
    kind: Literal["web", "worker", "job"]
    url: str = ""
    approvals: str = ""
    port: int | None = None
    limits: Limits = field(default_factory=Limits)
    deploy: DeploySpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One run of a job that is wanted, or not any more.

    Attributes:
        attempt: the fence: results of the newest attempt alone are taken. One pair of id and attempt is started once.
        deploy: the version to run.
        cancel: whether it is to be ended, or never started.
    """

    id: str
    project: str
    deploy: str
    attempt: int
    timeout_minutes: int = 15
    cancel: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSpec:
    """A gate that was decided. The program is told, then ``GateClosed`` with ``delivered`` is reported.

    Attributes:
        gate: the id inside the program.
        decision: of an ``approve`` or ``confirm``.
        value: of an ``ask``.
    """

    id: str
    project: str
    gate: str
    decision: bool | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalSpec:
    """A version that is to be started once, with a ceiling of ``stdout,time``, to see what it tries.

    It can be begun again by a runner that was killed meanwhile: nothing comes of it.

    Attributes:
        kind: a job is run; a service is started, and ends at the latest when its time is up.
        seconds: how long it may take.
    """

    id: str
    project: str
    package_hash: str
    entry: str
    kind: Literal["web", "worker", "job"]
    seconds: int = 60
    memory_mb: int = 256
    disk_mb: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PollAnswer:
    """What changed since the cursor: each project, run and decision in its present state. Known ones may be repeated."""

    cursor: str
    projects: tuple[ProjectSpec, ...] = ()
    runs: tuple[RunSpec, ...] = ()
    decisions: tuple[DecisionSpec, ...] = ()
    rehearsals: tuple[RehearsalSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReport:
    """What is seen of a project.

    Attributes:
        engine: the version of the interpreter that runs it.
    """

    type: ClassVar[str] = "phase"
    project: str
    generation: int
    phase: Phase
    detail: str = ""
    engine: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The state of a run. Each report is complete in itself.

    Attributes:
        output: the end of all output so far, at most ``OUTPUT_LIMIT`` characters.
        exit_code: ``None`` while it runs and for one that was ended from outside.
    """

    type: ClassVar[str] = "run"
    project: str
    run: str
    attempt: int
    status: RunStatus
    output: str = ""
    exit_code: int | None = None
    deploy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Something that a rehearsed program was refused.

    Attributes:
        capability: one that it has not, or ``approve``, ``confirm`` or ``ask`` for a gate, which was denied.
        scope: of a gate its question.
        file, line: where it was tried first, where that is known.
        source: what asked for it, such as ``http_get()``.
        count: how often.
    """

    capability: str
    scope: str | None = None
    file: str = ""
    line: int | None = None
    source: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalReport:
    """How a rehearsal goes.

    Attributes:
        output: the end of all output, at most ``OUTPUT_LIMIT`` characters.
        exit_code: ``None`` while it runs, and for one that was ended from outside.
        tried: what was refused, in the order of the first attempts.
        more: how many attempts besides those are not in ``tried``.
    """

    type: ClassVar[str] = "rehearsal"
    project: str
    rehearsal: str
    status: RehearsalStatus
    detail: str = ""
    output: str = ""
    exit_code: int | None = None
    tried: tuple[Tried, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOpened:
    """A program waits for a person. Reported again after each reconnect while it waits; its token stays with the runner.

    Attributes:
        left_ms: milliseconds that are left when the report is sent: the clocks of two machines differ.
    """

    type: ClassVar[str] = "gate_opened"
    project: str
    gate: str
    kind: Literal["approve", "confirm", "ask"]
    message: str
    left_ms: int
    options: tuple[str, ...] | None = None
    deploy: str | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateClosed:
    """A gate has ended.

    Attributes:
        channel: ``api`` for a decision that came with a poll; ``link``, ``program`` or another word for one that did not;
            ``deadline`` and ``exit`` where nobody decided.
        delivered: whether the program was told what the outcome says. False with ``api``: the decision came too late.
    """

    type: ClassVar[str] = "gate_closed"
    project: str
    gate: str
    outcome: GateOutcome
    channel: str
    value: str | None = None
    delivered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a project takes at the moment.

    Attributes:
        requests: since the program started.
        last_request_at: ``None`` before the first.
    """

    type: ClassVar[str] = "figures"
    project: str
    memory_mb: int = 0
    cpu_seconds: float = 0.0
    disk_mb: int = 0
    requests: int = 0
    last_request_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line that a program printed (``out``, ``err``), or that the runner says about it (``system``)."""

    type: ClassVar[str] = "log"
    project: str
    at: int
    line: str
    stream: Literal["out", "err", "system"] = "out"
    run: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """A capability check.

    Attributes:
        ts: Unix seconds.
        witness: ``program``, or ``runner`` for a connection that the runner made or refused itself.
        count: how often in a row.
    """

    type: ClassVar[str] = "audit"
    project: str
    ts: float
    capability: str
    granted: bool
    scope: str | None = None
    origin: str | None = None
    why: str | None = None
    deploy: str | None = None
    witness: Literal["program", "runner"] = "program"
    count: int = 1


StateItem = PhaseReport | RunReport | RehearsalReport | GateOpened | GateClosed | Figures
RecordItem = LogLine | AuditRecord
Item = StateItem | RecordItem
ITEMS: Mapping[str, type[Any]] = {
    item.type: item for item in (PhaseReport, RunReport, RehearsalReport, GateOpened, GateClosed, Figures, LogLine, AuditRecord)
}
#: The kinds of items that go into the stream of records; all others belong to a stream of state. A stream holds one sort alone.
RECORDS = frozenset({LogLine.type, AuditRecord.type})


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Items of one stream in order.

    Attributes:
        stream: a name of the runner's choice.
        items: pairs of a sequence number and an item as JSON. The numbers of a stream grow from 1; one may be left out. What
            has a number that was acknowledged before is passed over. Without items the answer is what is stored already.
    """

    stream: str
    items: tuple[tuple[int, Mapping[str, Any]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """What a runner has seen."""

    instance: str
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An item that is not taken, and never will be: it is acknowledged like the others."""

    stream: str
    sequence: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportAnswer:
    """What is stored.

    Attributes:
        acknowledged: the highest number of each stream named in the request; what is above is to be sent again.
    """

    acknowledged: Mapping[str, int]
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """A file of a package.

    Attributes:
        content: in base64.
        encoding: ``utf8`` or ``base64``: how the package writes it in JSON. The hash of the package depends on it.
    """

    path: str
    content: str
    encoding: str = "utf8"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageAnswer:
    """The files of the package with that hash."""

    hash: str
    files: tuple[FileContent, ...]


class ProtocolError(ValueError):
    """JSON that is not what the protocol says. The text names the place."""


R = TypeVar("R")


def to_json(record: Any) -> dict[str, Any]:
    """A record as what ``json.dumps`` takes. Items carry their ``type``."""
    plain = {each.name: _plain(getattr(record, each.name)) for each in fields(record)}
    kind = getattr(record, "type", None)
    return plain if kind is None else {"type": kind, **plain}


def dumps(record: Any) -> bytes:
    """A record as the bytes of a body."""
    return json.dumps(to_json(record), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def from_json(record: type[R], value: object, place: str = "") -> R:
    """The record in a JSON value. Unknown fields are ignored, so that either side may be newer.

    Args:
        place: where the value stands, for the text of an error.

    Errors: ``ProtocolError`` for a field that is missing or of another type.
    """
    if not isinstance(value, dict):
        raise ProtocolError(f"{place or 'the body'} must be an object")
    given: dict[str, Any] = {}
    hints = _hints(typing.cast("Hashable", record))
    for each in fields(record):  # type: ignore[arg-type]
        where = f"{place}.{each.name}" if place else each.name
        if each.name in value:
            given[each.name] = _read(hints[each.name], value[each.name], where)
    try:
        return record(**given)
    except TypeError:
        missing = [each.name for each in fields(record) if each.name not in given and _is_required(each)]  # type: ignore[arg-type]
        raise ProtocolError(f"{place + '.' if place else ''}{missing[0]} is missing") from None


def loads(record: type[R], body: bytes) -> R:
    """The record in the bytes of a body.

    Errors: ``ProtocolError``.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise ProtocolError("the body is not JSON") from None
    return from_json(record, value)


def item_from_json(value: Mapping[str, Any]) -> Any:
    """The item of a batch.

    Errors: ``ProtocolError`` for an unknown ``type`` and for fields that do not fit.
    """
    kind = value.get("type")
    record = ITEMS.get(kind) if isinstance(kind, str) else None
    if record is None:
        raise ProtocolError(f"type must be one of {', '.join(ITEMS)}, not {kind!r}")
    return from_json(record, dict(value))


def package_hash(files: Iterable[tuple[str, str, bytes]], entry: str, kind: str) -> str:
    """The hash of a package: ``sha256:`` and the SHA-256 of its canonical text in hex.

    The canonical text is JSON lines with sorted keys and no blanks: ``{"entry", "kind"}``, then for each file, by path,
    ``{"encoding", "path", "sha256"}`` where the last is that of the content.

    Args:
        files: of each its path, encoding and content.
    """
    lines: list[dict[str, str]] = [{"entry": entry, "kind": kind}]
    lines += [
        {"path": path, "encoding": encoding, "sha256": hashlib.sha256(content).hexdigest()}
        for path, encoding, content in sorted(files)
    ]
    text = "".join(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n" for line in lines)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def batch(stream: str, first: int, items: Iterator[Item] | tuple[Item, ...] | list[Item]) -> Batch:
    """A batch of items with the numbers from ``first`` on."""
    return Batch(stream=stream, items=tuple((first + at, to_json(item)) for at, item in enumerate(items)))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return to_json(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value


@cache
def _hints(record: Any) -> dict[str, Any]:
    return typing.get_type_hints(record)


def _is_required(each: Any) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _read(hint: Any, value: object, place: str) -> Any:
    origin = get_origin(hint)
    if hint is Any:
        return value
    if origin is Literal:
        if isinstance(value, str) and value in get_args(hint):
            return value
        raise ProtocolError(f"{place} must be one of {', '.join(get_args(hint))}")
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        [inner] = [each for each in get_args(hint) if each is not type(None)]
        return _read(inner, value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise ProtocolError(f"{place} must be a list")
        inner = get_args(hint)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_read(inner[0], each, f"{place}[{at}]") for at, each in enumerate(value))
        if len(value) != len(inner):
            raise ProtocolError(f"{place} must have {len(inner)} parts")
        return tuple(_read(each, part, f"{place}[{at}]") for at, (each, part) in enumerate(zip(inner, value)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise ProtocolError(f"{place} must be an object")
        return {key: _read(get_args(hint)[1], each, f"{place}.{key}") for key, each in value.items()}
    if is_dataclass(hint):
        return from_json(typing.cast("type[Any]", hint), value, place)
    wanted = (int, float) if hint is float else (hint,)
    if not isinstance(value, wanted) or (isinstance(value, bool) and hint is not bool):
        raise ProtocolError(f"{place} must be {_NAMES[hint]}")
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        raise ProtocolError(f"{place} is out of range")
    if isinstance(value, float) and value - value != 0:
        raise ProtocolError(f"{place} must be a finite number")
    return value


_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
