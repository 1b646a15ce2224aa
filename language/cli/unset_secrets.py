"""Warns at the start of a program of secrets that it declares and that have no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from language.capabilities.require_lines import requires, scope_text
from language.cli.streams import warn
from language.errors import LanguageError, placed
from language.syntax import nodes
from language.syntax.lexer import decode_source
from language.syntax.parser import parse
from language.syntax.walk import descend

if TYPE_CHECKING:
    from language.cli.source import Source


def warn_of(unset: list[str], source: Source, *, deployed: bool) -> None:
    """Prints a warning for each of these names that the file of the program requires and reads without a default."""
    try:
        program = parse(decode_source(source.data), source.name)
    except (LanguageError, UnicodeDecodeError):
        return  # the program itself reports that
    with_default = _read_with_default(program)
    for line in requires(program):
        name = scope_text(line.scope)
        if line.capability == "secret" and name in unset and name not in with_default:
            place = placed(source.name, line.span[0], line.span[1])
            cure = (
                f"set it with `lang secrets set {name}` and deploy again"
                if deployed
                else f"set the variable {name} in the environment or in the .env file"
            )
            warn(f'{place}: secret("{name}") has no value: {cure}')
            unset.remove(name)


def _read_with_default(program: nodes.Program) -> set[str]:
    """The names that are read with a default somewhere, so that the program works without a value."""
    found = set()
    for node in descend(program.statements):
        if (
            isinstance(node, nodes.Call)
            and isinstance(node.func, nodes.Name)
            and node.func.id == "secret"
            and len(node.args) > 1
        ):
            name = node.args[0].value
            if isinstance(name, nodes.Text):
                found.add(name.value)
    return found
