"""The classes of values for which Python has no type, and the name of every value's type.

Numbers, text, bytes, lists, maps, ``nothing`` and tasks are plain Python ``int``, ``float``, ``str``, ``bytes``, ``list``,
``dict``, ``None`` and functions. Python's ``True`` and ``False`` are never values: the booleans here are two objects of a plain
class, so that native arithmetic and order on them fail instead of computing.

A value class of another module (decimals, dates, arrays, replies) describes itself: it has a class attribute ``language_type``
(the name that ``type_of`` answers), ``display()`` for its display form, ``as_map()`` when ``language_type`` is ``"map"``, and
Python's own operators where the language has them.
"""

from __future__ import annotations

from types import CellType, FunctionType, MethodType

from language.errors import InternalError, RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Bool:
    """``true`` or ``false``. There are exactly two objects, :data:`TRUE` and :data:`FALSE`; copying and unpickling return
    them.
    """

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __bool__(self) -> bool:
        return self._number == 1

    def __eq__(self, other: object) -> bool:
        kind = other.__class__
        if kind is Bool:
            return self is other
        if kind is int or kind is float:
            return self._number == other
        return NotImplemented

    def __hash__(self) -> int:
        return self._number

    def __repr__(self) -> str:
        return "true" if self._number else "false"

    def __reduce__(self) -> str:
        return "TRUE" if self._number else "FALSE"


TRUE = Bool(1)
FALSE = Bool(0)


def to_bool(condition: object) -> Bool:
    """The language's boolean for the truth of a Python value."""
    return TRUE if condition else FALSE


class Secret:
    """A secret text or bytes. ``names`` are the public names of all its parts, from left to right.

    Only ``+`` (gives a new secret) and ``==`` (constant time, against text or another secret) work on it. Printing it shows
    its names. ``_plaintext`` is ``None`` for a secret that was sent elsewhere without its value. Such a secret can be
    printed like any other and equals nothing; reading its plaintext is an error.
    """

    __slots__ = ("_plaintext", "names")

    def __init__(self, plaintext: str | bytes | None, names: tuple[str, ...]) -> None:
        self._plaintext = plaintext
        self.names = names

    @property
    def plaintext(self) -> str | bytes:
        """The plaintext. Raises ``RuntimeFault`` for a secret without a value (:meth:`emptied`)."""
        if self._plaintext is None:
            raise RuntimeFault(
                f"{self!r} has no value here: secrets do not cross into or out of parallel_map or an agent; read it where it "
                f'is used, with secret("{self.names[0]}")'
            )
        return self._plaintext

    def emptied(self) -> Secret:
        """The same secret without its value."""
        return self if self._plaintext is None else Secret(None, self.names)

    def __add__(self, other: Any) -> Secret:
        if other.__class__ is Secret:
            names = self.names + tuple(name for name in other.names if name not in self.names)
            return Secret(_joined(self._plaintext, other._plaintext), names)
        from language.values.display import display

        return Secret(_joined(self._plaintext, display(other)), self.names)

    def __radd__(self, other: Any) -> Secret:
        from language.values.display import display

        return Secret(_joined(display(other), self._plaintext), self.names)

    def __eq__(self, other: Any) -> bool:
        if other.__class__ is Secret:
            mine, theirs = self._plaintext, other._plaintext
        elif other.__class__ is str:
            mine, theirs = self._plaintext, other
        else:
            return False
        if mine is None or mine.__class__ is not theirs.__class__:
            return False
        from hmac import compare_digest

        return compare_digest(_octets(mine), _octets(theirs))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return self._plaintext is None or len(self._plaintext) > 0

    def __repr__(self) -> str:
        return f"secret({self.names[0]})"

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> str:
        raise TypeError("a secret does not leave its process")


def _octets(plaintext: str | bytes) -> bytes:
    return plaintext.encode("utf-8", "surrogatepass") if isinstance(plaintext, str) else plaintext


