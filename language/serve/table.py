"""Builds a checked table from the rows of a ``serve`` block. All errors in the block are raised when it runs."""

from __future__ import annotations

from typing import NamedTuple

from language.errors import RuntimeFault
from language.serve.proxy_target import parse_target
from language.serve.routes import Route, RouteTable
from language.values import is_callable, is_map, type_of
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WINDOWS = {"second": 1, "minute": 60, "hour": 3600}
DEFAULT_STREAMS = 100


class RouteGroup:
    """The value of ``export routes NAME``: the routes of a module, which a server can mount."""

    __slots__ = ("file", "name", "rows")

    language_type = "routes"

    def __init__(self, name: str, rows: tuple[Any, ...], file: str) -> None:
        self.name = name
        self.rows = rows
        self.file = file

    def display(self) -> str:
        return f"<routes {self.name}>"


class StaticClause(NamedTuple):
    """A ``static`` clause as declared, with its place."""

    prefix: str
    folder: str
    cache: str | None
    fallback: str | None
    at: tuple[int, int]


class _FaultAt:
    """Adds a place to errors without one."""

    def __init__(self, file: str, at: tuple[int, int]) -> None:
        self._file = file
        self._at = at

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, RuntimeFault) and not error.line:
            error.file = self._file
            error.line, error.column = self._at


