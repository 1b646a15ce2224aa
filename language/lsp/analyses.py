"""The analyses that are kept of the programs of open documents, and made anew when a file of theirs changes.

One thread analyses, one program after another. A change that comes while it works supersedes what it is doing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from language.analysis.symbols import symbols_of
from language.lsp.documents import Document, Documents
from language.lsp.program_analysis import ParsedFiles, ProgramAnalysis, Superseded, analyse
from language.lsp.program_files import MOST_ENTRIES, ProgramFiles

#: Seconds within which changes are analysed together.
PAUSE = 0.005
#: Of the programs of a changed file, all those that were analysed before are analysed anew.
ALL_ENTRIES = 5_000


class _Program:
    """One program: its last analysis, and the work on the next one."""

    __slots__ = ("changes", "latest", "running", "superseded")

    def __init__(self) -> None:
        self.latest: ProgramAnalysis | None = None
        self.changes = 0
        self.running: asyncio.Task[None] | None = None
        self.superseded = threading.Event()


class Analyses:
    """``published`` is called with each new analysis, ``failed`` with the error of one that broke off by a defect."""

    def __init__(
        self,
        documents: Documents,
        files: ProgramFiles,
        published: Callable[[ProgramAnalysis], None],
        failed: Callable[[str, BaseException], None],
    ) -> None:
        self._documents = documents
        self._files = files
        self._published = published
        self._failed = failed
        self._programs: dict[str, _Program] = {}
        self._parsed = ParsedFiles()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="analysis")

    def entries_of(self, document: Document, most: int = MOST_ENTRIES) -> list[str]:
        """The entry files of the programs of a document."""
        return self._files.entries_of(document.file, most) if document.is_file else [document.file]

    def changed(self, document: Document) -> None:
        """A document is another one than before: its programs are analysed anew."""
        if document.is_file:
            self._files.note(document.file, document.source.text)
        entries = self.entries_of(document)
        also = self.entries_of(document, ALL_ENTRIES)[len(entries) :]
        for entry in (*entries, *(entry for entry in also if entry in self._programs)):
            self._start(entry)

    def latest(self, entry: str) -> ProgramAnalysis | None:
        """The last analysis of a program, if no change has come since."""
        program = self._programs.get(entry)
        if program is None or (program.running is not None and not program.running.done()):
            return None
        return program.latest

    def all_changed(self) -> None:
        """Files changed beside the editor: every program of an open document is analysed anew."""
        for document in self._documents.all():
            for entry in self.entries_of(document):
                self._start(entry)

    def retained(self) -> list[str]:
        """Forgets the programs without an open document; gives their entry files."""
        wanted = {entry for document in self._documents.all() for entry in self.entries_of(document)}
        gone = [entry for entry in self._programs if entry not in wanted]
        for entry in gone:
            self._programs.pop(entry).superseded.set()
        return gone

    async def of(self, entry: str) -> ProgramAnalysis | None:
        """The analysis of a program with all changes so far, its names found; ``None`` where there is none because of a
        defect."""
        program = self._programs.get(entry)
        if program is None:
            program = self._start(entry)
        while program.running is not None and not program.running.done():
            await asyncio.wait({program.running})
        latest = program.latest
        if latest is not None and not latest.has_symbols:
            try:
                await asyncio.get_running_loop().run_in_executor(self._thread, symbols_of, latest.checked)
            except Exception as error:
                self._failed(entry, error)
                return None
        return latest

    async def once(self, entry: str, texts: Mapping[str, str]) -> ProgramAnalysis | None:
        """The analysis of a program with other texts, its names found, which is not kept; ``None`` after a defect."""

        def work() -> ProgramAnalysis:
            found = analyse(entry, texts)
            symbols_of(found.checked)
            return found

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except Exception as error:
            self._failed(entry, error)
            return None

    def all_latest(self) -> list[ProgramAnalysis]:
        """The last analysis of each program."""
        return [program.latest for program in self._programs.values() if program.latest is not None]

    def close(self) -> None:
        """Ends the work."""
        for program in self._programs.values():
            program.superseded.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _start(self, entry: str) -> _Program:
        program = self._programs.setdefault(entry, _Program())
        program.changes += 1
        program.superseded.set()
        if program.running is None or program.running.done():
            program.running = asyncio.ensure_future(self._work(entry, program))
        return program

    async def _work(self, entry: str, program: _Program) -> None:
        done = -1
        while done != program.changes and self._programs.get(entry) is program:
            await asyncio.sleep(PAUSE)
            done = program.changes
            program.superseded = threading.Event()
            texts = self._documents.frozen()
            try:
                result = await asyncio.get_running_loop().run_in_executor(
                    self._thread, analyse, entry, texts, program.superseded.is_set, self._parsed
                )
            except Superseded:
                continue
            except Exception as error:
                self._failed(entry, error)
                continue
            if done == program.changes and self._programs.get(entry) is program:
                program.latest = result
                self._published(result)
