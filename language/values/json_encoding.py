"""Writes a value as JSON text (RFC 8259): with Python's C encoder where its result is the same, else step by step."""

from __future__ import annotations

import sys

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Bool, Module, Secret, as_map, type_of
from language.values.allowance import refuse_beyond
from language.values.display import display, number_text, quote
from language.values.unfolding import BEFORE_ASKING, refuse_unfolded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any

MOST_DEPTH = 1000
REDACTED = '"[redacted]"'

# The deepest value that the C encoder is given: it recurses on the stack of the calling thread.
_FAST_DEPTH = 64
# The most characters that the C encoder writes in one call; the most entries of a larger value in one call; and the characters
# that an item counts for.
_AT_ONCE = 1 << 23
_TOGETHER = 1 << 12
_ITEM = 1 << 7
_CONTAINERS = frozenset((dict, list, Module))
_LEAVES = frozenset((int, float, type(None), Bool))


class _NeedsExactPath(Exception):
    """Raised for a value that the C encoder would write otherwise than the language does."""


def encode(
    value: Any,
    builtin: str = "json_encode",
    on_secret: Callable[[Secret], None] | None = None,
    place: str = "the value",
    *,
    tasks: bool = False,
) -> str:
    """The JSON text of a value on one line, ASCII only, as Python's ``json.dumps`` writes it by default.

    ``on_secret`` is called for each secret, which is written as ``"[redacted]"``. With ``tasks`` a task is written as its text.
    Raises ``RuntimeFault`` that begins with the name of the builtin and names the place (``the value["f"]``), for a value that
    is not data (such as a task) or is nested deeper than ``MOST_DEPTH``.
    """
    weight = _plain_weight(value, builtin)
    if weight is not None:
        try:
            if weight <= _AT_ONCE:
                return "".join((_fast_encoder or _make_fast_encoder())(value, 0))
            pieces = _Pieces()
            pieces.write(value)
            return "".join(pieces.out)
        except _NeedsExactPath:
            pass
        except ValueError:
            pass  # An integer with more digits than the process lets Python print.
    writer = _Writer(builtin, on_secret, place, tasks)
    writer.write(value)
    return "".join(writer.out)


def encode_for_script(value: Any, builtin: str, on_secret: Callable[[Secret], None] | None = None) -> str:
    """As :func:`encode`, with a result that is safe inside an HTML ``<script>`` element."""
    try:
        text = encode(value, builtin, on_secret)
    except RuntimeFault as fault:
        if not fault.message.endswith(" is a task, not data"):
            raise
        error = RuntimeFault(
            f"{fault.message} — JSON cannot hold code; store what it computes, or leave it out", kind=fault.kind
        )
    else:
        return _without_markup(text)
    raise error


def _without_markup(text: str) -> str:
    # In JSON these three characters occur only inside strings, where an escape means the same.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def base64_text(data: bytes) -> str:
    """Standard padded base64, the form of bytes in JSON, CSV and TOML."""
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode()


def _plain_weight(value: Any, builtin: str) -> int | None:
    """The approximate length of the text of the value; ``None`` for a value that the C encoder cannot write safely."""
    # Level by level; only a level that holds containers is examined item by item.
    if value.__class__ is dict:
        level: Collection[Any] = value.values()
    elif value.__class__ is list:
        level = value
    elif value.__class__ is str:
        return len(value)
    else:
        return None if value.__class__ is Module else _ITEM
    asked = False
    weight = 0
    for _ in range(_FAST_DEPTH):
        kinds = set(map(type, level))
        weight += _ITEM * len(level)
        if str in kinds:
            weight += sum(map(len, level if len(kinds) == 1 else [item for item in level if item.__class__ is str]))
        if kinds.isdisjoint(_CONTAINERS):
            return weight
        # The C encoder would write a module as a dictionary without its exported variables.
        if Module in kinds:
            return None
        below: list[Any] = []
        for item in level:
            if item.__class__ is dict:
                below += item.values()
            elif item.__class__ is list:
                below += item
        if len(below) > BEFORE_ASKING and not asked:
            refuse_unfolded(value, f"{builtin}: ")
            asked = True
        level = below
    return None


