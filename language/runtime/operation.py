"""Finds which builtin of a program is running. It is read from the Python stack on request and not tracked."""

from __future__ import annotations

from sys import _getframe

from language.errors import FILE_MARK
from language.registry import Family

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType

_names: dict[str, dict[CodeType, str]] = {}


def operation() -> tuple[str, str | None, int | None]:
    """The innermost running builtin, written like ``read_file()``, and the file and line of the program that called it.

    Call it below the builtin. File and line are ``None`` where no program runs.
    """
    frame: FrameType | None = _getframe(1)
    source = ""
    caller = ""
    while frame is not None:
        names = frame.f_globals
        if FILE_MARK in names:
            return (source or caller) + "()", names[FILE_MARK], frame.f_lineno
        if not source:
            family = names.get("family")
            if type(family) is Family:
                source = _builtin(family, frame.f_code)
        caller = frame.f_code.co_name
        frame = frame.f_back
    return source + "()" if source else "program", None, None


def _builtin(family: Family, code: CodeType) -> str:
    """The name of the builtin whose function has this code object; the empty text for any other function."""
    names = _names.get(family.name)
    if names is None:
        names = _names[family.name] = {b.function.__code__: b.name for b in family.builtins.values() if b.alias_of is None}
    return names.get(code, "")
