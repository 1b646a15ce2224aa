"""Random edits of programs in an editor: ``python tests/lsp/edit_fuzz.py [--edits 10000] [--seed N]``, part of ``make fuzz``.

Programs of the repository are changed as an editor tells it, piece by piece, with ranges that lie outside of the text, that end
before they begin, or that cut a character in two. After each edit the program is analysed, and some requests of the editor are
answered at random places. What must hold: nothing raises, and every range of an answer lies in the text. The edit that breaks
this is told with its seed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from language.lsp.actions import code_actions  # noqa: E402
from language.lsp.completion import completions, resolved  # noqa: E402
from language.lsp.documents import Documents  # noqa: E402
from language.lsp.formatting import formatting_edits  # noqa: E402
from language.lsp.hover import hover  # noqa: E402
from language.lsp.inlays import inlay_hints  # noqa: E402
from language.lsp.navigation import definition, highlights, references  # noqa: E402
from language.lsp.outline import document_symbols, folding_ranges, workspace_symbols  # noqa: E402
from language.lsp.problems import diagnostic  # noqa: E402
from language.lsp.program_analysis import ParsedFiles, analyse  # noqa: E402
from language.lsp.rename import CannotRename, rename  # noqa: E402
from language.lsp.semantic_tokens import semantic_tokens  # noqa: E402
from language.lsp.signatures import signature_help  # noqa: E402
from language.lsp.view import View  # noqa: E402

FUZZ = runpy.run_path(str(ROOT / "tests" / "fuzz.py"), run_name="fuzz")
PIECES = (*FUZZ["PIECES"], "😀", "\r\n", "\r", "\u2028", "\ufeff", "\ud800", "request.", "f(", "require ", 'use "./')
URI = "file:///nowhere/program.lang"
ENCODINGS = (types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16, types.PositionEncodingKind.Utf32)
#: After so many edits another program is opened.
ROUND = 40


def random_position(view: Any, chance: random.Random) -> types.Position:
    """A place in a text, or outside of it."""
    line = chance.randrange(view.line_count + 2)
    return types.Position(line, chance.choice((0, chance.randrange(len(view.line(line)) * 2 + 3), 1_000_000)))


def random_change(documents: Documents, texts: list[str], chance: random.Random) -> types.TextDocumentContentChangeEvent:
    document = documents.get(URI)
    assert document is not None
    source = document.source
    kind = chance.randrange(12)
    if kind == 0:
        return types.TextDocumentContentChangeWholeDocument(FUZZ["garbled"](texts, chance))
    start = random_position(source, chance)
    if kind < 6:  # a key
        return types.TextDocumentContentChangePartial(types.Range(start, start), chance.choice((*PIECES, "a", " ", "x1")))
    if kind < 9:  # a few characters on a line
        end = types.Position(start.line, start.character + chance.randrange(6))
        return types.TextDocumentContentChangePartial(types.Range(start, end), chance.choice(("", *PIECES)))
    span = types.Range(start, random_position(source, chance))
    lines = chance.choice(texts).split("\n")
    first = chance.randrange(len(lines))
    return types.TextDocumentContentChangePartial(span, "\n".join(lines[first : first + chance.randrange(5)]))


def answers(view: View, position: types.Position, span: types.Range, chance: random.Random) -> list[Callable[[], Any]]:
    """The requests of an editor at a place."""

    def renaming() -> Any:
        try:
            return rename(view, [view.program], position, chance.choice(("renamed", "x", "print", "let", "é", "")))
        except CannotRename as reason:
            assert str(reason)
            return None

    def completing() -> Any:
        items = completions(view, position)
        return [resolved(item) for item in items[:3]]

    return [
        completing,
        renaming,
        lambda: hover(view, position),
        lambda: signature_help(view, position),
        lambda: definition(view, position),
        lambda: references(view, [view.program], position, with_definition=True),
        lambda: highlights(view, position),
        lambda: document_symbols(view),
        lambda: workspace_symbols([(URI, view.source)], "a"),
        lambda: folding_ranges(view.source),
        lambda: formatting_edits(view.source, view.document.file),
        lambda: code_actions(view, span, []),
        lambda: inlay_hints(view, span),
        lambda: semantic_tokens(view),
    ]


def examine(documents: Documents, parsed: ParsedFiles, chance: random.Random, requests: int) -> None:
    """Analyses the document and answers that many requests. Raises when something that must hold does not.

    What was kept of earlier states (``parsed``) changes nothing of what is found.
    """
    document = documents.get(URI)
    assert document is not None
    program = analyse(document.file, documents.frozen(), parsed=parsed)
    assert program.problems == analyse(document.file, documents.frozen()).problems
    source = document.source
    for problem in program.problems:
        span = diagnostic(problem, source).range
        start, end = source.offset(span.start), source.offset(span.end)
        assert 0 <= start <= end <= len(source.text) and source.position(start) == span.start, (problem, span)
    view = View(document, program, documents)
    position, other = random_position(source, chance), random_position(source, chance)
    for answer in chance.sample(answers(view, position, types.Range(position, other), chance), requests):
        answer()


def run(edits: int, seed: int, requests: int = 3) -> None:
    """So many edits from a seed on. Raises ``AssertionError`` with the seed of the edit that broke something."""
    texts = [text for text in FUZZ["corpus"]() if len(text) < 6_000]
    documents = Documents()
    parsed = ParsedFiles()
    for number in range(seed, seed + edits):
        chance = random.Random(number)
        if (number - seed) % ROUND == 0:
            documents = Documents(chance.choice(ENCODINGS))
            documents.open(URI, 0, chance.choice(texts))
        try:
            changes = [random_change(documents, texts, chance) for _ in range(chance.choice((1, 1, 1, 2)))]
            documents.change(URI, number, changes)
            examine(documents, parsed, chance, requests)
        except Exception as error:
            document = documents.get(URI)
            text = document.source.text if document is not None else ""
            raise AssertionError(f"edit {number} of the run from seed {seed}:\n{text!r}") from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options = parser.parse_args()
    run(options.edits, options.seed)
    print(f"{options.edits} edits from seed {options.seed} on: nothing broke")
    return 0


if __name__ == "__main__":
    sys.exit(main())
