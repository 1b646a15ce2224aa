"""One run of a program: its code bound to a host, its modules, its tests."""

from __future__ import annotations

import os.path
from sys import _getframe
from types import MethodType

from language.capabilities import Ceiling, canonical_name
from language.capabilities.grants import ALL_SECRETS, DECLARED_SETS, kept_by
from language.errors import ExitProgram, LanguageError, RuntimeFault, StopLoop
from language.recursion import deep_recursion
from language.runtime.context import Context
from language.values import Module
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CellType, FunctionType, TracebackType
    from typing import Any

    from language.agents.registry import Definition
    from language.agents.statements import AgentStatements
    from language.code import Code
    from language.host import Host
    from language.runtime.modules import Sources
    from language.serve.exchange import Exchange
    from language.tracing.statements import RecordStatements

#: The deepest nesting of calls in a program; one more call is a recursion error.
CALL_DEPTH = 3000
#: Additional frames that the runtime itself may need in the deepest call.
SLACK = 60


class Outcome:
    """The result of one test block. ``message`` is empty when it passed; ``seconds`` is its wall-clock time; ``error`` is the
    error of the language that it failed with, if any.
    """

    __slots__ = ("error", "message", "name", "output", "passed", "seconds")

    def __init__(
        self,
        name: str,
        passed: bool,
        message: str,
        seconds: float,
        output: list[str],
        error: LanguageError | None = None,
    ) -> None:
        self.error = error
        self.name = name
        self.passed = passed
        self.message = message
        self.seconds = seconds
        self.output = output


