"""Renders pages: the functions that compiled pages call, the lookup of names, the layouts around pages."""

from __future__ import annotations

from types import MethodType

from language.errors import RuntimeFault
from language.runtime.intrinsics import UNSET, iterate, undefined
from language.templates.holes import TemplateFault
from language.templates.page_store import admit, locate, page
from language.values import as_map, type_of
from language.values.display import display, raw_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from language.runtime.context import Context
    from language.runtime.instance import Instance
    from language.templates.page_store import CompiledPage

    Write = Callable[[str], object]

#: The deepest nesting of includes, and of layouts.
DEEPEST = 50


def rendered(instance: Instance, path: Any, data: Any, *, literal: bool) -> str:
    """The text of a page with its layouts. ``literal``: the path is a literal in the program's source. Raises
    ``RuntimeFault``.
    """
    names: dict[str, Any] | None = {} if data is None else as_map(data)
    if names is None:
        raise RuntimeFault(f"render(path, data): data must be a map, got {type_of(data)}", kind="type")
    try:
        return _Rendering(instance).text(raw_text(path), names, literal)
    except TemplateFault as fault:
        error = RuntimeFault(fault.message, kind=fault.kind, code=fault.code)
    raise error


def response(instance: Instance, path: Any, data: Any, *, literal: bool) -> Any:
    """The result of ``render``: :func:`rendered` as a response."""
    from language.serve.response_values import text_response

    return text_response(rendered(instance, path, data, literal=literal))


def instance_of(context: Context) -> Instance:
    """The running program of a context, for a ``render`` that is called as a value.

    In a context without a copy of the program, it is a copy for this call, with the current values of variables. What the
    call writes stays in the copy.
    """
    instance = context.instance
    if instance is None:
        raise RuntimeFault("render: no program runs here")
    if instance.context is context:
        return instance
    from language.runtime.isolation import isolate

    own: Instance = isolate(instance.entry, context).instance
    context.instance = instance  # not kept: the next call makes a new copy with the values of that time
    return own


class _Rendering:
    """One call of ``render``: the program that it belongs to and the pages that it has loaded."""

    __slots__ = ("_admitted", "_builtins", "context", "instance")

    def __init__(self, instance: Instance) -> None:
        self.context: Context = instance.context
        self.instance = instance
        self._admitted: dict[tuple[str, bool], tuple[CompiledPage, bool]] = {}
        self._builtins: dict[str, Any] = {}

    # ---- pages ----------------------------------------------------------------------------------------------------------

    def text(self, path: str, names: dict[str, Any], literal: bool) -> str:
        """Renders a page, then its layout around it, then the layout of that, and so on. The fills of a page are passed to the
        next layout only.
        """
        body = ""
        fills: dict[str, str] = {}
        depth = 0
        while True:
            if depth > DEEPEST:
                raise TemplateFault(f"template layout nesting too deep ({path})")
            made, owned = self.load(path, literal)
            out: list[str] = []
            part = _Part(self, made, owned, names, {}, _Slots(body, fills), None if made.layout is None else {}, 0)
            self.run(part, out.append)
            body = "".join(out)
            if made.layout is None:
                return body
            fills = part.fills or {}
            path, literal = made.layout, owned
            depth += 1

    def load(self, path: str, literal: bool) -> tuple[CompiledPage, bool]:
        """The page at a path, and whether it is part of the program. Each file is read once in a rendering."""
        known = self._admitted.get((path, literal))
        if known is None:
            files = self.context.host.files
            located = locate(files, self.instance.folder, path)
            owned = admit(self.context, located, path, literal=literal)
            assert files is not None
            known = page(files, located, path, metered=self.instance.metered), owned
            self._admitted[path, literal] = known
        return known

    def run(self, part: _Part, write: Write) -> None:
        """Executes one file. Every error in it names the file and the line of the hole."""
        function = part.page.function(self.instance)
        try:
            function(
                part,
                write,
                escaped,
                shown,
                items,
                part.field,
                part.include,
                part.component,
                part.slot,
                part.fill,
                part.misplaced,
            )
            return
        except TemplateFault:
            raise
        except Exception as error:
            failed = error
        from language.runtime.python_errors import translate

        line = _line(failed.__traceback__, function.__globals__)
        cause = translate(failed)
        fault = TemplateFault(f"{part.page.file}:{line}: {cause.message}", kind=cause.kind, code=cause.code)
        failed.__traceback__ = failed.__context__ = None
        raise fault

    # ---- names ----------------------------------------------------------------------------------------------------------

    def outside(self, name: str, otherwise: Any) -> Any:
        """A global of the program or a builtin; ``otherwise`` when the name is neither."""
        cell = self.instance.globals.get(name)
        if cell is not None:
            try:
                value = cell.cell_contents
                if value is not UNSET:
                    return value
            except ValueError:
                pass  # declared but not bound yet
        known = self._builtins.get(name, UNSET)
        if known is UNSET:
            known = self._builtins[name] = self._builtin(name)
        return otherwise if known is UNSET else known

    def _builtin(self, name: str) -> Any:
        from language import library

        builtin = library().all_builtins().get(name)
        if builtin is not None:
            return MethodType(builtin.function, self.context) if builtin.context else builtin.function
        _, constant = library().all_constants().get(name, ("", UNSET))
        return constant


