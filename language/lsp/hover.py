"""What the editor shows of the word under the mouse."""

from __future__ import annotations

from lsprotocol.types import Hover, MarkupContent, MarkupKind, Position, Range

from language import library
from language.analysis.symbols import ProgramSymbol
from language.lsp.code_context import CodeContext, context_at, word_at
from language.lsp.keywords import keyword_text
from language.lsp.manual import builtin_text, capability_text, code, constant_text, request_field_text
from language.lsp.view import View


def hover(view: View, position: Position) -> Hover | None:
    """Signature and description of the name at a position, or what the manual says of the word; ``None`` for anything else."""
    word, start = word_at(view.text, view.source.offset(position))
    if not word:
        return None
    context = context_at(view.text, start)
    if context.inside != "code":
        return None
    symbol = view.symbol_at(position)
    told = symbol_text(symbol) if symbol is not None and symbol.kind != "builtin" else _manual(word, context)
    if not told:
        return None
    span = Range(view.source.position(start), view.source.position(start + len(word)))
    return Hover(MarkupContent(MarkupKind.Markdown, told), span)


def symbol_text(symbol: ProgramSymbol) -> str:
    """A symbol of the program: how it is declared, and the comment above."""
    kind = f"({symbol.kind}) " if symbol.kind in ("parameter", "member", "group") else ""
    shown = code(f"{kind}{symbol.signature or symbol.name}")
    return f"{shown}\n\n{symbol.documentation}".rstrip()


def _manual(word: str, context: CodeContext) -> str:
    if _requires(context):
        name = ".".join((*context.chain, word))
        return capability_text(name) or capability_text(word)
    if context.chain:
        return request_field_text(word) if context.chain == ("request",) else ""
    builtin = library().all_builtins().get(word)
    if builtin is not None:
        return builtin_text(builtin)
    return constant_text(word) or keyword_text(word)


def _requires(context: CodeContext) -> bool:
    before = context.line.split()
    return before[:1] == ["require"] and not context.calls
