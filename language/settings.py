"""Settings that the environment makes: one that cannot be read is one warning, and its default counts."""

from __future__ import annotations

from language.values.byte_sizes import size_in_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Value = TypeVar("Value", bound=Any)

#: Characters of a wrong value that its warning shows.
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
    """The value that the variable ``name`` has with this ``text``; the default where it is not set, blank or wrong.

    ``read`` gives ``None`` for a wrong one: then ``warn`` gets a line that says what is ``wanted`` and names the default, as
    ``shown`` where it is given.
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
    """Reads a finite number of at least ``least``, or ``above`` it."""

    def read(text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if least <= value < float("inf") and not (above and value == least) else None

    return read


def whole_number(least: int, most: int) -> Callable[[str], int | None]:
    """Reads an integer between the two, without a sign."""

    def read(text: str) -> int | None:
        digits = text.lstrip("0") or "0"
        if not (text.isascii() and text.isdigit()) or len(digits) > len(str(most)):
            return None
        return int(digits) if least <= int(digits) <= most else None

    return read


def size(text: str) -> int | None:
    """Reads a size such as ``16MB``, in bytes, of at least one."""
    return size_in_bytes(text) or None
