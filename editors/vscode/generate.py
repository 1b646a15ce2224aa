"""Writes the TextMate grammar from the word tables of the lexer: ``python editors/vscode/generate.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from language.syntax.tokens import (
    DESCRIBE_CLAUSES,
    EXPORTABLE,
    GATE_WORDS,
    HARD_KEYWORDS,
    HOST_CLAUSES,
    INFIX_WORDS,
    OPERATOR_TYPES,
    SERVE_CLAUSES,
    STATEMENT_WORDS,
)

TARGET = Path(__file__).resolve().parent / "syntaxes" / "lang.tmLanguage.json"

#: Scope of each hard keyword; every one of them stands in exactly one row.
SCOPES = {
    "constant.language": ("true", "false", "nothing"),
    "storage.type": ("let", "task", "type"),
    "storage.modifier": ("require", "intent", "invariant"),
    "keyword.operator.word": ("and", "or", "not", "in", "of"),
    "keyword.control": (
        *("when", "otherwise", "then", "each", "while", "match", "is", "stop", "give", "try", "recover"),
        *("sandbox", "wait_for", "reason", "decide", "analyze", "generate"),
    ),
    "keyword.other": ("be", "set", "to", "as", "with"),
    "invalid.illegal.reserved": ("and_then", "repeat", "allow", "deny", "verify"),
}

#: What a name is never followed by: after these words a soft word may be a construct.
_OPERAND = r"(?=\s+(?!(?:in|and|or|of|is|be|to|as|then|otherwise|with|not\s+in)\b)[\w\"'`{])"


def words(table: tuple[str, ...] | list[str] | frozenset[str]) -> str:
    """A regular expression for one whole word of the table."""
    return r"\b(?:" + "|".join(sorted(table, key=lambda word: (-len(word), word))) + r")\b"


def rule(scope: str, match: str) -> dict[str, Any]:
    return {"name": f"{scope}.lang", "match": match}


def declaration(scope: str, before: str) -> dict[str, Any]:
    """A word that declares, and the name that it declares."""
    return {
        "match": rf"\b({before})\s+([^\W\d]\w*)",
        "captures": {"1": {"name": "storage.type.lang"}, "2": {"name": f"{scope}.lang"}},
    }


def text(quote: str, kind: str) -> dict[str, Any]:
    escapes = rule("constant.character.escape", r"\\(?:[ntr\\\"']|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\})")
    return {"name": f"string.quoted.{kind}.lang", "begin": quote, "end": rf"{quote}|$", "patterns": [escapes]}


def grammar() -> dict[str, Any]:
    """The grammar as VS Code and its relatives read it."""
    listed = sorted(word for group in SCOPES.values() for word in group)
    if listed != sorted(HARD_KEYWORDS):
        raise ValueError(f"keywords without one scope: {sorted(set(listed) ^ set(HARD_KEYWORDS))}")
    starters = {*STATEMENT_WORDS, *SERVE_CLAUSES, *HOST_CLAUSES, "use", "test", "proxy", "routes"} - {"agent"}
    operators = sorted((op for op in OPERATOR_TYPES if not set(op) <= set("()[]{},.:")), key=lambda op: (-len(op), op))
    escaped = "|".join("".join("\\" + c if c in "+*/|%.-" else c for c in op) for op in operators)
    repository: dict[str, list[dict[str, Any]]] = {
        "comments": [rule("comment.line.double-dash", r"--.*$")],
        "texts": [
            text('"', "double"),
            text("'", "single"),
            {
                "name": "string.quoted.other.template.lang",
                "begin": "`",
                "end": "`",
                "patterns": [
                    rule("constant.character.escape", r"\\(?:[ntr\\\"'`{]|u[0-9A-Fa-f]{4})"),
                    {
                        "name": "meta.embedded.expression.lang",
                        "begin": r"\{",
                        "end": r"\}",
                        "beginCaptures": {"0": {"name": "punctuation.section.embedded.begin.lang"}},
                        "endCaptures": {"0": {"name": "punctuation.section.embedded.end.lang"}},
                        "patterns": [{"include": "#braces"}, {"include": "#all"}],
                    },
                ],
            },
        ],
        "braces": [{"begin": r"\{", "end": r"\}", "patterns": [{"include": "#braces"}, {"include": "#all"}]}],
        "numbers": [
            rule("constant.numeric", r"\b0(?:[xX][0-9A-Fa-f_]+|[oO][0-7_]+|[bB][01_]+)\b"),
            rule("constant.numeric", r"\b[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?(?:d\b)?"),
        ],
        "members": [
            rule("keyword.operator.spread", r"\.\.\."),
            {
                "match": r"\.\s*([^\W\d]\w*)",
                "captures": {"1": {"name": "variable.other.property.lang"}},
            },
        ],
        "declarations": [
            declaration("entity.name.function", "task"),
            declaration("entity.name.type", "type|enum|agent"),
        ],
        "soft": [
            {
                "match": rf"^\s*(?:(export)\s+)?({words(frozenset(starters))}){_OPERAND}",
                "captures": {"1": {"name": "storage.modifier.lang"}, "2": {"name": "keyword.control.lang"}},
            },
            rule("storage.modifier", rf"^\s*export\b(?=\s+(?:{'|'.join(sorted(EXPORTABLE))})\b)"),
            rule("keyword.control", r"^\s*(?:describe|stream|socket|private|proxy)\s*$"),
            rule("keyword.other", rf"^\s*{words(DESCRIBE_CLAUSES)}(?=\s*:)"),
            rule("keyword.control", words(GATE_WORDS) + _OPERAND),
            rule("keyword.other", r"(?<=[\w\"'`)\]}]\s)" + words(INFIX_WORDS) + _OPERAND),
        ],
        "keywords": [rule(scope, words(table)) for scope, table in SCOPES.items()],
        "calls": [rule("entity.name.function", r"\b[^\W\d]\w*(?=\()")],
        "operators": [rule("keyword.operator", escaped)],
    }
    order = ("comments", "texts", "numbers", "members", "declarations", "soft", "keywords", "calls", "operators")
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "information": "Written by editors/vscode/generate.py from language/syntax/tokens.py",
        "name": "lang",
        "scopeName": "source.lang",
        "fileTypes": ["lang"],
        "patterns": [{"include": "#all"}],
        "repository": {
            "all": {"patterns": [{"include": f"#{name}"} for name in order]},
            **{name: {"patterns": patterns} for name, patterns in repository.items()},
        },
    }


def text_of_grammar() -> str:
    return json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text_of_grammar(), encoding="utf-8")
