"""Reads the manifests of programs for a command."""

from __future__ import annotations

import os

from language.analysis.checker import check_program
from language.analysis.inspection import manifest_of
from language.analysis.manifest import Manifest
from language.cli.source import not_utf8, read_source
from language.runtime.modules import Sources
from language.syntax.lexer import decode_source


def read_manifest(path: str, command: str) -> Manifest:
    """Reads a program and what it imports. Raises ``UsageError`` of ``command`` when it cannot be read."""
    source = read_source(path, command)
    try:
        text = decode_source(source.data)
    except UnicodeDecodeError:
        raise not_utf8(source.name, command) from None
    return manifest_of(check_program(text, source.name, Sources(source.root)), source.name)


def manifests_below(folder: str, command: str) -> dict[str, Manifest]:
    """The programs of a folder by their path in it, without files that are imported by others."""
    from language.cli.program_files import below

    found = {os.path.relpath(path, folder): read_manifest(path, command) for path in sorted(below(folder))}
    modules = {os.path.realpath(file) for manifest in found.values() for file in manifest.files[1:]}
    return {name: m for name, m in found.items() if os.path.realpath(os.path.join(folder, name)) not in modules}