class Unit:
    """One file of a running program, with the methods that its compiled code calls."""

    def __init__(self, instance: Instance, code: Code, folder: str, *, entry: bool) -> None:
        self.instance = instance
        self._code = code
        self._folder = folder
        self._entry = entry
        self.cells: dict[str, CellType] = {}
        self.tests: list[tuple[str, FunctionType]] = []
        self.module = Module(code.filename, self._hides)

    def run(self) -> None:
        """Runs the top level."""
        context = self.instance.context
        code = self._code
        names = code.namespace()
        if code.metered:
            self.instance.meter(names)
        bound: list[Any] = []
        if code.context_builtins:
            from language import library

            for name in code.context_builtins:
                family = library().load_family(code.families[name])
                bound.append(MethodType(family.builtins[name].function, context))
        main = code.main(names)
        secrets = names[DECLARED_SETS].get(ALL_SECRETS, ())
        context.capabilities.name_secrets(secrets)
        if secrets and self.instance.secrets_named is not None:
            self.instance.secrets_named(secrets)
        main(self, *bound)

    def isolated(self, instance: Instance) -> Unit:
        """A copy of this file for a worker. Its variables are empty and are filled in by the caller. ``instance`` is the
        worker's.
        """
        copy = Unit(instance, self._code, self._folder, entry=self._entry)
        copy.module = self.module
        return copy

    # ---- globals by name ------------------------------------------------------------------------------------------------

    def expose(self, closure: FunctionType) -> None:
        names = [name.removesuffix("·0") for name in closure.__code__.co_freevars]  # names that cannot be rebound
        self.cells = dict(zip(names, closure.__closure__ or ()))

    def _hides(self, name: str) -> bool:
        return name in self.cells and name not in self.module.cells

    def lookup(self, name: str) -> Any:
        """A global of the entry program (or of the REPL session), for a name that this file does not define."""
        from language.runtime.intrinsics import UNSET, undefined

        cell = self.instance.globals.get(name)
        try:
            if cell is not None and cell.cell_contents is not UNSET:
                return cell.cell_contents
        except ValueError:
            pass  # declared but not bound yet
        return undefined(name)

    def assign(self, name: str, value: Any) -> None:
        """``let`` of a name that already exists in the REPL session."""
        self.instance.globals[name].cell_contents = value

    def assign_existing(self, name: str, value: Any) -> None:
        """``set`` of a name that this file does not define."""
        from language.runtime.intrinsics import UNSET, cannot_set

        cell = self.instance.globals.get(name)
        try:
            known = cell is not None and cell.cell_contents is not UNSET
        except ValueError:
            known = False
        if cell is None or not known:
            raise cannot_set(name)
        cell.cell_contents = value

    def own_existing(self, name: str) -> Any:
        """The value of such a variable for a write into it: a copy, unless the variable holds the only reference."""
        from language.runtime.intrinsics import own

        cell = self.instance.globals.get(name)
        if cell is None:
            from language.runtime.intrinsics import cannot_set

            raise cannot_set(name)
        value = own(self.lookup(name))
        cell.cell_contents = value
        return value

    def export(self, name: str, fixed: bool) -> None:
        self.module.export(name, self.cells[name], fixed=fixed)

    # ---- statements -----------------------------------------------------------------------------------------------------

    def use(self, path: str) -> Module:
        return self.instance.use(path, self._folder, from_entry=self._entry)

    def add_test(self, name: str, function: FunctionType) -> None:
        self.tests.append((name, function))

    def require(self, name: str, scope: Any) -> None:
        context = self.instance.context
        text = None if scope is None else display(scope)
        # Only the entry file grants. A `require` line of a module has no effect, except in an agent, which starts without the
        # entry file's grants: there it grants what those cover.
        if not self._entry and not (context.is_agent and context.root.capabilities.covers(canonical_name(name), text)):
            return
        if context.capabilities.require(canonical_name(name), text) and text is None and name in ("reveal", "spend"):
            context.warn_once(f"`require {name}` without a name covers every one: name those that are needed")

    def intent(self, text: str, preamble: bool) -> None:
        context = self.instance.context
        if context.intent is not None and not (preamble and self._entry):
            raise RuntimeFault(
                "Cannot declare a new intent after execution has started. Intent is frozen to prevent prompt injection from "
                "expanding the mandate.",
            )
        context.intent = text

    def log(self, value: Any) -> None:
        self.instance.context.log(display(value))

    # Statements that few programs use. Their modules are imported at the first one.

    @property
    def agents(self) -> AgentStatements:
        from language.agents.statements import AgentStatements

        return AgentStatements(self.instance.context)

    @property
    def records(self) -> RecordStatements:
        from language.tracing.statements import RecordStatements

        return RecordStatements(self.instance.context, self._code.filename)

    def show(self, value: Any, label: Any) -> Any:
        text = display(value)
        self.instance.context.write(text if label is None else f"[{display(label)}] {text}")
        return value

    def render(self, path: Any, data: Any, literal: bool) -> Any:
        """A call of ``render`` in the source. ``literal`` says whether its path is a literal text."""
        from language.templates.rendering import response

        return response(self.instance, path, data, literal=literal)

    def gate(self, kind: str, message: Any, options: Any, within: float | None) -> Any:
        from language.gates import Gate

        context = self.instance.context
        gate = Gate(kind, message, options, within)
        if context.tool is not None:
            gate.message = f"[tool {context.tool}] {gate.message}"
        return context.gates.answer(gate)

    def llm(self, name: str) -> Callable[..., str]:
        from language.host.llm import operation

        return operation(self.instance.context, name)

    def serve(self, port: Any, table: tuple[Any, ...]) -> None:
        """A ``serve`` block: starts to listen and returns, if there is a server. Under ``lang test`` it is only validated."""
        from language.serve.start import serve

        serve(self.instance, port, table)

    def route_group(self, name: str, table: tuple[Any, ...]) -> Any:
        from language.serve.table import RouteGroup

        return RouteGroup(name, table, self._code.filename)

    def paged(self, builtin: Any, query: Any, params: Any = None) -> Any:
        """The page of a query that a route returns."""
        return builtin.given_by_route(self.instance.context, query, params)

    def expect(self, place: str, fields: tuple[tuple[str, str, bool], ...]) -> None:
        self._exchange("expect can only be used inside a serve route").expect(place, fields)

    def expected(self, name: str, value: Any) -> Any:
        """The value of a handler's ``request`` or ``query`` after ``expect``."""
        return self._exchange("expect can only be used inside a serve route").expected(name, value)

    def send(self, value: Any, event: Any) -> None:
        self._exchange("send can only be used inside a stream route handler").send(value, event)

    def socket(self) -> Any:
        return self._exchange("socket can only be used inside a serve route").socket()

    def proxied(self, target: Any) -> Any:
        """What a handler returns to forward its request to another server."""
        from language.serve.proxy_target import Proxied, check_target, parse_target

        where = parse_target(target)
        check_target(self.instance.context, where)
        return Proxied(where)

    def proxy(self, target: Any) -> None:
        raise RuntimeFault("proxy is only available inside a serve route", code="E0704")

    def _exchange(self, otherwise: str) -> Exchange:
        exchange = self.instance.context.exchange
        if exchange is None:
            raise RuntimeFault(otherwise, code="E0704")
        return exchange

    def enter_sandbox(self, *under: Any) -> None:
        line = _getframe(1).f_lineno
        self.instance.context.capabilities.enter(kept_by(under[0]) if under else (), (line, bool(under)))

    def leave_sandbox(self) -> None:
        self.instance.context.capabilities.leave()


