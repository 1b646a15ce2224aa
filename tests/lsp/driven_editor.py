"""An editor in a few words: what the tests of the language server drive it with, over standard streams."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities

COMMAND = [sys.executable, "-m", "language", "lsp", "--stdio"]


class Client(LanguageClient):
    """Keeps what the server tells: the diagnostics of each document, what it logs, what it asks to be told."""

    def __init__(self) -> None:
        super().__init__(converter_factory=default_converter)
        self.seen: dict[str, types.PublishDiagnosticsParams] = {}
        self.said: list[str] = []
        self.registered: list[str] = []
        self.arrived = asyncio.Event()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.seen[params.uri] = params
            self.arrived.set()

        @self.feature(types.WINDOW_LOG_MESSAGE)
        def logged(params: types.LogMessageParams) -> None:
            self.said.append(params.message)

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            self.registered += [registration.method for registration in params.registrations]


class Editor:
    """What an editor does, in short words. Places are ``name.lang`` and a piece of text with ``|`` at the cursor."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri() if not name.startswith("untitled:") else name

    def document(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    def open(self, name: str, text: str | None = None) -> None:
        self.texts[name] = (self.folder / name).read_text(encoding="utf-8") if text is None else text
        self.versions[name] = self.versions.get(name, 0) + 1
        item = types.TextDocumentItem(self.uri(name), "lang", self.versions[name], self.texts[name])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def close(self, name: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.document(name)))

    def type(self, name: str, old: str, new: str) -> None:
        """Replaces a piece of text by an incremental change."""
        text = self.texts[name]
        start = text.index(old)
        span = types.Range(position(text, start), position(text, start + len(old)))
        self.texts[name] = text[:start] + new + text[start + len(old) :]
        self.versions[name] += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(uri=self.uri(name), version=self.versions[name]),
                [types.TextDocumentContentChangePartial(span, new)],
            )
        )

    def at(self, name: str, piece: str) -> tuple[types.TextDocumentIdentifier, types.Position]:
        mark = piece.index("|")
        start = self.texts[name].index(piece.replace("|", ""))
        return self.document(name), position(self.texts[name], start + mark)

    async def problems(self, name: str) -> list[types.Diagnostic]:
        """The diagnostics of the version that was sent last."""
        while True:
            known = self.client.seen.get(self.uri(name))
            if known is not None and known.version == self.versions[name]:
                return list(known.diagnostics)
            self.client.arrived.clear()
            await asyncio.wait_for(self.client.arrived.wait(), 60)

    async def completions(self, name: str, piece: str) -> dict[str, types.CompletionItem]:
        found = await self.client.text_document_completion_async(types.CompletionParams(*self.at(name, piece)))
        assert isinstance(found, types.CompletionList)
        return {item.label: item for item in found.items}

    async def hover(self, name: str, piece: str) -> str:
        found = await self.client.text_document_hover_async(types.HoverParams(*self.at(name, piece)))
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def actions(self, name: str, piece: str) -> dict[str, types.CodeAction]:
        document, cursor = self.at(name, piece)
        context = types.CodeActionContext(await self.problems(name))
        params = types.CodeActionParams(document, types.Range(cursor, cursor), context)
        found = await self.client.text_document_code_action_async(params)
        return {action.title: action for action in found or () if isinstance(action, types.CodeAction)}

    def text_at(self, name: str, span: types.Range) -> str:
        return self.texts[name][offset(self.texts[name], span.start) : offset(self.texts[name], span.end)]

    def edited(self, name: str, edits: Any) -> str:
        """The text of a document after edits of the server, which stays as it is."""
        text = self.texts[name]
        for edit in sorted(edits, key=lambda edit: offset(text, edit.range.start), reverse=True):
            text = text[: offset(text, edit.range.start)] + edit.new_text + text[offset(text, edit.range.end) :]
        return text


def position(text: str, at: int) -> types.Position:
    """As an editor in UTF-16 counts."""
    line = text.count("\n", 0, at)
    start = text.rfind("\n", 0, at) + 1
    return types.Position(line, len(text[start:at].encode("utf-16-le")) // 2)


def offset(text: str, at: types.Position) -> int:
    lines = [*text.splitlines(keepends=True), ""]
    line = lines[at.line].encode("utf-16-le")[: at.character * 2].decode("utf-16-le")
    return sum(map(len, lines[: at.line])) + len(line)


async def session_in(client: Client, folder: Path) -> AsyncIterator[None]:
    """The session of an editor that has one folder open."""
    folders = [types.WorkspaceFolder(folder.as_uri(), "workspace")]
    parameters = types.InitializeParams(client_capabilities("visual-studio-code"), workspace_folders=folders)
    await client.initialize_session(parameters)
    yield
    await client.shutdown_session()


async def rename(editor: Editor, name: str, piece: str, new: str) -> dict[str, str]:
    """The texts of the changed documents, or the reason why there are none under the empty name."""
    document, cursor = editor.at(name, piece)
    try:
        found = await editor.client.text_document_rename_async(types.RenameParams(document, cursor, new))
    except JsonRpcException as error:
        return {"": error.message}
    assert found is not None
    return {
        str(Path(change.text_document.uri.removeprefix("file://")).relative_to(editor.folder)): editor.edited(
            str(Path(change.text_document.uri.removeprefix("file://")).relative_to(editor.folder)), change.edits
        )
        for change in found.document_changes or ()
        if isinstance(change, types.TextDocumentEdit)
    }
