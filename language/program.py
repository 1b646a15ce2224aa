"""The embedding API: a program as an object, results as plain dicts.

A program has the profile of the web build: it cannot access the process environment, files, sockets or processes.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from language.audit.records import Audit
from language.audit.uses import Uses
from language.capabilities import Ceiling
from language.code import Code
from language.errors import ExitProgram, InternalError, LanguageError, LimitExceeded, placed
from language.host import EmbeddedHost, Host, sleep_in_steps
from language.host.hook_calls import HookCalls, uncancellable_hooks
from language.models.budget import Usage
from language.models.hook import HookedModel
from language.release import __version__
from language.runtime.context import Context
from language.runtime.instance import Instance, Outcome
from language.runtime.limits import Limits, Meter, run_within
from language.runtime.modules import BundledSources, Sources
from language.runtime.operation import operation

if TYPE_CHECKING:
    from language.host.files import Files
    from language.host.http import Http
    from language.host.kv_hook import KvState
    from language.host.memory import MemoryStore
    from language.models.conversation import Model
    from language.serve.handler_mode import Prepared

#: The most worker threads of a program with a watchdog, which competes with all of them for the interpreter's lock (GIL).
MOST_WATCHED_WORKERS = 16

#: How many characters of source a program with a limit of ``steps`` may have, modules included: this many, and more for each
#: step. Reading and compiling that much takes about as long as executing the steps.
CHARACTERS_FREE = 65_536
CHARACTERS_PER_STEP = 10

HOOKS = ("http", "human", "kv", "llm", "log", "sleep")


class _HookedHost(EmbeddedHost):
    """A host that provides the hooks of an embedder."""

    def __init__(
        self, env: Mapping[str, str], hooks: Mapping[str, Any], files: Mapping[str, bytes] | None, usage: Usage
    ) -> None:
        super().__init__(env)
        self._llm_usage = usage
        hook = hooks.get("llm")
        self._llm = None if hook is None else HookedModel(hook)
        self._given = files
        self._log = hooks.get("log")
        self._sleep = hooks.get("sleep")
        self._kv = hooks.get("kv")
        self._http = hooks.get("http")

    def memory(self, name: str, program: str) -> MemoryStore:
        if self._kv is None:
            return super().memory(name, program)
        from language.host.kv_hook import HookedKv
        from language.host.kv_memory import KvMemory

        return KvMemory(HookedKv(self._kv), name, self.write_error_line)

    def shared_state(self) -> KvState | None:
        """The state of a program where the host stores it; ``None`` where the program's memory holds it."""
        if self._kv is None:
            return None
        from language.host.kv_hook import HookedKv, KvState

        return KvState(HookedKv(self._kv), self.write_error_line)

    @property
    def llm(self) -> Model | None:
        return self._llm

    @property
    def llm_usage(self) -> Usage:
        return self._llm_usage

    @property
    def http(self) -> Http | None:
        if self._http is None:
            return None
        from language.host.http_hook import HookedHttp

        return HookedHttp(self._http)

    @property
    def files(self) -> Files | None:
        if self._given is None:
            return None
        from language.host.files import GivenFiles

        return GivenFiles(self._given)

    def write_error_line(self, line: str) -> None:
        if self._log is not None:
            self._log(line)

    def sleep(self, seconds: float) -> None:
        if self._sleep is True:
            sleep_in_steps(seconds)
        elif self._sleep is not None:
            self._sleep(seconds)

    def append_audit_line(self, log: str, line: str) -> None:
        import json

        kv = self._kv
        put = kv.get("set") if isinstance(kv, Mapping) else getattr(kv, "set", None)
        if put is None:
            raise OSError("the host lends no kv hook")
        # Every line has its own key: two instances with one store never overwrite each other's lines.
        key = f"{log}:{self.random_bytes(16).hex()}"
        try:
            answer = put("audit", key, json.dumps(line))
        except Exception as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        if isinstance(answer, Mapping) and answer.get("error"):
            raise OSError(str(answer["error"]))


