"""Settings from the environment. An invalid value gives one warning, and the default is used."""

from __future__ import annotations

from language.values.byte_sizes import size_in_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Value = TypeVar("Value", bound=Any)

#: How many characters of an invalid value the warning shows.
_SHOWN = 100


def read_setting(
    name: str,
    text: str | None,
    read: Callable[[str], Value | None],
    wanted: str,
    default: Value,
    warn: Callable[[str], None],
    shown: str | None = None,
) -> Value:
    """The value of the variable ``name`` with this ``text``; the default where it is not set, blank or invalid.

    ``read`` returns ``None`` for an invalid text. Then ``warn`` is called with a line that says what is ``wanted`` and names
    the default, as ``shown`` where that is given.
    """
    text = (text or "").strip()
    if not text:
        return default
    value = read(text)
    if value is None:
        got = repr(text[:_SHOWN] + "…" if len(text) > _SHOWN else text)
        warn(f"{name} must be {wanted}, got {got}: using {default if shown is None else shown}")
        return default
    return value


def number(least: float = 0, *, above: bool = False) -> Callable[[str], float | None]:
    """A function that reads a finite number of at least ``least``, or greater than ``above``."""

    def read(text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if least <= value < float("inf") and not (above and value == least) else None

    return read


def whole_number(least: int, most: int) -> Callable[[str], int | None]:
    """A function that reads an unsigned integer between the two."""

    def read(text: str) -> int | None:
        digits = text.lstrip("0") or "0"
        if not (text.isascii() and text.isdigit()) or len(digits) > len(str(most)):
            return None
        return int(digits) if least <= int(digits) <= most else None

    return read


def size(text: str) -> int | None:
    """The bytes of a size such as ``16MB``; ``None`` for an invalid text and for 0."""
    return size_in_bytes(text) or None
