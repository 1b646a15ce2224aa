"""One program as it stands: its files, what is wrong with them, what their names mean. Made off the event loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from language.analysis.checker import Checked, CheckedFile, check_program
from language.analysis.manifest import Problem
from language.analysis.problems import problems_of
from language.analysis.symbols import Symbols, symbols_of
from language.lsp.documents import text_on_disk
from language.native.host import NativeHost
from language.runtime.modules import BundledSources, Sources
from language.syntax.recovery import Recovered, recovered

#: The most trees that are kept.
MOST_TREES = 200


class Superseded(Exception):
    """The program was changed while it was being analysed: nobody wants the result."""


@dataclass(frozen=True, slots=True)
class ProgramAnalysis:
    """What is known of a program whose entry file is ``entry``, with the texts that it was read from by their file."""

    entry: str
    checked: Checked
    problems: tuple[Problem, ...]
    symbols: Symbols
    texts: Mapping[str, str]

    def unit(self, file: str) -> CheckedFile | None:
        """The parsed file of that path."""
        for unit in self.checked.units.values():
            if unit.file == file:
                return unit
        real = os.path.realpath(file)
        return next((unit for unit in self.checked.units.values() if os.path.realpath(unit.file) == real), None)


class _EditorSources(Sources):
    """Modules as they stand in the editor, else on the disk."""

    def __init__(self, root: str, texts: Mapping[str, str]) -> None:
        super().__init__(root)
        self._texts = texts
        self.given: dict[str, str] = {}

    def read(self, real: str, path: str) -> str:
        text = self._texts.get(real)
        if text is None:
            text = super().read(real, path)
        self.given[real] = text
        return text


class ParsedFiles:
    """The trees of the files that were read last: of most programs one file changes, and the others are as they were."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, Recovered]] = {}

    def read(self, source: str, file: str) -> Recovered:
        """The tree of a text, the known one where the file had the same text before."""
        known = self._known.pop(file, None)
        if known is None or known[0] != source:
            known = (source, recovered(source, file))
        self._known[file] = known
        while len(self._known) > MOST_TREES:
            del self._known[next(iter(self._known))]
        program, errors, words = known[1]
        return Recovered(program, list(errors), words)


def analyse(
    entry: str,
    texts: Mapping[str, str],
    superseded: Callable[[], bool] = lambda: False,
    read: Callable[[str, str], Recovered] = recovered,
) -> ProgramAnalysis:
    """Analyses the program with that entry file; runs nothing of it.

    ``texts`` are the open documents by their real path. ``superseded`` is asked between the steps whether the result is still
    wanted; raises :class:`Superseded` when it is not. ``read`` parses a file.
    """

    def go_on() -> None:
        if superseded():
            raise Superseded

    is_file = os.path.isabs(entry)
    text = texts.get(os.path.realpath(entry) if is_file else entry)
    if text is None:
        text = text_on_disk(entry) or ""
    sources = _EditorSources(os.path.dirname(entry), texts) if is_file else BundledSources({})
    files = NativeHost().files if is_file else None
    checked = check_program(text, entry, sources, files, read)
    go_on()
    found = problems_of(checked)
    go_on()
    given = {entry: text}
    given.update(sources.given if isinstance(sources, _EditorSources) else {})
    return ProgramAnalysis(entry, checked, (*found.errors, *found.warnings), symbols_of(checked), given)
