"""The documents that an editor has open, and the files beside them as they lie on the disk."""

from __future__ import annotations

import os
from dataclasses import dataclass

from lsprotocol.types import (
    PositionEncodingKind,
    TextDocumentContentChangeEvent,
    TextDocumentContentChangePartial,
)
from pygls.uris import from_fs_path, to_fs_path

from language.host.regular_file import open_regular
from language.lsp.document_text import DocumentText, Encoding

#: The largest file, in bytes, that is read only for its names.
LARGEST_FILE = 4 << 20


@dataclass(frozen=True, slots=True)
class Document:
    """One state of an open document. ``file`` is its path, or its URI where it is no file. Both are as analysis shows them."""

    uri: str
    file: str
    version: int
    source: DocumentText

    @property
    def is_file(self) -> bool:
        """Whether it has a place on the disk, where modules can lie beside it."""
        return os.path.isabs(self.file)


class Documents:
    """All open documents by their URI. ``encoding`` is the one of positions."""

    def __init__(self, encoding: Encoding = PositionEncodingKind.Utf16) -> None:
        self.encoding = encoding
        self._open: dict[str, Document] = {}
        self._by_file: dict[str, Document] = {}

    def open(self, uri: str, version: int, text: str) -> Document:
        """Takes a document in; an open one of that URI is replaced."""
        return self._keep(Document(uri, file_of(uri), version, DocumentText(text, self.encoding)))

    def change(self, uri: str, version: int, changes: list[TextDocumentContentChangeEvent]) -> Document:
        """Carries out changes one after another. A document that was never opened is taken for an empty one."""
        known = self._open.get(uri)
        source = known.source if known is not None else DocumentText("", self.encoding)
        for change in changes:
            span = change.range if isinstance(change, TextDocumentContentChangePartial) else None
            source = source.changed(change.text, span)
        return self._keep(Document(uri, file_of(uri), version, source))

    def close(self, uri: str) -> None:
        """Forgets a document: from then on the file on the disk counts."""
        known = self._open.pop(uri, None)
        real = None if known is None else _real(known.file)
        if real is not None and self._by_file.get(real) is known:
            del self._by_file[real]
            for document in self._open.values():  # the file may be open under another spelling of its URI
                if _real(document.file) == real:
                    self._by_file[real] = document

    def get(self, uri: str) -> Document | None:
        """The open document of a URI."""
        return self._open.get(uri)

    def all(self) -> list[Document]:
        """All open documents."""
        return list(self._open.values())

    def of_file(self, path: str) -> Document | None:
        """The open document of a file, by any of its paths."""
        return self._by_file.get(_real(path))

    def uri_of(self, file: str) -> str:
        """The URI of a file as the editor writes it, where it has it open."""
        known = self.of_file(file)
        if known is not None:
            return known.uri
        return (from_fs_path(file) if os.path.isabs(file) else None) or file

    def source_of(self, file: str) -> DocumentText:
        """The text of a file: of the open document, else from the disk; empty where there is none."""
        known = self.of_file(file)
        return known.source if known is not None else DocumentText(text_on_disk(file) or "", self.encoding)

    def frozen(self) -> dict[str, str]:
        """The texts of all open files by their real path: what another thread may read while the documents change."""
        return {path: document.source.text for path, document in self._by_file.items()}

    def _keep(self, document: Document) -> Document:
        self._open[document.uri] = document
        self._by_file[_real(document.file)] = document
        return document


def file_of(uri: str) -> str:
    """The path of a ``file:`` URI, normalised; any other URI as it stands."""
    try:
        path = to_fs_path(uri)
    except ValueError:
        path = None
    if not path or "\0" in path or not os.path.isabs(path):
        return uri
    return os.path.normpath(path)


def text_on_disk(path: str, largest: int = LARGEST_FILE) -> str | None:
    """The text of a regular file, bytes outside UTF-8 replaced; ``None`` where it cannot be read or is too large."""
    try:
        with open(open_regular(path), "rb") as file:
            data = file.read(largest + 1)
    except (OSError, ValueError):
        return None
    return None if len(data) > largest else data.decode("utf-8", "replace")


def _real(file: str) -> str:
    return os.path.realpath(file) if os.path.isabs(file) else file
