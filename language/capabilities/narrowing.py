"""What opened a bound of capabilities, and how to keep one inside of it: the help of a refusal there.

Loaded when a capability is refused inside of a ``sandbox`` or a tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from language.capabilities import INERT_NAMES, Capability, declared, text_literal

if TYPE_CHECKING:
    from typing import Any

#: Of more bounds than that the help names only the outermost ones.
MOST_NAMED = 3


def help_inside(request: Capability, granted: bool, openers: list[tuple[Any, bool]]) -> str:
    """How a refused request would be granted.

    Args:
        granted: the program holds the capability outside of all bounds.
        openers: what opened each bound, outermost first, and whether that bound covers the request. A ``sandbox`` is told by
            its line and whether it has ``under``, a tool by its task; ``None`` is what the host opened.
    """
    told = [] if granted else [f"add `{request.require_line}` at the top of the program"]
    held = granted
    for opener, covers in openers:
        if not covers and opener is not None and len(told) < MOST_NAMED:
            sentence = _of_sandbox(request, *opener) if type(opener) is tuple else _of_tool(request, opener, held)
            if sentence and sentence not in told:
                told.append(sentence)
        held = held and covers
    return ". ".join([told[0], *(sentence[0].upper() + sentence[1:] for sentence in told[1:])]) if told else ""


def _of_sandbox(request: Capability, line: int, keeps: bool) -> str:
    value = "true" if request.scope is None else text_literal(request.scope)
    entry = f"{text_literal(request.name)}: {value}"
    if keeps:
        return f"the `sandbox under` of line {line} keeps only what its map names: add `{entry}` to that map"
    return f"the `sandbox` of line {line} takes it away: `sandbox under {{{entry}}}`, with the lines indented below, keeps it"


def _of_tool(request: Capability, task: Any, held: bool) -> str:
    """``held``: whoever called the tool had the capability."""
    from language.capabilities.grants import declared_set

    line = request.require_line
    code = getattr(task, "__code__", None)
    name = "" if code is None else code.co_name.partition("·")[0]
    if not name.isidentifier():
        return f"a tool holds only what its own task requires: write a task whose first line is `{line}`, and pass its name"
    for wanted, scope in declared_set(task):
        if wanted not in INERT_NAMES and declared(wanted, scope).covers(request):
            wider = declared(wanted, scope).require_line
            if held and wider != line:
                return f"the task `{name}` requires more than its caller holds: write `{line}` there in place of `{wider}`"
            return ""  # what took it from the caller is told
    return f"a tool holds only what its own task requires: write `{line}` as the first line of the task `{name}`"
