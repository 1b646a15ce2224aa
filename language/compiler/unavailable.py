"""Constructs that this version parses but does not support."""

from __future__ import annotations

from language.compiler import python_ast as py
from language.compiler.python_ast import Py
from language.syntax import nodes

WORDS: dict[type[nodes.Node], str] = {
    nodes.Judge: "judge",
}


def unavailable(node: nodes.Node) -> Py:
    """The call that raises the error about a construct, when it is executed."""
    at = node.span[:2]
    word = WORDS.get(type(node), type(node).__name__.lower())
    return py.runtime("unavailable", [py.constant(word, at)], at)