def _joined(left: str | bytes | None, right: str | bytes | None) -> str | bytes | None:
    if left is None or right is None:
        return None
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    return _octets(left) + _octets(right)


class Module(dict):  # type: ignore[type-arg]
    """The namespace that ``use`` binds. It behaves as a map of the exports, each of which is read when it is accessed.

    An exported variable is shared: ``cells`` holds the cell that the module's own tasks use. Exports that never change
    (tasks, constructors) are stored in the dictionary itself, so that ``alias.task`` is a single dictionary lookup.
    ``hides(name)`` tells whether the module defines a name without exporting it.
    """

    __slots__ = ("cells", "hides", "order", "path")

    language_type = "map"

    def __init__(self, path: str, hides: Callable[[str], bool]) -> None:
        super().__init__()
        self.path = path
        self.order: list[str] = []
        self.cells: dict[str, CellType] = {}
        self.hides = hides

    def export(self, name: str, cell: CellType, *, fixed: bool) -> None:
        """Adds an export; ``fixed`` when the module never rebinds the name."""
        if name not in self.cells:
            self.order.append(name)
        self.cells[name] = cell
        if fixed and callable(cell.cell_contents):
            super().__setitem__(name, cell.cell_contents)

    def __missing__(self, name: str) -> Any:
        cell = self.cells.get(name)
        if cell is None:
            raise MissingExport(name, self)
        return cell.cell_contents

    def __setitem__(self, name: str, value: Any) -> None:
        cell = self.cells.get(name)
        if cell is None:
            raise RuntimeFault(
                f"module has no export '{name}' — only what the module exports can be set from outside",
                kind="name",
                code="E0204",
            )
        if callable(cell.cell_contents):
            raise RuntimeFault(f"cannot replace the module task '{name}' from outside the module")
        cell.cell_contents = value

    def __contains__(self, name: object) -> bool:
        return name in self.cells

    def __len__(self) -> int:
        return len(self.order)

    def __bool__(self) -> bool:
        return bool(self.order)

    def names(self) -> list[str]:
        """The exported names, in order."""
        return list(self.order)

    def as_map(self) -> dict[str, Any]:
        """The exports with their current values."""
        return {name: self.cells[name].cell_contents for name in self.order}


class MissingExport(KeyError):
    """Raised by a read of a name that a module does not export; translated into the error of the language."""

    def __init__(self, name: str, module: Module) -> None:
        super().__init__(name)
        self.name = name
        self.module = module


_TYPE_NAMES: dict[type, str] = {
    int: "number",
    float: "number",
    str: "text",
    type(None): "nothing",
    Bool: "bool",
    list: "list",
    dict: "map",
    bytes: "bytes",
    FunctionType: "task",
    MethodType: "task",
    Secret: "secret",
    complex: "complex",
}


def type_of(value: Any) -> str:
    """The name of the type of a value, as the builtin ``type_of`` returns it."""
    kind = value.__class__
    name: str | None = _TYPE_NAMES.get(kind) or getattr(kind, "language_type", None)
    if name is None:
        raise InternalError(f"an object of the Python class {kind.__name__} is no value of the language")
    return name


def is_callable(value: Any) -> bool:
    """Whether the value is a task, a lambda, a builtin or a constructor."""
    return callable(value)


def is_map(value: Any) -> bool:
    """Whether ``type_of`` calls the value a map: a map proper, a module, a reply."""
    return value.__class__ is dict or getattr(value.__class__, "language_type", None) == "map"


def as_map(value: Any) -> dict[str, Any] | None:
    """The value as a plain map (a map proper is itself, not copied), or ``None`` if it is not a map."""
    if value.__class__ is dict:
        return value
    if getattr(value.__class__, "language_type", None) == "map":
        return value.as_map()  # type: ignore[no-any-return]
    return None


def is_nan(value: Any) -> bool:
    """Whether the value is a NaN."""
    return value.__class__ is float and value != value
