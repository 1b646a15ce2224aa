"""Which name may have been meant where one was looked for and is not there, told from the frames that an error passed.

Loaded when such an error is shown.
"""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING, Any

from language.errors import FILE_MARK
from language.hints import did_you_mean, undefined_name_hint
from language.runtime.calls import source_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

    from language.errors import RuntimeFault

#: Of more names than that none is suggested: a map of data has no misspelt fields.
MOST_NAMES = 2000


def suggest(fault: RuntimeFault, frames: list[tuple[FrameType, int]]) -> None:
    """Sets the help of an error about a name, where one known name is near."""
    known: Iterable[str] = fault.known
    if fault.kind == "name" and not known:
        if undefined_name_hint(fault.sought):
            return  # the message says what to write
        known = visible_names(frames)
        if fault.code == "E0201" and not did_you_mean(fault.sought, known):  # the program's own names are nearer
            known = _library_names()
    elif fault.kind == "key" and not known and frames:
        known = _keys_of_the_read(*frames[-1], fault.sought)
    names = [name for name in known if type(name) is str]
    if len(names) > MOST_NAMES:
        return
    meant = did_you_mean(fault.sought, names)
    if meant:
        fault.help = f"did you mean `{meant}`?"


def visible_names(frames: list[tuple[FrameType, int]]) -> set[str]:
    """The variables and tasks with a value, of the innermost call and of the top level of its file."""
    if not frames:
        return set()
    innermost = frames[-1][0]
    file = innermost.f_globals[FILE_MARK]
    top = next((frame for frame, _ in frames if frame.f_globals[FILE_MARK] == file), innermost)
    names = [name for frame in (innermost, top) for name in frame.f_locals]
    return {source_name(name) for name in names if not name.startswith("·") and not name.endswith("·b")} - {""}


def _library_names() -> Iterator[str]:
    from language import library

    builtins = library()
    yield from (name for name, builtin in builtins.all_builtins().items() if builtin.alias_of is None)
    yield from builtins.all_constants()


def _keys_of_the_read(frame: FrameType, instruction: int, key: str) -> Iterable[str]:
    """The keys of the map that the failing instruction read, where that is a variable or a chain of fields of one."""
    steps = [step for step in dis.get_instructions(frame.f_code) if step.offset < instruction and step.opname != "CACHE"]
    if not steps or steps.pop().argval != key:
        return ()
    path: list[str] = []
    while len(steps) > 1 and steps[-1].opname in ("BINARY_SUBSCR", "BINARY_OP") and type(steps[-2].argval) is str:
        steps.pop()
        path.append(steps.pop().argval)
    if not steps or not steps[-1].opname.startswith(("LOAD_FAST", "LOAD_DEREF")) or type(steps[-1].argval) is not str:
        return ()
    value: Any = frame.f_locals.get(steps[-1].argval)
    while path and isinstance(value, dict):
        value = value.get(path.pop())
    return value if isinstance(value, dict) and not path else ()
