"""The tree of a template. ``line`` is that of the hole; every position inside a hole's expression is on that line."""

from __future__ import annotations

from dataclasses import dataclass

from language.syntax import nodes


@dataclass(frozen=True, slots=True)
class Text:
    """Text that is copied unchanged."""

    text: str


@dataclass(frozen=True, slots=True)
class Value:
    """``{ expr }`` or, when ``raw``, ``{ raw expr }``."""

    line: int
    value: nodes.Expr
    raw: bool


@dataclass(frozen=True, slots=True)
class Each:
    line: int
    name: str
    iterable: nodes.Expr
    body: Body
    otherwise: Body | None


@dataclass(frozen=True, slots=True)
class When:
    line: int
    arms: tuple[tuple[nodes.Expr, Body], ...]
    otherwise: Body | None


@dataclass(frozen=True, slots=True)
class Include:
    """An included file. ``props`` is the map of a component, ``None`` for a part that uses the names around it."""

    line: int
    path: str
    props: nodes.Expr | None


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of content in a layout. ``name`` is ``None`` for the place of the page itself."""

    line: int
    name: str | None


@dataclass(frozen=True, slots=True)
class Fill:
    """Content for a slot of the layout. ``placed`` says that it is at the top level of its file."""

    line: int
    name: str
    body: Body
    placed: bool


Part = Text | Value | Each | When | Include | Slot | Fill
Body = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """One file. ``layout`` is the first path that it names at the top level; ``includes`` are all paths that it includes."""

    body: Body
    layout: str | None
    includes: tuple[str, ...]
