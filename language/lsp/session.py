"""The state of one editor's session: its documents and folders, the programs that they make, what is shown of them."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from language.lsp.analyses import Analyses
from language.lsp.document_text import DocumentText
from language.lsp.documents import Documents, file_of, text_on_disk
from language.lsp.navigation import place_at, place_key, places_of, real_file, related_symbols
from language.lsp.problems import diagnostic
from language.lsp.program_analysis import ProgramAnalysis
from language.lsp.program_files import ProgramFiles, files_below
from language.lsp.view import View
from language.release import __version__
from language.runtime.modules import extensions

#: A rename looks at every program that a file is part of.
ALL_PROGRAMS = 1_000


class _Protocol(LanguageServerProtocol):
    """Answers every request, also one that cannot be read or comes out of turn, and ignores what it does not know.

    Keeps no documents of its own: ``Documents`` takes ranges as they come, and lines as the lexer reads them."""

    _initialized = False

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if isinstance(data.get("id"), (str, int)) and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def handle_message(self, message: Any) -> None:
        method, ident = getattr(message, "method", ""), getattr(message, "id", None)
        if method == types.INITIALIZE:
            self._initialized = True
        elif method and ident is not None and (self._shutdown or not self._initialized):
            code = types.ErrorCodes.InvalidRequest if self._shutdown else types.ErrorCodes.ServerNotInitialized
            said = "the server was shut down" if self._shutdown else "the first request is `initialize`"
            self._send_response(ident, error=types.ResponseError(code.value, said))
            return
        super().handle_message(message)

    def _handle_notification(self, method_name: str, params: Any) -> None:
        known = method_name in self.fm.features or method_name in self.fm.builtin_features
        if known or method_name == types.CANCEL_REQUEST:
            super()._handle_notification(method_name, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None


class Refused(JsonRpcException):
    """A request that is answered with a reason instead of a result."""

    CODE = types.LSPErrorCodes.RequestFailed.value
    MESSAGE = "Request failed"


class EditorSession(LanguageServer):
    """The state of one editor's session."""

    def __init__(self) -> None:
        super().__init__("lang", __version__, protocol_cls=_Protocol)
        self.documents = Documents()
        self.files = ProgramFiles()
        self.analyses = Analyses(self.documents, self.files, self._publish, self._failed)
        self.folders: dict[str, str] = {}
        self.ended_in_order = False
        #: by entry file and URI, what was found in each program
        self._shown: dict[str, dict[str, list[types.Diagnostic]]] = {}
        self._sent: dict[str, types.PublishDiagnosticsParams] = {}

    # ---- documents -------------------------------------------------------------------------------------------------------

    def opened(self, uri: str, version: int, text: str) -> None:
        """A document that the editor shows from now on."""
        document = self.documents.open(uri, version, text)
        if document.is_file and not any(document.file.startswith(folder + os.sep) for folder in self.folders.values()):
            self._note_neighbours(os.path.dirname(document.file))
        self.analyses.changed(document)

    def closed(self, uri: str) -> None:
        """A document that the editor shows no more: what counts is the file."""
        document = self.documents.get(uri)
        self.documents.close(uri)
        if document is None:
            return
        self._sent.pop(uri, None)
        if document.is_file:
            self.note_file(document.file)
        for entry in self.analyses.retained():
            self._show(entry, {})
        self.analyses.all_changed()

    def note_file(self, path: str) -> None:
        """A file of the workspace is there, changed or gone."""
        if self.documents.of_file(path) is not None or not path.endswith(extensions()):
            return
        text = text_on_disk(path)
        if text is None:
            self.files.forget(path)
        else:
            self.files.note(path, text)

    async def add_folder(self, uri: str) -> None:
        """A folder of the workspace, whose programs are read off the event loop."""
        folder = file_of(uri)
        if not os.path.isabs(folder):
            return
        self.folders[uri] = folder
        found = await asyncio.get_running_loop().run_in_executor(None, lambda: list(files_below(folder)))
        for path, text in found:
            if self.documents.of_file(path) is None:
                self.files.note(path, text)
        for entry in self.analyses.retained():
            self._show(entry, {})
        self.analyses.all_changed()

    def remove_folder(self, uri: str) -> None:
        """A folder that is no longer one of the workspace: its files are forgotten, but for those that are open."""
        gone = self.folders.pop(uri, None)
        kept = tuple(folder + os.sep for folder in self.folders.values())
        if gone is None:
            return
        for path in self.files.all():
            if (
                path.startswith(os.path.realpath(gone) + os.sep)
                and not path.startswith(kept)
                and self.documents.of_file(path) is None
            ):
                self.files.forget(path)
        for entry in self.analyses.retained():
            self._show(entry, {})
        self.analyses.all_changed()

    def _note_neighbours(self, folder: str) -> None:
        """The files beside a document that lies in no folder of the workspace: one of them may use it."""
        for path, text in files_below(folder, deep=False):
            if self.documents.of_file(path) is None:
                self.files.note(path, text)

    # ---- programs --------------------------------------------------------------------------------------------------------

    async def view(self, uri: str) -> View | None:
        """The document of a URI in the nearest of its programs, as both are now."""
        views = await self.views(uri, 1)
        return views[0] if views else None

    async def views(self, uri: str, most: int = ALL_PROGRAMS) -> list[View]:
        """The document of a URI in each of its programs."""
        while True:
            document = self.documents.get(uri)
            if document is None:
                return []
            found = [await self.analyses.of(entry) for entry in self.analyses.entries_of(document, most)]
            if self.documents.get(uri) is document:
                return [View(document, program, self.documents) for program in found if program is not None]

    async def programs_about(self, uri: str, position: types.Position) -> tuple[View, list[ProgramAnalysis]] | None:
        """The document of a URI in the nearest of its programs, and every program in which the name at a position stands, or
        another one that shares a place with it; ``None`` where the document is not open."""
        while True:
            views = await self.views(uri)
            if not views:
                return None
            programs = {view.program.entry: view.program for view in views}
            place = place_at(views[0], position)
            asked: set[str] = set()
            while True:
                named = related_symbols(list(programs.values()), place)
                files = {
                    place_key(found)[0]
                    for _, symbol in named
                    if symbol.file
                    for found in places_of(symbol, with_definition=True)
                } - asked
                if not files:
                    break
                asked |= files
                for file in sorted(files):
                    for entry in self.files.entries_of(file, ALL_PROGRAMS) if os.path.isabs(file) else ():
                        program = programs.get(entry) or await self.analyses.of(entry)
                        if program is not None:
                            programs[entry] = program
            if all(self.analyses.latest(entry) is program for entry, program in programs.items()):
                return views[0], list(programs.values())

    async def filled(self, view: View, position: types.Position) -> View:
        """The document as if a value stood at a position, where nothing stands yet and a statement is not complete without it:
        the head of a block that is still empty is no statement, and binds no names."""
        source = view.source
        offset = source.offset(position)
        line = source.line(position.line)
        before = line[: offset - source.offset(types.Position(position.line, 0))]
        rest = line[len(before) :]
        faulty = any(problem.kind == "syntax" for problem in view.program.problems)
        if not faulty or rest.strip() or (before and before[-1] not in " \t(,"):
            return view
        texts = {real_file(file): text for file, text in view.program.texts.items()}
        texts[real_file(view.document.file)] = f"{view.text[:offset]}nothing{view.text[offset:]}"
        program = await self.analyses.once(view.program.entry, texts)
        return view if program is None else View(view.document, program, self.documents)

    @property
    def takes_versions(self) -> bool:
        """Whether the editor takes edits of documents with their versions."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace is not None else None
        return bool(edit is not None and edit.document_changes)

    def _publish(self, program: ProgramAnalysis) -> None:
        found: dict[str, list[types.Diagnostic]] = {unit.file: [] for unit in program.checked.units.values()}
        found.setdefault(program.entry, [])
        sources: dict[str, DocumentText] = {}
        for problem in program.problems:
            if problem.file not in sources:
                text = program.texts.get(os.path.realpath(problem.file), program.texts.get(problem.file))
                known = self.documents.of_file(problem.file)
                if known is not None and known.source.text == text:
                    sources[problem.file] = known.source
                else:
                    sources[problem.file] = DocumentText(text or "", self.documents.encoding)
            found.setdefault(problem.file, []).append(diagnostic(problem, sources[problem.file]))
        self._show(program.entry, {self.documents.uri_of(file): listed for file, listed in found.items()})

    def _show(self, entry: str, found: dict[str, list[types.Diagnostic]]) -> None:
        """Sends what was found in a program, together with what other programs say of the same files."""
        before = self._shown.get(entry, {})
        self._shown[entry] = found
        if not found:
            del self._shown[entry]
        for uri in sorted({*before, *found}):
            merged: dict[tuple[object, ...], types.Diagnostic] = {}
            for listed in self._shown.values():
                for one in listed.get(uri, ()):
                    start, end = one.range.start, one.range.end
                    said = one.message.partition("\n")[0]  # the help may differ between programs
                    merged.setdefault((start.line, start.character, end.line, end.character, one.code, said), one)
            document = self.documents.get(uri)
            params = types.PublishDiagnosticsParams(uri, list(merged.values()), document.version if document else None)
            if self._sent.get(uri) != params:
                self._sent[uri] = params
                self.text_document_publish_diagnostics(params)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A message that could not be read, or not answered because of a defect."""
        if not isinstance(error, Refused):
            self._say(f"{getattr(source, '__name__', source)}: {error}")

    def _failed(self, entry: str, error: BaseException) -> None:
        """Reports a defect of the server. The session goes on with what was known before."""
        self._say(f"the analysis of {entry} failed\n{''.join(traceback.format_exception(error))}")

    def _say(self, told: str) -> None:
        print(f"lang lsp: {told}", file=sys.stderr, flush=True)
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, told))
