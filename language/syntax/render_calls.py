"""Calls of ``render`` in a program's source whose path stands there as a text: such pages are part of the program."""

from __future__ import annotations

from language.syntax import nodes


def literal_text(node: nodes.Expr) -> str | None:
    """The text that an expression writes out in full."""
    match node:
        case nodes.Text(value=value):
            return value
        case nodes.Template(parts=parts) if all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
        case _:
            return None


def literal_render(node: object) -> tuple[nodes.Name, str, nodes.At] | None:
    """Of a call of ``render`` with such a path: the name that is called, the path, the place; of anything else ``None``.

    Whether the name means the builtin is for others to say.
    """
    match node:
        case nodes.Call(func=nodes.Name(id="render") as name, args=(nodes.Arg(name=None, value=path), *_), at=at):
            found = literal_text(path)
        case nodes.Pipe(first=first, steps=(nodes.Name(id="render") as name, *_), at=at):
            found = literal_text(first)
        case nodes.Pipe(first=first, steps=(nodes.Call(func=nodes.Name(id="render") as name), *_), at=at):
            found = literal_text(first)
        case _:
            return None
    return None if found is None else (name, found, at)