class _Slots:
    """The content of a layout's slots: the page's own output and what it fills by name."""

    __slots__ = ("body", "fills")

    def __init__(self, body: str, fills: dict[str, str]) -> None:
        self.body = body
        self.fills = fills


class _Part:
    """A file that is being rendered. It replaces the unit for the compiled code, which looks up names here.

    ``loops`` are the loop variables of the files that include it. ``fills`` collects what it fills, ``None`` in a page
    without a layout. ``depth`` counts the files that include it, 0 for a page or a layout.
    """

    __slots__ = ("_depth", "_loops", "_names", "_owned", "_rendering", "_slots", "fills", "page")

    #: variables that are copied for a worker: none
    cells: dict[str, Any] = {}  # noqa: RUF012

    def __init__(
        self,
        rendering: _Rendering,
        page: CompiledPage,
        owned: bool,
        names: dict[str, Any],
        loops: dict[str, Any],
        slots: _Slots,
        fills: dict[str, str] | None,
        depth: int,
    ) -> None:
        self._rendering = rendering
        self.page = page
        self._owned = owned
        self._names = names
        self._loops = loops
        self._slots = slots
        self.fills = fills
        self._depth = depth

    def __getattr__(self, method: str) -> Any:
        # Gates, `show` and `sandbox` in an expression use the program's.
        return getattr(self._rendering.instance.entry, method)

    @property
    def instance(self) -> Instance:
        return self._rendering.instance

    def isolated(self, instance: Instance) -> _Part:
        """The same file for a worker, to which a lambda of the page may have been passed."""
        from language.runtime.isolation import isolate

        names, loops = isolate([self._names, self._loops], instance.context)
        return _Part(_Rendering(instance), self.page, self._owned, names, loops, self._slots, self.fills, self._depth)

    # ---- names ----------------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Any:
        """The value of a name in an expression that is not a loop variable of this file."""
        if name in self._loops:
            return self._loops[name]
        if name in self._names:
            return self._names[name]
        value = self._rendering.outside(name, UNSET)
        return undefined(name) if value is UNSET else value

    def field(self, name: str) -> Any:
        """The value of a hole that is a single name."""
        if name in self._loops:
            return self._loops[name]
        if name in self._names:
            return self._names[name]
        value = self._rendering.outside(name, UNSET)
        if value is UNSET:
            raise RuntimeFault(f"field '{name}' is not in the template data", kind="key", code="E0705")
        return value

    # ---- directives -----------------------------------------------------------------------------------------------------

    def include(self, path: str, write: Write, loops: dict[str, Any]) -> None:
        self._insert(path, write, self._names, {**self._loops, **loops} if self._loops else loops)

    def component(self, path: str, write: Write, props: Any) -> None:
        names = as_map(props)
        if names is None:
            raise TemplateFault(
                f"{self.page.file}: '{{ include \"{path}\" with ... }}' expects a map of props, got {type_of(props)}"
            )
        self._insert(path, write, names, {})

    def _insert(self, path: str, write: Write, names: dict[str, Any], loops: dict[str, Any]) -> None:
        if self._depth >= DEEPEST:
            raise TemplateFault(f"{self.page.file}: template include nesting too deep")
        rendering = self._rendering
        try:
            made, owned = rendering.load(path, self._owned)
        except RuntimeFault as fault:
            error = TemplateFault(fault.message)  # the including page is valid: the message names the included file
        else:
            part = _Part(rendering, made, owned, names, loops, self._slots, None, self._depth + 1)
            rendering.run(part, write)
            return
        raise error

    def slot(self, name: str | None) -> str:
        return self._slots.body if name is None else self._slots.fills.get(name, "")

    def fill(self, name: str, body: Callable[[Write], object]) -> None:
        if self._depth:
            self.misplaced(name)
        if self.fills is None:
            raise TemplateFault(f"{self.page.file}: '{{ fill \"{name}\" }}' requires a '{{ layout \"...\" }}' declaration")
        out: list[str] = []
        body(out.append)
        self.fills[name] = "".join(out)

    def misplaced(self, name: str) -> None:
        raise TemplateFault(f"{self.page.file}: '{{ fill \"{name}\" }}' must be at the top level of the page")


# ---- what compiled pages call ------------------------------------------------------------------------------------------


def escaped(value: Any) -> str:
    """The display form of a value, escaped for HTML text and quoted attributes."""
    text: str = value if value.__class__ is str else display(value)
    # Testing for each character costs less than five replacements that find nothing.
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text:
        text = text.replace("<", "&lt;")
    if ">" in text:
        text = text.replace(">", "&gt;")
    if '"' in text:
        text = text.replace('"', "&quot;")
    if "'" in text:
        text = text.replace("'", "&#x27;")
    return text


def shown(value: Any) -> str:
    """The display form of a value, not escaped."""
    return value if value.__class__ is str else display(value)


def items(value: Any) -> Any:
    """The value that ``each`` iterates over, as a collection whose emptiness is known."""
    kind = value.__class__
    if kind is list or kind is dict or kind is str or kind is bytes:
        return value
    try:
        return list(iterate(value))
    except RuntimeFault:
        error = RuntimeFault(f"Cannot iterate over {type_of(value)} in '{{ each }}'", kind="type")
    raise error


def _line(traceback: TracebackType | None, names: dict[str, Any]) -> int:
    """The line of the hole that is being executed, in the page with these globals."""
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_globals is names:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