class HostTable:
    """The routes and the auth task of one virtual host; ``name`` is empty for the default host.

    ``statics`` are the folders as declared. ``auth`` is the index of the auth task among the functions, ``None`` without one.
    ``auth_count`` is the number of its parameters, 0 for a task that is not defined yet.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.declared: list[Route] = []
        self.statics: list[StaticClause] = []
        self.has_auth = False
        self.auth: int | None = None
        self.auth_count = 0
        self.certificate: tuple[str, str] | None = None
        self.table = RouteTable(())

    def serves(self, host: str) -> bool:
        """Whether the table is for this host name (lower case, no port)."""
        if self.name.startswith("*."):
            return host == self.name[2:] or host.endswith(self.name[1:])
        return host == self.name


class ServeTable:
    """One ``serve`` block, read and checked. ``functions`` are those that requests may call, in one list that is copied as a
    whole.
    """

    def __init__(self, rows: tuple[Any, ...], file: str = "") -> None:
        self._file = file
        self.functions: list[Any] = []
        self.default = HostTable("")
        self.hosts: list[HostTable] = []
        self.errors: int | None = None
        self.max_body: Any = None
        self.has_max_body = False
        self.max_streams = DEFAULT_STREAMS
        self.rate: tuple[float, int] | None = None
        self.timeout = 0.0
        self.cors: str | None = None
        self.about: str | None = None
        self.api: list[str] = []
        self.version: str | None = None
        self.private = False
        self.docs = True
        self.bind: str | None = None
        self.domains: list[str] = []
        self.redirect_https = False
        self.tls: tuple[str, str] | None = None
        self.tls_auto: str | None = None
        self.has_tls_auto = False
        self.trusted: list[str] | None = None
        self._mounts: list[tuple[Any, str, tuple[int, int]]] = []
        for row in rows:
            self._row(row, self.default)
        for group, prefix, at in self._mounts:
            with self.fault_at(at):
                self._mount(group, prefix)
        for host in (self.default, *self.hosts):
            host.table = RouteTable(host.declared)

    @property
    def mounted(self) -> bool:
        """Whether the block mounts groups of routes."""
        return bool(self._mounts)

    def fault_at(self, at: tuple[int, int]) -> _FaultAt:
        """Errors raised inside of ``with table.fault_at(at)`` get that place."""
        return _FaultAt(self._file, at)

    def _row(self, row: tuple[Any, ...], host: HostTable) -> None:
        kind = row[0]
        if kind == "host":
            self._host(row)
            return
        with self.fault_at(row[1]):
            if kind == "route":
                host.declared.append(self._route(row, row[2]["path"]))
            elif kind == "mount":
                operands = dict(row[2])
                self._mounts.append((operands["mount"], display(operands.get("at", "/")), row[1]))
            elif kind == "static":
                self._static(dict(row[2]), host, row[1])
            else:
                _CLAUSES[kind](self, dict(row[2]), host)

    def _host(self, row: tuple[Any, ...]) -> None:
        name = row[2]
        if type(name) is not str or not name.strip("*."):
            with self.fault_at(row[1]):
                raise _fault(f'host must be a name like "api.example.com" or "*.example.com", got {display(name)}')
        host = HostTable(name.lower())
        self.hosts.append(host)
        for inner in row[3]:
            self._row(inner, host)

    def _route(self, row: tuple[Any, ...], path: str) -> Route:
        _, at, facts, function, amount, seconds, target = row
        route = Route(facts, at, path)
        if function is not None:
            route.handler = self._function(function)
        if facts["limited"] == "none":
            route.rate = ()
        elif facts["limited"] is not None:
            route.rate = _rate(amount, facts["limited"])
        if facts["timed"] is not None:
            route.timeout = 0.0 if facts["timed"] == "none" else _seconds(seconds)
        if route.kind == "proxy":
            route.target = parse_target(target, route.spec)
        return route

    def _function(self, function: Any) -> int:
        self.functions.append(function)
        return len(self.functions) - 1

    def _mount(self, group: Any, prefix: str) -> None:
        if not isinstance(group, RouteGroup):
            got = "the value has no routes" if is_map(group) else f"got {type_of(group)}"
            raise _fault(f"mount expects a routes group (a module's `export routes ...`), {got}")
        if not prefix.startswith("/"):
            raise _fault(f"mount prefix must start with '/', got '{prefix}'")
        base = prefix.rstrip("/")
        for row in group.rows:
            path = row[2]["path"]
            route = self._route(row, base if path == "/" and base else base + path)
            if route.kind in ("stream", "socket"):
                raise _fault(
                    f'route "{row[2]["method"]} {path}" of {group.name}: a {route.kind} route cannot be in a group yet: '
                    "declare it in the serve block"
                )
            if route.auth and not self.default.has_auth:
                raise _fault(
                    f"mounted route \"{route.spec}\" uses 'requires auth' but the 'serve' block declares no 'auth with <task>'"
                )
            self.default.declared.append(route)

    # ---- clauses --------------------------------------------------------------------------------------------------------

    def _auth(self, operands: dict[str, Any], host: HostTable) -> None:
        task = operands["with"]
        if getattr(getattr(task, "__code__", None), "co_name", "").startswith("·default"):
            try:
                task = task()  # a small function that reads the name
            except NameError:  # not defined yet: every client is refused
                host.has_auth, host.auth, host.auth_count = True, None, 0
                return
        host.has_auth = True
        host.auth_count = _parameters(task, "auth", (1, 2), "1 (token) or 2 (token, request) parameters")
        host.auth = self._function(task)

    def _errors(self, operands: dict[str, Any], host: HostTable) -> None:
        _parameters(operands["with"], "errors", (3,), "3 parameters (status, message, request)")
        self.errors = self._function(operands["with"])

    def _static(self, operands: dict[str, Any], host: HostTable, at: tuple[int, int]) -> None:
        values = {word: None if value is None else display(value) for word, value in operands.items()}
        prefix, folder = values.get("prefix") or "/", values["from"] or "."
        host.statics.append(StaticClause(prefix, folder, values.get("cache"), values.get("fallback"), at))

    def _limit(self, operands: dict[str, Any], host: HostTable) -> None:
        self.rate = _rate(operands["amount"], operands["window"]) if operands else None

    def _timeout(self, operands: dict[str, Any], host: HostTable) -> None:
        self.timeout = _seconds(operands["seconds"]) if operands else 0.0

    def _max_body(self, operands: dict[str, Any], host: HostTable) -> None:
        self.max_body, self.has_max_body = operands["max_body"], True

    def _max_streams(self, operands: dict[str, Any], host: HostTable) -> None:
        value = operands["max_streams"]
        if type(value) is not int:
            raise _fault(f"max_streams must be a whole number, got {display(value)}")
        self.max_streams = value if value > 0 else DEFAULT_STREAMS

    def _cors(self, operands: dict[str, Any], host: HostTable) -> None:
        origin = display(operands["cors"])
        if not origin or any(ord(c) < 0x20 or ord(c) == 0x7F for c in origin):
            raise _fault('cors must be one origin, for example "https://app.example.com", or "*"')
        self.cors = origin

    def _describe(self, operands: dict[str, Any], host: HostTable) -> None:
        if "about" in operands:
            self.about = display(operands["about"])
        if "version" in operands:
            self.version = display(operands["version"])
        if "api" in operands:
            items = operands["api"]
            self.api = [display(item) for item in items] if type(items) is list else [display(items)]

    def _private(self, operands: dict[str, Any], host: HostTable) -> None:
        self.private = True

    def _docs(self, operands: dict[str, Any], host: HostTable) -> None:
        self.docs = False

    def _tls(self, operands: dict[str, Any], host: HostTable) -> None:
        if "auto" in operands:
            self.has_tls_auto = True
            self.tls_auto = None if operands["auto"] is None else display(operands["auto"])
            return
        pair = display(operands["cert"]), display(operands["key"])
        if host.name:
            host.certificate = pair
        else:
            self.tls = pair

    def _domain(self, operands: dict[str, Any], host: HostTable) -> None:
        value = operands["domain"]
        self.domains = [display(item) for item in value] if type(value) is list else [display(value)]

    def _redirect(self, operands: dict[str, Any], host: HostTable) -> None:
        self.redirect_https = True

    def _bind(self, operands: dict[str, Any], host: HostTable) -> None:
        self.bind = display(operands["bind"])

    def _trust(self, operands: dict[str, Any], host: HostTable) -> None:
        value = operands["proxy"]
        self.trusted = [display(item) for item in value] if type(value) is list else [display(value)]


_CLAUSES: dict[str, Callable[[ServeTable, dict[str, Any], HostTable], None]] = {
    "auth": ServeTable._auth,
    "errors": ServeTable._errors,
    "rate_limit": ServeTable._limit,
    "timeout": ServeTable._timeout,
    "max_body": ServeTable._max_body,
    "max_streams": ServeTable._max_streams,
    "cors": ServeTable._cors,
    "describe": ServeTable._describe,
    "private": ServeTable._private,
    "docs": ServeTable._docs,
    "tls": ServeTable._tls,
    "domain": ServeTable._domain,
    "redirect": ServeTable._redirect,
    "bind": ServeTable._bind,
    "trust": ServeTable._trust,
}


def _fault(message: str) -> RuntimeFault:
    return RuntimeFault(message, code="E0702")


def _parameters(task: Any, role: str, counts: tuple[int, ...], expected: str) -> int:
    """The number of parameters of a task of the block. Raises ``RuntimeFault`` unless it is one of ``counts``."""
    if not is_callable(task):
        raise _fault(f"{role} task must be a task, got {type_of(task)}")
    declared = getattr(task, "builtin", None)
    if declared is not None:
        most = declared.most
        fitting = [count for count in counts if declared.required <= count and (most is None or count <= most)]
        if fitting:
            return fitting[-1]
        got = declared.required
    else:
        got = task.__code__.co_argcount
        if got in counts:
            return int(got)
    raise _fault(f"{role} task must take {expected}, got {got}")


def _rate(amount: Any, window: str) -> tuple[float, int]:
    number = amount if type(amount) in (int, float) else getattr(amount, "to_float", lambda: None)()
    if number is None or not number >= 1:
        raise _fault(f"rate_limit must be a number of requests of at least 1, got {display(amount)}")
    return float(number), WINDOWS[window]


def _seconds(value: Any) -> float:
    number = value if type(value) in (int, float) else getattr(value, "to_float", lambda: None)()
    if number is None or not 0 < number < float("inf"):
        raise _fault(f"timeout must be a positive number of seconds (or `none`), got {display(value)}")
    return float(number)