class _Pieces:
    """Writes a large value with the C encoder in short calls. Cancellation is possible between them."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self._length = 0
        self._encoder = _fast_encoder or _make_fast_encoder()

    def write(self, value: Any) -> None:
        """Appends the text of a value to ``out``."""
        weight = _plain_weight(value, "")
        if weight is None:
            raise _NeedsExactPath
        if weight <= _AT_ONCE:
            self._append("".join(self._encoder(value, 0)))
        elif value.__class__ is str:
            self._append('"')
            for start in range(0, len(value), _AT_ONCE):
                self._append("".join(self._encoder(value[start : start + _AT_ONCE], 0))[1:-1])
            self._append('"')
        else:
            is_map = value.__class__ is dict
            entries: list[Any] = list(value.items()) if is_map else value
            self._append("{" if is_map else "[")
            for start in range(0, len(entries), _TOGETHER):
                if start:
                    self._append(", ")
                self._write_entries(entries[start : start + _TOGETHER], is_map)
            self._append("}" if is_map else "]")

    def _write_entries(self, entries: list[Any], is_map: bool) -> None:
        """Some entries of a list or map, without its brackets."""
        some: Any = dict(entries) if is_map else entries
        weight = _plain_weight(some, "")
        if weight is not None and weight <= _AT_ONCE:
            self._append("".join(self._encoder(some, 0))[1:-1])
            return
        if len(entries) > 1:
            half = len(entries) // 2
            self._write_entries(entries[:half], is_map)
            self._append(", ")
            self._write_entries(entries[half:], is_map)
        elif is_map:
            ((key, item),) = entries
            self._append("".join(self._encoder(key, 0)) + ": ")
            self.write(item)
        else:
            self.write(entries[0])

    def _append(self, text: str) -> None:
        self._length += len(text)
        refuse_beyond(self._length)
        self.out.append(text)


def _plain(value: Any) -> Any:
    if value is TRUE:
        return True
    if value is FALSE:
        return False
    if value.__class__ is bytes:
        return base64_text(value)
    raise _NeedsExactPath


def _make_fast_encoder() -> Callable[[Any, int], Iterable[str]]:
    global _fast_encoder
    from json import encoder

    # Like JSONEncoder.encode, but made once. Python's implementation where there is no C encoder.
    made: Any = getattr(encoder, "c_make_encoder", None)
    if made is None:
        slow = encoder.JSONEncoder(check_circular=False, default=_plain)
        _fast_encoder = lambda value, _: (slow.encode(value),)  # noqa: E731
    else:
        _fast_encoder = made(None, _plain, encoder.encode_basestring_ascii, None, ": ", ", ", False, False, True)
    return _fast_encoder


_fast_encoder: Callable[[Any, int], Iterable[str]] | None = None


class _Writer:
    """Writes every type, step by step, and knows the path for errors. Refuses nesting deeper than ``MOST_DEPTH``."""

    def __init__(
        self, builtin: str, on_secret: Callable[[Secret], None] | None = None, place: str = "the value", tasks: bool = False
    ) -> None:
        from json.encoder import encode_basestring_ascii

        self.out: list[str] = []
        self._text: Callable[[str], str] = encode_basestring_ascii
        self._builtin = builtin
        self._on_secret = on_secret
        self._place = place
        self._tasks = tasks
        self._path: list[str | int | None] = []

    def write(self, value: Any) -> None:
        """Appends the text of a value to ``out``. It keeps its own stack and does not recurse."""
        out, path, text = self.out, self._path, self._text
        # For each open container: an iterator over its remaining entries, and whether it is a map.
        open_ones: list[tuple[Iterator[tuple[Any, Any]], bool]] = []
        ask_at = BEFORE_ASKING
        if not self._opened(value, open_ones):
            out.append(self._scalar(value))
        while open_ones:
            entries, is_map = open_ones[-1]
            for key, item in entries:
                # The path entry of a container without items so far is None.
                separator = ", " if path[-1] is not None else ""
                path[-1] = key
                if is_map:
                    out.append(f"{separator}{text(key)}: ")
                elif separator:
                    out.append(separator)
                if item.__class__ is str:
                    out.append(text(item))
                elif item.__class__ in _LEAVES:
                    out.append(self._scalar(item))
                elif self._opened(item, open_ones):
                    if len(out) > ask_at:
                        refuse_unfolded(value, f"{self._builtin}: ")
                        ask_at = sys.maxsize
                    break
                else:
                    out.append(self._scalar(item))
            else:
                open_ones.pop()
                path.pop()
                out.append("}" if is_map else "]")

    def _opened(self, value: Any, open_ones: list[tuple[Iterator[tuple[Any, Any]], bool]]) -> bool:
        if getattr(value.__class__, "language_type", None) == "array":
            value = value.to_list()
        is_list = value.__class__ is list
        entries = None if is_list else as_map(value)
        if not is_list and entries is None:
            return False
        if len(open_ones) == MOST_DEPTH:
            raise RuntimeFault(f"{self._builtin}: the value is nested more than {MOST_DEPTH} levels deep", kind="resources")
        self.out.append("[" if entries is None else "{")
        self._path.append(None)
        open_ones.append((enumerate(value), False) if entries is None else (iter(entries.items()), True))
        return True

    def _scalar(self, value: Any) -> str:
        kind = value.__class__
        if kind is str:
            return self._text(value)
        if kind is int:
            return number_text(value)
        if kind is float:
            return _float_text(value)
        if value is None:
            return "null"
        if kind is Bool:
            return "true" if value else "false"
        if kind is Secret:
            if self._on_secret is not None:
                self._on_secret(value)
            return REDACTED
        if kind is bytes:
            return '"' + base64_text(value) + '"'
        if kind is complex:
            return f'{{"re": {_float_text(value.real)}, "im": {_float_text(value.imag)}}}'
        return self._other(value)

    def _other(self, value: Any) -> str:
        name = type_of(value)
        if name == "decimal":
            return number_text(value)
        if name == "array":
            return _float_text(value.to_list())  # an array without dimensions is a number
        if name in ("date", "datetime", "duration"):
            return self._text(value.display())
        if self._tasks and name == "task":
            return self._text(display(value))
        raise RuntimeFault(f"{self._builtin}: {self._here()} is a {name}, not data", kind="type")

    def _here(self) -> str:
        return self._place + "".join(f"[{quote(step) if isinstance(step, str) else step}]" for step in self._path)


def _float_text(number: float) -> str:
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    return repr(number)
