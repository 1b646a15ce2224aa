"""The embedding API: a program as an object, results as plain dicts.

This is the profile of the web build: the process environment, files, sockets and processes are not reachable from a program.
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
from language.errors import ExitProgram, InternalError, LanguageError, LimitExceeded
from language.host import EmbeddedHost, Host, sleep_in_steps
from language.host.hook_calls import HookCalls, hooks_undisturbed
from language.host.llm import HookedLlm, Llm, Usage
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
    from language.serve.handler_mode import Prepared

#: Worker threads of a program that may be ended at any moment: whoever ends it competes with all of them for its turns.
MOST_WATCHED_WORKERS = 16

#: How many characters of source a program with a limit of ``steps`` may have, its modules included: so many, and more for each
#: step. Reading and compiling them takes about as long as running the steps.
CHARACTERS_FREE = 65_536
CHARACTERS_PER_STEP = 10

HOOKS = ("http", "human", "kv", "llm", "log", "sleep")


class _HookedHost(EmbeddedHost):
    """A host that lends the hooks an embedder gave."""

    def __init__(
        self, env: Mapping[str, str], hooks: Mapping[str, Any], files: Mapping[str, bytes] | None, usage: Usage
    ) -> None:
        super().__init__(env)
        self._llm_usage = usage
        hook = hooks.get("llm")
        self._llm = None if hook is None else HookedLlm(hook)
        self._given = files
        self._log = hooks.get("log")
        self._sleep = hooks.get("sleep")
        self._kv = hooks.get("kv")
        self._http = hooks.get("http")

    def memory(self, name: str, program: str) -> MemoryStore:
        if self._kv is None:
            return super().memory(name, program)
        from language.host.kv_hook import HookedKv, KvMemory

        return KvMemory(HookedKv(self._kv), name, self.write_error_line)

    def shared_state(self) -> KvState | None:
        """The state of a program where the host keeps it; ``None`` where it lives in the program."""
        if self._kv is None:
            return None
        from language.host.kv_hook import HookedKv, KvState

        return KvState(HookedKv(self._kv), self.write_error_line)

    @property
    def llm(self) -> Llm | None:
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
        # A key of its own for every line: two instances on one store never write over each other.
        key = f"{log}:{self.random_bytes(16).hex()}"
        try:
            answer = put("audit", key, json.dumps(line))
        except Exception as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        if isinstance(answer, Mapping) and answer.get("error"):
            raise OSError(str(answer["error"]))


class Program:
    """One source with its options, parsed once.

    ``env`` replaces the environment, ``ceiling`` is ``sandbox`` or a ``--cap-set`` list (``None`` or empty: no ceiling),
    ``host`` a dict or object of hooks (``log(line)``, ``sleep(secs)`` or ``True``, ``human(type, message, options,
    seconds)``, ...), ``limits`` as in the manual, ``files`` maps paths to text or ``{"base64": text}``: what ``use`` may
    load and the reading builtins may read. ``error_detail`` says whether the body of a 500 that :meth:`handle` gives names the
    cause: ``False`` for replies that are passed on to a client; ``log`` names it either way.

    ``host`` may be a :class:`language.Host` instead: the program then runs on it, and what it reaches is there under the
    capabilities that the program declares; on :class:`language.NativeHost` modules are read from the folder of ``filename``. It
    takes the place of ``env``, ``files`` and ``limits["host_calls"]``, which must be left out.

    Raises ``TypeError`` or ``ValueError`` for a wrong argument, and ``RuntimeError`` when entered twice at once.
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
        self._hooks = hooks_undisturbed(_hooks(None if isinstance(host, Host) else host))
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
        #: Tokens of all calls of this program. Not a public name.
        self.usage = Usage() if self._host is None else self._host.llm_usage
        self._meter: Meter | None = None

    def check(self) -> dict[str, Any]:
        """Parses the program and every module it uses. Returns ``{"ok", "errors"}``, and ``limit`` when a limit ended it."""
        from language.analysis.checker import check_program
        from language.host.files import GivenFiles

        if self._host is not None:
            given = self._host.files
        else:
            given = None if self._given is None else GivenFiles(self._given)
        errors: list[str] = []

        def check() -> None:
            checked = check_program(self._source, self._filename, self._sources(), given)
            errors.extend(str(error) for error in checked.errors)

        try:
            self._run_within(check)
        except LimitExceeded as limit:
            return {"ok": False, "errors": [f"Runtime error: {limit}"], "limit": limit.limit}
        return {"ok": not errors, "errors": errors}

    def run(self) -> dict[str, Any]:
        """Runs the top level. Returns ``{"ok", "output", "errors", "audit", "llm_tokens"}``, ``declared`` when a
        ``require`` line was reached, ``exit`` after ``exit(code)`` and ``limit`` when a limit ended it."""
        answer: dict[str, Any] = {"ok": True, "output": [], "errors": [], "audit": [], "llm_tokens": 0}
        with _Entered(self._lock):
            context, audit = self._context("embedded")
            try:
                self._run_within(lambda: self._instance(context).run())
            except LanguageError as error:
                answer.update(ok=False, errors=[str(error)])
            except ExitProgram as ended:
                answer.update(ok=ended.code == 0, exit=ended.code)
            except LimitExceeded as limit:
                answer.update(ok=False, errors=[f"Runtime error: {limit}"], limit=limit.limit)
            except InternalError as error:
                answer.update(ok=False, errors=[f"Runtime error: internal error: {error}"])
            except MemoryError:  # where not even the error could be made: what there is already is kept
                answer.update(ok=False, errors=["Runtime error: out of memory"])
            answer["output"] = context.collected
            answer.update(audit.answer())
            answer["llm_tokens"] = self.usage.used
        return answer

    def test(self) -> dict[str, Any]:
        """Runs the test blocks. Returns ``{"ok", "passed", "failed", "lines", "audit"}``, ``declared`` as :meth:`run`."""
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
            answer["ok"] = answer["failed"] == 0
            answer.update(audit.answer())
        return answer

    def handle(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answers one HTTP request with the program's ``serve`` block, without a server.

        ``request`` is ``{"method", "path", "headers", "body" or "body_base64", "ip"}``. The top level runs once; each
        request starts from the state that it left. Returns ``{"status", "content_type", "headers", "body", "log", "errors",
        "audit"}``, ``body_base64`` beside an empty ``body`` where it is no text, ``declared`` as :meth:`run`, ``limit`` when a
        limit ended it. The first reply's ``log`` begins with what the top level wrote, and its ``audit`` and ``declared`` tell
        of the top level, too.
        """
        from language.serve.handler_mode import Prepared, request_of

        request_of(request)  # a wrong one is the caller's mistake, before anything runs
        with _Entered(self._lock):
            if self._prepared is None:
                context, audit = self._context("embedded")
                self._prepared = Prepared(context, audit, lambda: self._instance(context), self._within, self._error_detail)
            return self._prepared.answer(request, self._within)

    def _within(self, body: Callable[[], object]) -> None:
        """Runs a part of a prepared program under the limits, counted anew."""
        if self._meter is not None:
            self._meter.begin()
        if self._hook_calls is not None:
            self._hook_calls.begin()
        self._run_within(body)

    def _run_within(self, body: Callable[[], object]) -> None:
        """Runs what reads, compiles or executes the program under its limits."""
        # What the first program of a process loads is no affair of its limits.
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
        """Where modules come from: the files given, or on a host with a disk the folder of the program.

        With a limit of steps the characters read are counted, those of the entry file at once.
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
        """The program, compiled and ready to run. Raises what is wrong with its source, and ``LimitExceeded``."""
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
    """The files of a program, of which a limit of ``steps`` bounds how much is read as source."""

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


#: Programs that are run again and again, most of them short: compiling one takes longer than it runs. Code does not change, and
#: holds nothing of what ran. In characters.
_LONGEST_KEPT = 16_384
_kept = lru_cache(maxsize=16)(_compiled)


class _Entered:
    """Refuses to enter one program twice at once."""

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
    """The ceiling of a request. Raises ``ValueError`` beginning ``ceiling: `` for a text that is none."""
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
    """Standard or URL alphabet, padded."""
    from base64 import b64decode

    try:
        return b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        raise ValueError(f"files: {path!r} is not Base64") from None


def version() -> str:
    """The engine's version as ``v<major>.<minor>.<patch>``."""
    return "v" + __version__
