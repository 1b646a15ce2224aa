"""Suggests the name that was probably meant by an unknown one, from the frames that an error was raised through.

Imported when such an error is shown.
"""

from __future__ import annotations

import dis
from types import FunctionType
from typing import TYPE_CHECKING, Any

from language.errors import FILE_MARK
from language.hints import NO_NAME_LIKE_IT, did_you_mean, undefined_name_hint
from language.runtime.calls import called_as, signature_of_function, source_name
from language.values import Module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

    from language.errors import RuntimeFault

#: With more names than this, none is suggested: so large a map holds data, whose keys are not misspelt fields.
MOST_NAMES = 2000
#: A longer key is not repeated in the help of its error.
MOST_OF_A_KEY = 40


def suggest(fault: RuntimeFault, frames: list[tuple[FrameType, int]]) -> None:
    """Sets the help of an error about an unknown name, if a known name resembles it, and of a call with a wrong number of
    arguments.
    """
    if fault.code == "E0302":
        fault.help = _form_of_the_call(fault.sought, frames)
        return
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
    elif fault.code == "E0201" and fault.message.endswith(f"'{fault.sought}'"):
        fault.help = NO_NAME_LIKE_IT
    elif fault.kind == "key":
        fault.help = _with_a_default(fault.sought)


def _with_a_default(key: str) -> str:
    """The help on how to read a key that a map may lack."""
    plain = len(key) <= MOST_OF_A_KEY and key.isprintable() and not any(sign in key for sign in '"\\')
    shown = f'"{key}"' if plain else "key"
    return f"`get(m, {shown}, default)` gives the default where the map m lacks the key"


def _form_of_the_call(qualified: str, frames: list[tuple[FrameType, int]]) -> str:
    """The form of a call of the task with that qualified name; empty if the innermost frame does not determine which task it
    is.
    """
    forms = set()
    for value in frames[-1][0].f_locals.values() if frames else ():
        for task in dict.values(value) if isinstance(value, Module) else (value,):
            if isinstance(task, FunctionType) and task.__qualname__ == qualified:
                forms.add(called_as(signature_of_function(task)))
    return forms.pop() if len(forms) == 1 else ""


def visible_names(frames: list[tuple[FrameType, int]]) -> set[str]:
    """The names of the bound variables and tasks of the innermost call and of the top level of its file."""
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
    """The keys of the map that the failing instruction read, if that is a variable or a chain of fields of one."""
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
