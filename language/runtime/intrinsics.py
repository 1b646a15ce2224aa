"""The functions that compiled programs call: the names beginning with ``·`` in the Python code that the compiler makes.

Everything here is pure and shared by all runs. What belongs to one run is passed in through the unit
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
    """The message for an undefined name."""
    if name in ("request", "query", "params", "read_body", "read_body_bytes"):
        return (
            f"Undefined variable: '{name}'. '{name}' is only available inside route handlers (serve) — pass it as a parameter: "
            f"task handle({name})"
        )
    from language.hints import undefined_name_hint

    return f"Undefined variable: '{name}'{undefined_name_hint(name)}"


def undefined_fault(name: str) -> RuntimeFault:
    """The error of a name that nothing visible defines."""
    fault = RuntimeFault(undefined_text(name), kind="name")
    fault.sought = name
    return fault


def undefined(name: str) -> Any:
    raise undefined_fault(name)


def cannot_set(name: str) -> RuntimeFault:
    fault = RuntimeFault(f"Cannot set undefined variable: '{name}'. Use 'let' first.", kind="name", code="E0202")
    fault.sought = name
    return fault


def outside() -> RuntimeFault:
    return RuntimeFault("'give'/'stop' used outside of a task or loop", code="E0803")


def raised(value: Any, kind: ErrorKind = "raised") -> RuntimeFault:
    return RuntimeFault(display(value), kind=kind)


def fault(message: str) -> RuntimeFault:
    return RuntimeFault(message, kind="syntax")


def missing(task: str, param: str) -> RuntimeFault:
    return missing_argument(task, param)


def unavailable(word: str) -> Any:
    raise RuntimeFault(f"`{word}` is not available in this version of the language", kind="unsupported")


def caught(error: Exception) -> str:
    """The message that ``recover`` receives. Re-raises an error that a program may not catch."""
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
    """Backtick text: its pieces in their display form. Where a piece is a secret, the result is a secret."""
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
    """:func:`template` in a program under limits: the memory for a large text is checked before the text is built."""
    texts = [piece if type(piece) in (str, Secret) else display(piece) for piece in pieces]
    plain = [text for text in texts if type(text) is str]
    allowance.refuse_together(plain, sum(map(len, plain)))
    return template(*texts)


def cancellation_point() -> None:
    """Lets a pending cancellation be delivered. Python delivers it at a call, and statements that consist only of operators
    make no call.
    """


def _secret_template(pieces: tuple[Any, ...]) -> Any:
    whole: Any = ""
    for piece in pieces:
        whole = operators.add(whole, piece if type(piece) in (str, Secret) else display(piece))
    return whole


def member(item: Any, container: Any) -> bool:
    return operators.contains(container, item)


def field_of(value: Any, name: str, outer: str, path: str) -> Any:
    """The inner read of ``outer of path.name``: the error of a missing key explains how the expression is parsed."""
    if type(value) is dict and name not in value:
        text = f"{path}.{name}"
        raise RuntimeFault(
            f"Map has no key '{name}'. note: '{outer} of {text}' reads as '{outer} of ({text})' — to get "
            f"'({outer} of {path}).{name}', bind first: let x be {outer} of {path}, then x.{name}",
            kind="key",
        )
    return operators.field(value, name)


def iterate(value: Any) -> Iterable[Any]:
    """The iterable that ``each`` iterates over."""
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
        kind="type",
    )


def irange(*bounds: Any) -> range:
    """``range(...)`` as the collection of ``each``: an iterator, without building the list."""
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
        raise RuntimeFault(f"variant {value['__variant']} binds {len(found)} fields, got {count}", kind="type", code="E0302")
    return found


def taken_apart(value: Any, shape: tuple[Any, ...]) -> list[Any]:
    """The values for the names of a ``let [a, b]`` or ``let {a, b}``."""
    from language.runtime import destructuring

    return destructuring.taken_apart(value, shape)


def match_eq(subject: Any, value: Any) -> bool:
    try:
        return operators.eq(subject, value)
    except RuntimeFault as error:
        raise RuntimeFault("match: " + error.message, kind=error.kind, code=error.code) from None


# ---- writing in place --------------------------------------------------------------------------------------------------


def own(value: Any) -> Any:
    """A shallow copy of a list or map; any other value itself."""
    kind = type(value)
    if kind is list:
        return value[:]
    if kind is dict:
        return value.copy()
    return value


def put(container: Any, key: Any, value: Any) -> None:
    """Stores a copied inner container back in the container that it was read from."""
    if type(container) is dict and type(key) is not str:
        key = key_text(key)
    elif type(container) is list and type(key) is not int:
        key = operators.to_index(key)
    container[key] = value


def set_field(container: Any, key: str, value: Any) -> None:
    if type(container) is dict or type(container) is Module:
        container[key] = value
    else:
        raise RuntimeFault(f"Cannot set property on {type_of(container)}", kind="type", code="E0305")


def writable(container: Any, value: Any) -> None:
    """Refuses a value that ``set x[i]`` cannot write into. ``value`` is an argument so that its own errors are raised first."""
    if type(container) not in (list, dict, Module):
        raise RuntimeFault(f"Cannot set index on {type_of(container)}", kind="type", code="E0305")


def set_index(container: Any, key: Any, value: Any) -> None:
    if type(container) is not list:
        container[key_text(key)] = value
        return
    position = operators.to_index(key)
    size = len(container)
    if not -size <= position < size:
        from language.values.display import number_text

        raise RuntimeFault(
            f"Index {number_text(position)} out of bounds (list length {size}){INDEX_MESSAGE}",
            kind="key",
            code="E0402",
            help=operators.positions(size),
        )
    container[position] = value


def insert_in_place(items: list[Any], position: Any, value: Any) -> None:
    at = operators.to_index(position)
    size = len(items)
    if not -size <= at <= size:
        raise RuntimeFault(
            f"insert(): position {at} out of range for a list of length {size} (valid: -{size}..{size})",
            kind="key",
            code="E0402",
        )
    items.insert(at, value)


def merge_in_place(target: dict[str, Any], other: Any) -> None:
    if type(other) is dict:
        target.update(other)
        return
    from language.values import as_map

    mapping = as_map(other)
    if mapping is None:
        raise RuntimeFault(f"merge(): argument 2 is {type_of(other)}, not a map", kind="type")
    target.update(mapping)


def lifted(make: Callable[[], FunctionType], cells: FunctionType, defaults: tuple[Any, ...]) -> FunctionType:
    """The function that ``make`` returns, bound to the variables of ``cells``, a closure over all variables that it uses."""
    code = make().__code__
    known = _cells_of(cells)
    closure = tuple([known[name] for name in code.co_freevars])
    return FunctionType(code, make.__globals__, code.co_name, defaults or None, closure)


def _cells_of(closure: FunctionType) -> dict[str, CellType]:
    """The variables of a closure by name, cached on the closure: thousands of functions may need them."""
    known: dict[str, CellType] | None = closure.__dict__.get("cells")
    if known is None:
        known = dict(zip(closure.__code__.co_freevars, closure.__closure__ or ()))
        closure.__dict__["cells"] = known
    return known


#: Exceptions of Python after which the slower exact operation is called, which gives the result or the right error.
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
    cancellation_point,
    allowance.add_within,
    field_of,
    variant_tag,
    payload,
    taken_apart,
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