class Instance:
    """A program that is ready to run: Code + Host + Ceiling. Each run has an instance of its own.

    ``build(source, filename)`` compiles a module; ``sources`` finds and reads modules. ``run`` raises ``LanguageError`` with
    its place filled in, ``ExitProgram``, ``LimitExceeded`` or ``InternalError``.
    """

    def __init__(
        self,
        code: Code,
        host: Host,
        *,
        arguments: tuple[str, ...] | list[str] = (),
        mode: str = "run",
        ceiling: Ceiling | None = None,
        root: str = ".",
        sources: Sources | None = None,
        build: Callable[[str, str], Code] | None = None,
        collect: bool = False,
        context: Context | None = None,
    ) -> None:
        self.context = context or Context(host, mode=mode, ceiling=ceiling, arguments=tuple(arguments), collect=collect)
        self.context.program = code.filename
        self.context.instance = self
        self.globals: dict[str, CellType] = {}
        #: what the ``agent`` statements of this copy of the program defined, by name
        self.agents: dict[str, Definition] = {}
        self._sources = sources
        self._root = root
        self._build = build or build_module
        self.modules: dict[str, Module] = {}
        self._loading: list[str] = []
        self._code = code
        self._shown_root = os.path.dirname(code.filename)
        self._entry = Unit(self, code, self._shown_root, entry=True)
        self.globals = self._entry.cells
        #: the counters of a metered run, by the names that its code calls
        self.meter_functions: dict[str, Callable[[], None]] = {}
        #: returns how many steps a metered run has taken
        self.steps_used: Callable[[], int] = lambda: 0
        #: called with the secrets that the ``require`` lines of each file name, before that file runs
        self.secrets_named: Callable[[Iterable[tuple[str, str | None]]], None] | None = None
        #: called with an error of the program and its traceback, before the traceback is dropped
        self.explain: Callable[[LanguageError, TracebackType | None], None] | None = None

    @property
    def file(self) -> str:
        """The file of the program, as the caller named it."""
        return self._code.filename

    @property
    def entry(self) -> Unit:
        """The program's own file."""
        return self._entry

    @property
    def folder(self) -> str | None:
        """The folder of the program's own file, as the caller named it.

        The empty text, which is the working directory, for a program from standard input; ``None`` for a program that does not
        come from a file.
        """
        name = self._code.filename
        if name.startswith("<"):
            return "" if name == "<stdin>" else None
        return self._shown_root

    @property
    def metered(self) -> bool:
        """Whether steps are counted."""
        return self._code.metered

    # ---- running --------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Runs the program's top level."""
        self._warn_deprecated()
        try:
            with_depth(self._run_entry)
            agents = self.context.services.agents
            if agents is not None and self.context.mode not in ("repl", "serve"):
                agents.join()
        finally:
            # a REPL session continues with the next input, a service with requests
            if self.context.mode not in ("repl", "serve"):
                self.context.lifetime.end()

    def _run_entry(self) -> None:
        self.guarded(self._start)

    def _start(self) -> None:
        unit = self._entry
        if self._code.refusal is not None:
            raise refused(self._code.refusal, self._code.filename)
        unit.expose = self._expose_entry  # type: ignore[method-assign]
        unit.run()

    def _expose_entry(self, closure: FunctionType) -> None:
        Unit.expose(self._entry, closure)
        self.globals.update(self._entry.cells)

    def test(
        self, report: Callable[[Outcome], None] | None = None, *, select: Callable[[str], bool] | None = None
    ) -> list[Outcome]:
        """Runs the top level as setup, then the test blocks in order. ``report`` is called with each outcome as soon as it is
        known.

        ``select`` chooses blocks by name. A failing setup is one outcome named ``<setup>``.
        """
        try:
            return self._test(report, select)
        finally:
            self.context.lifetime.end()

    def _test(self, report: Callable[[Outcome], None] | None, select: Callable[[str], bool] | None) -> list[Outcome]:
        outcomes: list[Outcome] = []

        def tell(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if report is not None:
                report(outcome)

        self._warn_deprecated()
        setup = self._outcome("<setup>", self._run_entry)
        if not setup.passed:
            tell(setup)
            return outcomes
        gates = self.context.gates
        for name, function in self._entry.tests:
            if select is None or select(name):
                gates.in_test = True
                try:
                    tell(self._outcome(name, lambda function=function: self._run_block(function)))  # type: ignore[misc]
                finally:
                    gates.in_test = False
        return outcomes

    def _run_block(self, function: Callable[[], None]) -> None:
        """Runs a test block, and waits for the agents that it started."""
        agents = self.context.services.agents
        before = 0 if agents is None else agents.count
        try:
            self.guarded(function)
        except BaseException:
            agents = self.context.services.agents
            if agents is not None:
                agents.stop_all(before)
            raise
        agents = self.context.services.agents
        if agents is not None:
            agents.join(before)

    def _outcome(self, name: str, body: Callable[[], None]) -> Outcome:
        from time import perf_counter

        lines = self.context.collected
        before = len(lines)
        started = perf_counter()
        message = ""
        passed = True
        failure: LanguageError | None = None
        try:
            with_depth(body)
        except LanguageError as error:
            passed, failure = False, error
            message = f"{error.place}: {error.message}" if error.place else error.message
        except ExitProgram as ended:
            passed = False
            message = f"exit({ended.code}) inside a test"
        return Outcome(name, passed, message, perf_counter() - started, lines[before:], failure)

    def guarded(self, body: Callable[[], Any]) -> None:
        """Runs code of the program. Every exception that leaves it becomes an error of the language with its position."""
        try:
            body()
        except (Exception, StopLoop) as error:
            from language.runtime.intrinsics import outside
            from language.runtime.python_errors import located

            traceback = error.__traceback__
            found = located(outside().with_traceback(traceback) if isinstance(error, StopLoop) else error)
            if self.explain is not None:
                self.explain(found, traceback)
            raise found.with_traceback(None) from None

    def _warn_deprecated(self) -> None:
        for name in self._code.deprecated:
            from language import library

            current = library().load_family(self._code.families[name]).builtins[name].alias_of
            self.context.warn(f"{self._code.filename}: '{name}' is deprecated: use {current}")

    def meter(self, names: dict[str, Any]) -> None:
        """Binds the counters of a metered run into its namespace."""
        from language.runtime.limits import bind_meter

        bind_meter(self, names)

    def isolated(self, context: Context) -> Instance:
        """A copy of the program for a worker: another context, empty variables, the modules that are already loaded."""
        copy = Instance(
            self._code, self.context.host, sources=self._sources, root=self._root, build=self._build, context=context
        )
        copy.globals = {}
        copy.meter_functions = self.meter_functions
        copy.steps_used = self.steps_used
        return copy

    # ---- modules --------------------------------------------------------------------------------------------------------

    def use(self, path: str, folder: str, *, from_entry: bool) -> Module:
        """The module at ``path`` as named in a file of ``folder``. It is loaded once for each resolved path."""
        from language.runtime.modules import Sources, compile_module

        sources = self._sources
        if sources is None:
            sources = self._sources = Sources(self._shown_root or self._root)
        real, shown = sources.resolve(path, folder, from_entry=from_entry)
        if real in self._loading or (not self._loading and real == self._entry_path()):
            from language.hints import CIRCULAR

            message = f"circular import: module '{path}' is already being loaded"
            raise RuntimeFault(message, kind="name", code="E0205", help=CIRCULAR)
        known = self.modules.get(real)
        if known is not None:
            return known
        code = compile_module(sources.read(real, path), shown, path, self._build)
        if code.refusal is not None:
            message, line, _, help_ = code.refusal
            raise (
                refused(code.refusal, shown)
                if line
                else RuntimeFault(f"module '{path}' {message}", kind="capability", code="E0207", help=help_)
            )
        unit = Unit(self, code, os.path.dirname(shown), entry=False)
        self._loading.append(real)
        try:
            unit.run()
        finally:
            self._loading.pop()
        self.modules[real] = unit.module
        return unit.module

    @property
    def module_files(self) -> list[str]:
        """The real paths of the modules that are loaded or are being loaded."""
        return [*self.modules.copy(), *self._loading]

    def _entry_path(self) -> str:
        return os.path.realpath(self._code.filename)


def refused(refusal: tuple[str, int, int, str], file: str) -> RuntimeFault:
    """The error of a program that is refused before it runs."""
    message, line, column, help_ = refusal
    fault = RuntimeFault(message, kind="capability", code="E0207", help=help_)
    fault.file, fault.line, fault.column = file, line, column
    return fault


def build_module(source: str, filename: str) -> Code:
    """Compiles a module from its source without the cache."""
    from language.compiler.compilation import compile_source

    return compile_source(source, filename, module=True).named(filename)


def with_depth(body: Callable[[], None]) -> None:
    """Runs ``body`` with room for exactly :data:`CALL_DEPTH` nested calls of the program."""
    with deep_recursion(CALL_DEPTH + SLACK):
        body()
