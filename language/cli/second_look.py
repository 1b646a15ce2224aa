"""Better help for the error that ended a run: what ``lang check`` says of the same place, and what the source there shows.

Loaded when there is such an error. A running program knows its values, and not how it is written: that a name is made further
below, that a key lacks its quotes, that a missing key stood in the target of a ``set``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from language.analysis.checker import check_program
from language.analysis.faults import faults_of
from language.analysis.meanings import Meanings
from language.errors import LanguageError
from language.hints import NO_NAME_LIKE_IT
from language.runtime.modules import Sources
from language.syntax import nodes
from language.syntax.lexer import decode_source
from language.syntax.recovery import recovered

if TYPE_CHECKING:
    from language.analysis.checker import Checked, CheckedFile
    from language.analysis.manifest import Problem
    from language.cli.source import Source
    from language.syntax.recovery import Recovered

#: A program with more characters, its modules included, is not read again: it would take a second.
MOST_READ = 60_000
#: Only errors of these codes can be known before a run.
_CODES = frozenset(("E0201", "E0202", "E0204", "E0206", "E0302", "E0303", "E0304", "E0305", "E0401"))
#: Of one place the run says the first and the check the second, where it knows that the map is a module.
_SAME = {"E0401": "E0204"}


class _TooLong(Exception):
    pass


def look_again(error: LanguageError, source: Source) -> None:
    """Sets the help of an error of a run that has none, or only what is said of all errors of its kind.

    Of a name the check knows more: the run may suggest one like it where a key lacks its quotes.
    """
    if error.code not in _CODES or not error.line or not (error.code == "E0201" or _is_general(error.help)):
        return
    left = MOST_READ

    def read(text: str, file: str) -> Recovered:
        nonlocal left
        left -= len(text)
        if left < 0:
            raise _TooLong
        return recovered(text, file)

    try:
        checked = check_program(decode_source(source.data), source.name, Sources(source.root), read=read)
        if checked.errors:
            return  # the files are no longer those that ran
        help_ = next((_shown(error, unit) for unit in checked.units.values() if unit.file == error.file), "")
        if not help_:
            found = [] if _may_lack_keys(error, checked) else faults_of(checked, Meanings(checked))
            help_ = next((problem.help for problem in found if _is_same(problem, error)), "")
            if not help_ and error.code == "E0302":
                alike = [problem for problem in found if (problem.code, problem.message) == (error.code, error.message)]
                help_ = f"line {alike[0].line}: {alike[0].help}" if len(alike) == 1 and alike[0].help else ""
    except (_TooLong, UnicodeDecodeError, RecursionError):
        return
    if help_ and help_ != NO_NAME_LIKE_IT:
        error.help = _as_of_a_run(help_)


def _as_of_a_run(help_: str) -> str:
    """A help of the check in the form of those of a run: one sentence begins small and ends without a point."""
    return help_[:1].lower() + help_[1:].removesuffix(".") if ". " not in help_ else help_


def _is_general(help_: str) -> bool:
    return not help_ or help_ == NO_NAME_LIKE_IT or help_.startswith("`get(m, ")


def _may_lack_keys(error: LanguageError, checked: Checked) -> bool:
    """Whether a key is missing in a map of data, which is read with a default; an enum has the same keys always."""
    if error.code != "E0401" or not error.help:
        return False
    unit = next((unit for unit in checked.units.values() if unit.file == error.file), None)
    enums = set() if unit is None else {node.name for node in unit.index.of(nodes.EnumDef)}
    fields = [] if unit is None else unit.index.of(nodes.Field)
    read = [node.obj for node in fields if (error.line, error.column) in (node.at, node.span[:2])]
    return not any(isinstance(owner, nodes.Name) and owner.id in enums for owner in read)


def _is_same(problem: Problem, error: LanguageError) -> bool:
    place = [(problem.file, problem.line, problem.column), (error.file, error.line, error.column)]
    code = problem.code
    return place[0] == place[1] and code in (error.code, _SAME.get(error.code))


def _shown(error: LanguageError, unit: CheckedFile) -> str:
    """What the source shows at the place of the error."""
    place = (error.line, error.column)
    if error.code == "E0401":
        return next((told for node in unit.index.of(nodes.Set) if (told := _of_set(node, place, unit.source))), "")
    if error.code == "E0201":
        return next((told for node in unit.index.of(nodes.Match) if (told := _of_match(node, place, unit.source))), "")
    return ""


def _of_set(node: nodes.Set, place: tuple[int, int], source: str) -> str:
    """A key is missing on the way to what a ``set`` writes."""
    part: nodes.Expr = node.target.obj if isinstance(node.target, (nodes.Field, nodes.Index)) else node.target
    while isinstance(part, (nodes.Field, nodes.Index)):
        if place in (part.at, part.span[:2]):
            written = _text(part.span, source)
            return f"a `set` makes the last key alone: write `set {written} to {{}}` before it" if written else ""
        part = part.obj
    return ""


def _of_match(node: nodes.Match, place: tuple[int, int], source: str) -> str:
    """A name after ``is`` was to bind the value."""
    for arm in node.arms:
        pattern = arm.pattern
        if not isinstance(pattern, nodes.ValuePattern) or not isinstance(pattern.value, nodes.Name):
            continue
        name = pattern.value.id
        if pattern.value.span[:2] != place:
            continue
        told = "a name after `is` is compared and takes no value: "
        subject = _text(node.subject.span, source)
        guard = "" if arm.guard is None else _text(arm.guard.span, source)
        if arm.guard is None:
            return f"{told}the case of all other values is `otherwise`"
        if not subject or not guard:
            return f"{told}write `is _ when c`, where the condition c names the value of the `match`"
        if isinstance(node.subject, nodes.Name):
            guard = re.sub(rf"\b{re.escape(name)}\b", subject, guard)
            return f"{told}write `is _ when {guard}`"
        return f"{told}write `let {name} be {subject}` and `match {name}` above, and `is _ when {guard}` here"
    return ""


def _text(span: nodes.Span, source: str) -> str:
    """What stands there in the source; empty when it is long or has several lines."""
    line, column, end_line, end_column = span
    if line != end_line or end_column - column > 60:
        return ""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[line - 1][column - 1 : end_column - 1]
