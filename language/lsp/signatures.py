"""The parameters of the call that is being written."""

from __future__ import annotations

from lsprotocol.types import (
    MarkupContent,
    MarkupKind,
    ParameterInformation,
    Position,
    SignatureHelp,
    SignatureInformation,
)

from language import library
from language.lsp.code_context import OpenCall, context_at
from language.lsp.manual import builtin_text
from language.lsp.view import View


def signature_help(view: View, position: Position) -> SignatureHelp | None:
    """Signature of the innermost open call, and which of its parameters is written; ``None`` where nothing is called."""
    offset = view.source.offset(position)
    context = context_at(view.text, offset)
    if context.inside == "comment" or not context.calls:
        return None
    call = context.calls[-1]
    symbol = view.named(tuple(call.name.split(".")), position)
    if symbol is not None:
        if "(" not in symbol.signature:
            return None
        signature, told = symbol.signature, symbol.documentation
    else:
        builtin = library().all_builtins().get(call.name)
        if builtin is None:
            return None
        signature, told = builtin.signature, builtin_text(builtin)
    spans = parameter_spans(signature)
    piped = view.text[: call.start].rstrip().endswith("|>")
    active = _active([signature[start:end] for start, end in spans], call, 1 if piped else 0)
    shown = SignatureInformation(
        signature,
        documentation=MarkupContent(MarkupKind.Markdown, told),
        parameters=[ParameterInformation(span) for span in spans],
        active_parameter=active,
    )
    return SignatureHelp([shown], active_signature=0, active_parameter=active)


def parameter_spans(signature: str) -> list[tuple[int, int]]:
    """Where each parameter stands in a signature, by offsets: ``slice(c, start?)`` has ``c`` and ``start?``."""
    start = signature.find("(") + 1
    depth = 0
    spans = []
    first = start
    for number in range(start, len(signature)):
        character = signature[number]
        if character in "([{":
            depth += 1
        elif depth and character in ")]}":
            depth -= 1
        elif character == "," or (character == ")" and not depth):
            if depth:
                continue
            written = signature[first:number]
            if written.strip():
                spans.append((first + len(written) - len(written.lstrip()), number))
            first = number + 1
            if character == ")":
                break
    return spans


def _active(parameters: list[str], call: OpenCall, skipped: int) -> int | None:
    names = [parameter.split("=")[0].strip().rstrip("?").removesuffix("...") for parameter in parameters]
    if call.keyword:
        return names.index(call.keyword) if call.keyword in names else None
    number = call.argument + skipped
    if number < len(parameters):
        return number
    return len(parameters) - 1 if parameters and parameters[-1].endswith("...") else None
