"""Which message of the editor asks what. The server speaks over standard input and output, by the rules of LSP 3.17."""

from __future__ import annotations

import gc
import logging

from lsprotocol import types

from language import library
from language.lsp.actions import code_actions
from language.lsp.completion import completions, resolved
from language.lsp.documents import file_of
from language.lsp.formatting import formatting_edits
from language.lsp.hover import hover
from language.lsp.inlays import inlay_hints
from language.lsp.navigation import definition, highlights, references
from language.lsp.outline import document_symbols, folding_ranges, workspace_symbols
from language.lsp.rename import CannotRename, rename, renamed_range
from language.lsp.semantic_tokens import LEGEND, semantic_tokens
from language.lsp.session import EditorSession, Refused
from language.lsp.signatures import signature_help
from language.syntax.table_reading import tables

#: What the client is asked to watch.
WATCHED = "**/*.lang"
#: How many new objects are made before the garbage collector runs. An analysis makes tens of thousands and keeps most.
YOUNG_OBJECTS = 50_000


def make_server() -> EditorSession:
    """A server that waits for the messages of an editor."""
    server = EditorSession()
    _session(server)
    _documents(server)
    _reading(server)
    _navigation(server)
    _changing(server)
    return server


def serve() -> int:
    """Serves one editor over standard input and output; gives the exit code: 1 where the editor left without ``shutdown``."""
    log = logging.getLogger("pygls")  # says what it sends and receives; what goes wrong is said by the server itself
    log.addHandler(logging.NullHandler())
    log.propagate = False
    server = make_server()
    try:
        server.start_io()
    finally:
        server.analyses.close()
    return 0 if server.ended_in_order else 1


def _session(server: EditorSession) -> None:
    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        server.documents.encoding = server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        _load_for_any_program()
        for folder in list(server.workspace.folders.values()):
            await server.add_folder(folder.uri)
        if not server.workspace.folders and server.workspace.root_uri:
            await server.add_folder(server.workspace.root_uri)
        await _watch_files(server)

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.ended_in_order = True

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            server.remove_folder(folder.uri)
        for folder in params.event.added:
            await server.add_folder(folder.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            server.note_file(file_of(change.uri))
        server.analyses.all_changed()


def _load_for_any_program() -> None:
    """Loads what the first request would otherwise wait for, and exempts it from garbage collection."""
    tables()
    library().all_builtins()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


async def _watch_files(server: EditorSession) -> None:
    """Asks the editor to tell of files that change beside it, where it can."""
    workspace = server.client_capabilities.workspace
    can = workspace.did_change_watched_files if workspace is not None else None
    if can is None or not can.dynamic_registration:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(WATCHED)])
    registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await server.client_register_capability_async(types.RegistrationParams([registration]))


def _documents(server: EditorSession) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.documents.encoding = server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        server.opened(document.uri, document.version, document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        server.analyses.changed(server.documents.change(document.uri, document.version, list(params.content_changes)))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.analyses.all_changed()  # pages and data beside the program may have been saved too

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)


def _reading(server: EditorSession) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovering(params: types.HoverParams) -> types.Hover | None:
        view = await server.view(params.text_document.uri)
        return hover(view, params.position) if view else None

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[".", "/"], resolve_provider=True)
    )
    async def completing(params: types.CompletionParams) -> types.CompletionList:
        view = await server.view(params.text_document.uri)
        if view is not None:
            view = await server.filled(view, params.position)
        return types.CompletionList(False, completions(view, params.position) if view else [])

    @server.feature(types.COMPLETION_ITEM_RESOLVE)
    def resolving(item: types.CompletionItem) -> types.CompletionItem:
        return resolved(item)

    @server.feature(types.TEXT_DOCUMENT_SIGNATURE_HELP, types.SignatureHelpOptions(["(", ","]))
    async def signature(params: types.SignatureHelpParams) -> types.SignatureHelp | None:
        view = await server.view(params.text_document.uri)
        return signature_help(view, params.position) if view else None

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlays(params: types.InlayHintParams) -> list[types.InlayHint]:
        view = await server.view(params.text_document.uri)
        return inlay_hints(view, params.range) if view else []

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND)
    async def tokens(params: types.SemanticTokensParams) -> types.SemanticTokens:
        view = await server.view(params.text_document.uri)
        return semantic_tokens(view) if view else types.SemanticTokens([])

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def folding(params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        document = server.documents.get(params.text_document.uri)
        return folding_ranges(document.source) if document else []


def _navigation(server: EditorSession) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def defined(params: types.DefinitionParams) -> types.Location | None:
        view = await server.view(params.text_document.uri)
        return definition(view, params.position) if view else None

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def used(params: types.ReferenceParams) -> list[types.Location]:
        found = await server.programs_about(params.text_document.uri, params.position)
        return references(*found, params.position, with_definition=params.context.include_declaration) if found else []

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def highlighted(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        view = await server.view(params.text_document.uri)
        return highlights(view, params.position) if view else []

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        view = await server.view(params.text_document.uri)
        return document_symbols(view) if view else []

    @server.feature(types.WORKSPACE_SYMBOL)
    def names(params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        documents = server.documents
        files = ((documents.uri_of(path), documents.source_of(path)) for path in server.files.all())
        return workspace_symbols(files, params.query)


def _changing(server: EditorSession) -> None:
    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        document = server.documents.get(params.text_document.uri)
        return formatting_edits(document.source, document.file) if document else []

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def renamable(params: types.PrepareRenameParams) -> types.Range:
        view = await server.view(params.text_document.uri)
        if view is None:
            raise Refused("the document is not open")
        try:
            return renamed_range(view, params.position)
        except CannotRename as reason:
            raise Refused(str(reason)) from None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    async def renaming(params: types.RenameParams) -> types.WorkspaceEdit:
        found = await server.programs_about(params.text_document.uri, params.position)
        if found is None:
            raise Refused("the document is not open")
        try:
            return rename(*found, params.position, params.new_name, with_versions=server.takes_versions)
        except CannotRename as reason:
            raise Refused(str(reason)) from None

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        view = await server.view(params.text_document.uri)
        return code_actions(view, params.range, list(params.context.diagnostics)) if view else []