class Program:
    """One source with its options, parsed once.

    ``env`` replaces the environment. ``ceiling`` is ``sandbox`` or a ``--cap-set`` list (``None`` or empty: no ceiling).
    ``host`` is a dict or object of hooks (``log(line)``, ``sleep(secs)`` or ``True``, ``human(type, message, options,
    seconds)``, ...). ``limits`` are those of the manual. ``files`` maps paths to text or ``{"base64": text}``: the files
    that ``use`` may load and builtins may read. ``error_detail`` says whether the body of a 500 from :meth:`handle` names
    the cause: pass ``False`` when replies are sent to a client. ``log`` names the cause in either case.

    ``host`` may be a :class:`language.Host` instead. The program then runs on that host, with access to everything that its
    declared capabilities allow. On :class:`language.NativeHost` modules are read from the folder of ``filename``. The host
    replaces ``env``, ``files`` and ``limits["host_calls"]``, which must be left out.

    Raises ``TypeError`` or ``ValueError`` for a wrong argument, and ``RuntimeError`` for a call while another one is
    running.
    """

    def __init__(
        self,
        source: str,
        *,
        filename: str = "<embedded>",
        env: Mapping[str, Any] | None = None,
        ceiling: str | bool | None = None,
        host: Any = None,
        limits: Mapping[str, Any] | None = None,
        files: Mapping[str, Any] | None = None,
        error_detail: bool = True,
    ) -> None:
        if not isinstance(source, str):
            raise TypeError(f"source must be str, not {type(source).__name__}")
        if not isinstance(error_detail, bool):
            raise TypeError(f"error_detail must be bool, not {type(error_detail).__name__}")
        self._source = source
        self._error_detail = error_detail
        self._filename = filename
        self._env = _environment(env)
        self._ceiling = parse_ceiling(ceiling)
        self._host = host if isinstance(host, Host) else None
        self._hooks = uncancellable_hooks(_hooks(None if isinstance(host, Host) else host))
        self._limits = Limits.parse(limits)
        if self._host is not None:
            for name, given in (("env", env), ("files", files), ("limits: host_calls", self._limits.host_calls)):
                if given is not None:
                    raise ValueError(f"{name} cannot be given beside a Host, which decides what is lent")
        self._hook_calls: HookCalls | None = None
        if self._limits.host_calls is not None:
            self._hook_calls = HookCalls(self._limits.host_calls)
            self._hooks = self._hook_calls.counted(self._hooks)
        self._given = None if files is None else _contents(files)
        self._files = {path: data.decode("utf-8", "replace") for path, data in (self._given or {}).items()}
        self._codes: dict[bool, Code] = {}
        self._lock = allocate_lock()
        self._prepared: Prepared | None = None
        #: The tokens of all calls of this program. Not a public name.
        self.usage = Usage() if self._host is None else self._host.llm_usage
        self._meter: Meter | None = None

    def check(self, *, problems: bool = False) -> dict[str, Any]:
        """Parses the program and every module it uses, and finds what surely fails where it is reached.

        Returns ``{"ok", "errors"}``, and ``limit`` when a limit ended it. With ``problems=True`` the field ``problems`` has
        each error and each warning: ``severity`` (``error`` or ``warning``), ``file``, ``line``, ``column``, ``end_line``,
        ``end_column``, ``code``, ``message``, ``help``, as ``lang check --format json`` gives them. A warning leaves ``ok`` as
        it is.
        """
        from language.analysis.checker import check_program
        from language.analysis.problems import problems_of
        from language.diagnostics.fields import fields_of
        from language.host.files import GivenFiles

        if self._host is not None:
            given = self._host.files
        else:
            given = None if self._given is None else GivenFiles(self._given)
        errors: list[str] = []
        told: list[dict[str, Any]] = []

        def check() -> None:
            checked = check_program(self._source, self._filename, self._sources(), given)
            errors.extend(str(error) for error in checked.errors)
            found = problems_of(checked)
            errors.extend(f"Runtime error: {placed(at.file, at.line, at.column)}: {at.message}" for at in found.faults)
            told.extend({"severity": "error", **fields_of(problem)} for problem in found.errors)
            told.extend({"severity": "warning", **fields_of(problem)} for problem in found.warnings)

        try:
            self._run_within(check)
        except LimitExceeded as limit:
            return {"ok": False, "errors": [f"Runtime error: {limit}"], "limit": limit.limit}
        answer: dict[str, Any] = {"ok": not errors, "errors": errors}
        return {**answer, "problems": told} if problems else answer

    def run(self) -> dict[str, Any]:
        """Runs the top level. Returns ``{"ok", "output", "errors", "audit", "llm_tokens"}``; also ``declared`` when a
        ``require`` line was executed, ``exit`` after ``exit(code)`` and ``limit`` when a limit ended it.
        """
        answer: dict[str, Any] = {"ok": True, "output": [], "errors": [], "audit": [], "llm_tokens": 0}
        with _Entered(self._lock):
            context, audit = self._context("embedded")
            try:
                self._run_within(lambda: self._instance(context).run())
            except LanguageError as error:
                answer.update(ok=False, errors=[str(failure) for failure in (error, *error.others)])
            except ExitProgram as ended:
                answer.update(ok=ended.code == 0, exit=ended.code)
            except LimitExceeded as limit:
                answer.update(ok=False, errors=[f"Runtime error: {limit}"], limit=limit.limit)
            except InternalError as error:
                answer.update(ok=False, errors=[f"Runtime error: internal error: {error}"])
            except MemoryError:  # no memory even for the error: what was collected is kept
                answer.update(ok=False, errors=["Runtime error: out of memory"])
            finally:
                context.lifetime.end()  # what a limit has interrupted of it; none is watched here
            answer["output"] = context.collected
            answer.update(audit.answer())
            answer["llm_tokens"] = self.usage.used
        return answer

    def test(self) -> dict[str, Any]:
        """Runs the test blocks. Returns ``{"ok", "passed", "failed", "lines", "audit"}``, and ``declared`` as :meth:`run`
        does.
        """
        answer: dict[str, Any] = {"ok": False, "passed": 0, "failed": 0, "lines": [], "audit": []}
        with _Entered(self._lock):
            context, audit = self._context("test")
            lines: list[str] = answer["lines"]
            try:

                def note(outcome: Outcome) -> None:
                    answer["passed" if outcome.passed else "failed"] += 1
                    lines.append(outcome_line(outcome))

                self._run_within(lambda: self._instance(context, test=True).test(note))
            except LanguageError as error:
                answer["failed"] += 1
                lines.append(str(error))
            except LimitExceeded as limit:
                answer["failed"] += 1
                answer["limit"] = limit.limit
                lines.append(f"✗ {limit}")
            except InternalError as error:
                answer["failed"] += 1
                lines.append(f"✗ internal error: {error}")
            except MemoryError:
                answer["failed"] += 1
                lines.append("✗ out of memory")
            finally:
                context.lifetime.end()
            answer["ok"] = answer["failed"] == 0
            answer.update(audit.answer())
        return answer

    def handle(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answers one HTTP request with the program's ``serve`` block, without a server.

        ``request`` is ``{"method", "path", "headers", "body" or "body_base64", "ip"}``. The top level runs once; each
        request starts with the state after it. Returns ``{"status", "content_type", "headers", "body", "log", "errors",
        "audit"}``. A body that is no text is in ``body_base64``, beside an empty ``body``. ``declared`` is as in
        :meth:`run`, ``limit`` is there when a limit ended the call. The first reply also includes the ``log``, ``audit`` and
        ``declared`` of the top level.
        """
        from language.serve.handler_mode import Prepared, request_of

        request_of(request)  # a wrong request is the caller's error, raised before anything runs
        with _Entered(self._lock):
            if self._prepared is None:
                context, audit = self._context("embedded")
                self._prepared = Prepared(context, audit, lambda: self._instance(context), self._within, self._error_detail)
            return self._prepared.answer(request, self._within)

    def _within(self, body: Callable[[], object]) -> None:
        """Runs a part of a prepared program under the limits, with the counters reset."""
        if self._meter is not None:
            self._meter.begin()
        if self._hook_calls is not None:
            self._hook_calls.begin()
        self._run_within(body)

    def _run_within(self, body: Callable[[], object]) -> None:
        """Runs code that reads, compiles or executes the program under its limits."""
        # Imports of the first program of a process do not count against its limits.
        import language.compiler.compilation  # noqa: F401
        from language import library
        from language.syntax.table_reading import tables

        tables()
        library().all_builtins()
        run_within(self._limits, body)

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _code(self, *, test: bool) -> Code:
        code = self._codes.get(test)
        if code is None:
            limits = self._limits
            compiled = _compiled if len(self._source) > _LONGEST_KEPT else _kept
            code = compiled(self._source, self._filename, test, limits.metered, limits.watched)
            self._codes[test] = code
        return code

    def _context(self, mode: str) -> tuple[Context, Audit]:
        if self._hook_calls is not None:
            self._hook_calls.begin()
        host = self._host or _HookedHost(self._env, self._hooks, self._given, self.usage)
        audit = Audit(host.now, operation=lambda: operation()[0], uses=Uses())
        context = Context(
            host,
            mode=mode,
            ceiling=self._ceiling,
            collect=True,
            output_limit=self._limits.output_bytes,
            audit=audit,
        )
        state: Any = host.shared_state() if isinstance(host, _HookedHost) else None
        if state is not None:
            context.state = state
        human = self._hooks.get("human")
        if human is not None and mode == "embedded":
            from language.gates import CallbackGates

            context.gates = CallbackGates(context.host, human)
        if self._limits.watched:
            context.workers_left = MOST_WATCHED_WORKERS
        return context, audit

    def _sources(self) -> Sources:
        """Finds and reads modules: the given files, or on a host with a file system those in the folder of the program.

        With a limit of steps, the characters read are counted; those of the entry file at once.
        """
        sources: Sources
        if self._host is None or self._host.files is None or not self._host.on_disk:
            sources = BundledSources(self._files)
        else:
            sources = Sources(self._filename.rpartition("/")[0] or ".")
        if self._limits.steps is None:
            return sources
        counted = _CountedSources(sources, self._limits.steps)
        counted.count(self._source)
        return counted

    def _instance(self, context: Context, *, test: bool = False) -> Instance:
        """The program, compiled and ready to run. Raises the errors of its source, and ``LimitExceeded``."""
        limits = self._limits
        sources = self._sources()
        code = self._code(test=test)

        def build(source: str, filename: str) -> Code:
            from language.compiler.compilation import compile_source

            code = compile_source(source, filename, module=True, metered=limits.metered, interruptible=limits.watched)
            return code.named(filename)

        instance = Instance(code, context.host, context=context, sources=sources, build=build)
        if limits.metered:
            meter = self._meter = Meter(limits)
            instance.meter_functions = meter.functions()
            instance.steps_used = lambda: meter.used
        return instance


class _CountedSources(Sources):
    """The files of a program. A limit of ``steps`` limits how much of them is read as source."""

    def __init__(self, sources: Sources, steps: int) -> None:
        self._sources = sources
        self._steps = steps
        self._left = CHARACTERS_FREE + CHARACTERS_PER_STEP * steps

    def resolve(self, path: str, importer: str, *, from_entry: bool) -> tuple[str, str]:
        return self._sources.resolve(path, importer, from_entry=from_entry)

    def read(self, real: str, path: str) -> str:
        text = self._sources.read(real, path)
        self.count(text)
        return text

    def count(self, source: str) -> None:
        """Counts a source before it is parsed. Raises ``LimitExceeded``."""
        self._left -= len(source)
        if self._left < 0:
            raise LimitExceeded("steps", self._steps)


def _compiled(source: str, filename: str, test: bool, metered: bool, interruptible: bool) -> Code:
    from language.compiler.compilation import compile_source

    return compile_source(source, filename, test=test, metered=metered, interruptible=interruptible).named(filename)


#: The longest source, in characters, whose code is cached. For short programs that run repeatedly, compiling takes longer than
#: running. Code is immutable and holds no state of a run.
_LONGEST_KEPT = 16_384
_kept = lru_cache(maxsize=16)(_compiled)


class _Entered:
    """Refuses a call while another one of the same program is running."""

    def __init__(self, lock: LockType) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("one call at a time: this Program is running in another thread")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def outcome_line(outcome: Outcome) -> str:
    """``✓ name`` or ``✗ name: message``."""
    return f"✓ {outcome.name}" if outcome.passed else f"✗ {outcome.name}: {outcome.message}"


def parse_ceiling(ceiling: str | bool | None) -> Ceiling | None:
    """The ceiling of a request. Raises ``ValueError`` for an invalid text; its message begins ``ceiling: ``."""
    if ceiling is None or ceiling == "" or ceiling is False:
        return None
    if ceiling is True or ceiling == "sandbox":
        return Ceiling.sandbox()
    if not isinstance(ceiling, str):
        raise TypeError(f"ceiling must be text, not {type(ceiling).__name__}")
    return Ceiling.parse(ceiling, label="ceiling")


def _environment(env: Mapping[str, Any] | None) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in (env or {}).items():
        if value is None:
            values[name] = ""
        elif isinstance(value, str):
            values[name] = value
        else:
            import json

            values[name] = json.dumps(value)
    return values


def _hooks(host: Any) -> dict[str, Any]:
    if host is None:
        return {}
    if isinstance(host, Mapping):
        return {name: host[name] for name in HOOKS if host.get(name) is not None}
    return {name: getattr(host, name) for name in HOOKS if getattr(host, name, None) is not None}


def _contents(files: Mapping[str, Any]) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for path, content in files.items():
        if not isinstance(path, str):
            raise TypeError(f"files: a path must be text, not {type(path).__name__}")
        if "\0" in path:
            raise ValueError(f"files: {path!r} is no path: it holds a NUL character")
        if isinstance(content, str):
            contents[path] = content.encode("utf-8", "replace")
        elif isinstance(content, Mapping) and isinstance(content.get("base64"), str):
            contents[path] = _base64(path, content["base64"])
        else:
            raise TypeError(f'files: {path!r} must be text or {{"base64": text}}')
    return contents


def _base64(path: str, text: str) -> bytes:
    """The bytes of padded base64 in the standard or URL-safe alphabet."""
    from base64 import b64decode

    try:
        return b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        raise ValueError(f"files: {path!r} is not Base64") from None


def version() -> str:
    """The engine's version as ``v<major>.<minor>.<patch>``."""
    return "v" + __version__
