"""One program as it stands: its files, what is wrong with them, what their names mean. Made off the event loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from language.analysis.checker import Checked, CheckedFile, check_program
from language.analysis.manifest import Problem
from language.analysis.problems import problems_of
from language.analysis.resolutions import resolutions_of
from language.analysis.symbols import Symbols, symbols_of
from language.compiler.resolution import Resolution
from language.lsp.documents import text_on_disk
from language.native.host import NativeHost
from language.runtime.modules import BundledSources, Sources
from language.syntax import nodes
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
    texts: Mapping[str, str]

    @property
    def symbols(self) -> Symbols:
        """The names of the program. They are found when they are first asked for: the problems are shown before that."""
        return symbols_of(self.checked)

    @property
    def has_symbols(self) -> bool:
        """Whether the names were found already."""
        return self.checked.symbols is not None

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
        self._resolved: dict[tuple[str, bool], tuple[nodes.Program, Resolution]] = {}

    def read(self, source: str, file: str) -> Recovered:
        """The tree of a text, the known one where the file had the same text before."""
        known = self._known.pop(file, None)
        if known is None or known[0] != source:
            # Somebody who types a line leaves it incomplete key after key.
            known = (source, recovered(source, file, likely_faulty=known is not None and bool(known[1].errors)))
        self._known[file] = known
        while len(self._known) > MOST_TREES:
            del self._known[next(iter(self._known))]
        return known[1]._replace(errors=list(known[1].errors))

    def resolve(self, checked: Checked) -> None:
        """Gives the program the resolutions of those of its files that had the same tree before, and keeps the others."""
        for key, unit in checked.units.items():
            program, resolution = self._resolved.get((unit.file, bool(key)), (None, None))
            if program is unit.program and resolution is not None:
                checked.resolutions[key] = resolution
        for key, resolution in resolutions_of(checked).items():
            unit = checked.units[key]
            self._resolved.pop((unit.file, bool(key)), None)
            self._resolved[unit.file, bool(key)] = unit.program, resolution
        while len(self._resolved) > MOST_TREES:
            del self._resolved[next(iter(self._resolved))]


def analyse(
    entry: str,
    texts: Mapping[str, str],
    superseded: Callable[[], bool] = lambda: False,
    parsed: ParsedFiles | None = None,
) -> ProgramAnalysis:
    """Analyses the program with that entry file; runs nothing of it.

    ``texts`` are the open documents by their real path. ``superseded`` is asked between the steps whether the result is still
    wanted; raises :class:`Superseded` when it is not. ``parsed`` has the trees of files that did not change.
    """
    parsed = parsed or ParsedFiles()

    def go_on() -> None:
        if superseded():
            raise Superseded

    is_file = os.path.isabs(entry)
    text = texts.get(os.path.realpath(entry) if is_file else entry)
    if text is None:
        text = text_on_disk(entry) or ""
    sources = _EditorSources(os.path.dirname(entry), texts) if is_file else BundledSources({})
    files = NativeHost().files if is_file else None
    checked = check_program(text, entry, sources, files, parsed.read)
    go_on()
    parsed.resolve(checked)
    found = problems_of(checked)
    go_on()
    given = {entry: text}
    given.update(sources.given if isinstance(sources, _EditorSources) else {})
    return ProgramAnalysis(entry, checked, (*found.errors, *found.warnings), given)
