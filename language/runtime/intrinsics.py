"""What compiled programs call: the names beginning with ``·`` in the Python that the compiler writes.

Everything here is pure and shared by all runs; what belongs to one run comes in through the unit
(``language.runtime.instance``).
"""

from __future__ import annotations

from types import FunctionType

from language.errors import RuntimeFault, StopLoop
from language.registry import MISSING, REQUIRED, Mark
from language.runtime.calls import call_loose, call_named, missing_argument
from language.runtime.reference_counts import refs
from language.values import FALSE, TRUE, Module, Secret, allowance, operators, type_of
from language.values.display import display, key_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CellType
    from typing import Any

    from language.errors import ErrorKind


UNSET = Mark("unset")
BREAK = Mark("break")

INDEX_MESSAGE = " — to add an item: set xs to append(xs, x)"


# ---- errors ------------------------------------------------------------------------------------------------------------


def undefined_text(name: str) -> str:
    """The message for a name that means nothing."""
    if name in ("request", "query", "params", "read_body", "read_body_bytes"):
        return (
            f"Undefined variable: '{name}'. '{name}' is only available inside route handlers (serve) — pass it as a parameter: "
            f"task handle({name})"
        )
    from language.hints import undefined_name_hint

    return f"Undefined variable: '{name}'{undefined_name_hint(name)}"


def undefined(name: str) -> Any:
    raise RuntimeFault(undefined_text(name), located=True, kind="name")


def cannot_set(name: str) -> RuntimeFault:
    return RuntimeFault(f"Cannot set undefined variable: '{name}'. Use 'let' first.", kind="name")


def outside() -> RuntimeFault:
    return RuntimeFault("'give'/'stop' used outside of a task or loop")


def raised(value: Any, kind: ErrorKind = "raised") -> RuntimeFault:
    return RuntimeFault(display(value), located=True, kind=kind)


def fault(message: str) -> RuntimeFault:
    return RuntimeFault(message, located=True, kind="syntax")


def missing(task: str, param: str) -> RuntimeFault:
    return missing_argument(task, param)


def unavailable(word: str) -> Any:
    raise RuntimeFault(f"`{word}` is not available in this version of the language", located=True, kind="unsupported")


def caught(error: Exception) -> str:
    """The message that ``recover`` receives; errors that are no program's pass on."""
    if type(error) is RuntimeFault:
        message = error.message
    else:
        from language.runtime.python_errors import translate

        message = translate(error).message
    error.__traceback__ = None
    error.__context__ = None
    return message


# ---- values ------------------------------------------------------------------------------------------------------------


def template(*pieces: Any) -> Any:
    """Backtick text: pieces in their display form; a secret among them makes the whole a secret."""
    texts: list[str] = []
    for piece in pieces:
        if type(piece) is str:
            texts.append(piece)
        elif type(piece) is Secret:
            return _secret_template(pieces)
        else:
            texts.append(display(piece))
    return "".join(texts)


def template_within(*pieces: Any) -> Any:
    """:func:`template` in a program under limits: a large text asks before it is put together."""
    texts = [piece if type(piece) in (str, Secret) else display(piece) for piece in pieces]
    plain = [text for text in texts if type(text) is str]
    allowance.refuse_together(plain, sum(map(len, plain)))
    return template(*texts)


def turn() -> None:
    """A call, before which Python delivers what ends a program: straight lines of operators give no other occasion."""


def _secret_template(pieces: tuple[Any, ...]) -> Any:
    whole: Any = ""
    for piece in pieces:
        whole = operators.add(whole, piece if type(piece) in (str, Secret) else display(piece))
    return whole


def member(item: Any, container: Any) -> bool:
    return operators.contains(container, item)


def field_of(value: Any, name: str, outer: str, path: str) -> Any:
    """The inner read of ``outer of path.name``: a missing key gets the note on how it reads."""
    if type(value) is dict and name not in value:
        text = f"{path}.{name}"
        raise RuntimeFault(
            f"Map has no key '{name}'. note: '{outer} of {text}' reads as '{outer} of ({text})' — to get "
            f"'({outer} of {path}).{name}', bind first: let x be {outer} of {path}, then x.{name}",
            located=True,
            kind="key",
        )
    return operators.field(value, name)


def iterate(value: Any) -> Iterable[Any]:
    """What ``each`` walks."""
    kind = type(value)
    if kind is list or kind is dict or kind is str or kind is bytes:
        return value  # type: ignore[no-any-return]
    if kind is Module:
        return list(value.names())
    walk = getattr(value, "iterate", None)
    if walk is not None:
        return walk()  # type: ignore[no-any-return]
    raise RuntimeFault(
        f"Cannot iterate over {type_of(value)} — each walks a list, the keys of a map, the characters of a text "
        "or the values of bytes",
        located=True,
        kind="type",
    )


def irange(*bounds: Any) -> range:
    """``range(...)`` as the collection of ``each``: never built."""
    exact = [bound if type(bound) is int else operators.to_index(bound) for bound in bounds if bound is not None]
    if len(exact) == 3 and exact[2] == 0:
        raise RuntimeFault("range() arg 3 must not be zero")
    return range(*exact)


def variant_tag(value: Any) -> str | None:
    """``Shape.rect`` for the constructor or the plain value of an enum variant, else ``None``."""
    if type(value) is dict:
        tag = value.get("__variant")
        return tag if type(tag) is str else None
    code = getattr(value, "__code__", None)
    if code is not None and code.co_name.startswith("variant:"):
        name: str = code.co_name
        return name[8 : name.index("@")]
    return None


def payload(value: dict[str, Any], count: int) -> list[Any]:
    """The payload of a variant value, in order; ``count`` is how many the pattern binds."""
    found = [item for key, item in value.items() if key != "__variant"]
    if len(found) != count:
        raise RuntimeFault(f"variant {value['__variant']} binds {len(found)} fields, got {count}", kind="type")
    return found


def match_eq(subject: Any, value: Any) -> bool:
    try:
        return operators.eq(subject, value)
    except RuntimeFault as error:
        raise RuntimeFault("match: " + error.message, kind=error.kind) from None


# ---- writing in place --------------------------------------------------------------------------------------------------


def own(value: Any) -> Any:
    """A copy of one level of a list or map; anything else is itself."""
    kind = type(value)
    if kind is list:
        return value[:]
    if kind is dict:
        return value.copy()
    return value


def put(container: Any, key: Any, value: Any) -> None:
    """Puts a copied inner container back where it was read."""
    if type(container) is dict and type(key) is not str:
        key = key_text(key)
    elif type(container) is list and type(key) is not int:
        key = operators.to_index(key)
    container[key] = value


def set_field(container: Any, key: str, value: Any) -> None:
    if type(container) is dict or type(container) is Module:
        container[key] = value
    else:
        raise RuntimeFault(f"Cannot set property on {type_of(container)}", located=True, kind="type")


def writable(container: Any, value: Any) -> None:
    """Refuses what ``set x[i]`` cannot write into; the value is an argument because its own errors come first."""
    if type(container) not in (list, dict, Module):
        raise RuntimeFault(f"Cannot set index on {type_of(container)}", located=True, kind="type")


def set_index(container: Any, key: Any, value: Any) -> None:
    if type(container) is not list:
        container[key_text(key)] = value
        return
    position = operators.to_index(key)
    size = len(container)
    if not -size <= position < size:
        from language.values.display import number_text

        raise RuntimeFault(
            f"Index {number_text(position)} out of bounds (list length {size}){INDEX_MESSAGE}", located=True, kind="key"
        )
    container[position] = value


def insert_in_place(items: list[Any], position: Any, value: Any) -> None:
    at = operators.to_index(position)
    size = len(items)
    if not -size <= at <= size:
        raise RuntimeFault(
            f"insert(): position {at} out of range for a list of length {size} (valid: -{size}..{size})",
            located=True,
            kind="key",
        )
    items.insert(at, value)


def merge_in_place(target: dict[str, Any], other: Any) -> None:
    if type(other) is dict:
        target.update(other)
        return
    from language.values import as_map

    mapping = as_map(other)
    if mapping is None:
        raise RuntimeFault(f"merge(): argument 2 is {type_of(other)}, not a map", located=True, kind="type")
    target.update(mapping)


def lifted(make: Callable[[], FunctionType], cells: FunctionType, defaults: tuple[Any, ...]) -> FunctionType:
    """The function that ``make`` makes, over the variables of ``cells``, a closure over all those that it uses."""
    code = make().__code__
    known = _cells_of(cells)
    closure = tuple([known[name] for name in code.co_freevars])
    return FunctionType(code, make.__globals__, code.co_name, defaults or None, closure)


def _cells_of(closure: FunctionType) -> dict[str, CellType]:
    """The variables of a closure by their names, kept with it: thousands of functions may ask."""
    known: dict[str, CellType] | None = closure.__dict__.get("cells")
    if known is None:
        known = dict(zip(closure.__code__.co_freevars, closure.__closure__ or ()))
        closure.__dict__["cells"] = known
    return known


#: What Python raises where the exact form has a result or the right error.
REFUSED = (TypeError, ArithmeticError, LookupError, ValueError)

NAMES: dict[str, Any] = {
    "·T": TRUE,
    "·F": FALSE,
    "·UNSET": UNSET,
    "·REQUIRED": REQUIRED,
    "·MISSING": MISSING,
    "·BREAK": BREAK,
    "·E": REFUSED,
    "·Exception": Exception,
    "·StopLoop": StopLoop,
    "·type": type,
    "·len": len,
    "·range": range,
    "·str": str,
    "·int": int,
    "·float": float,
    "·list": list,
    "·dict": dict,
    "·refs": refs,
    "·iter": iterate,
    "·irange": irange,
    "·key": key_text,
    "·member": member,
    "·call_named": call_named,
    "·call_loose": call_loose,
}
_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    operators.add,
    operators.sub,
    operators.mul,
    operators.div,
    operators.floordiv,
    operators.mod,
    operators.power,
    operators.negate,
    operators.lt,
    operators.le,
    operators.gt,
    operators.ge,
    operators.eq,
    operators.ne,
    operators.index,
    operators.field,
    undefined,
    cannot_set,
    outside,
    raised,
    fault,
    missing,
    unavailable,
    caught,
    template,
    template_within,
    turn,
    allowance.add_within,
    field_of,
    variant_tag,
    payload,
    match_eq,
    own,
    put,
    set_field,
    set_index,
    writable,
    insert_in_place,
    merge_in_place,
    lifted,
)
for _function in _FUNCTIONS:
    NAMES["·" + _function.__name__] = _function
