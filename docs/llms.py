"""Writes ``docs/llms-full.txt``, the language on one page for a model: ``docs/guide.md``, the forms and examples of
``docs/reference.md``, and the signatures of the builtins."""

from __future__ import annotations

import re
from pathlib import Path

from language.registry import Builtin, Family
from stdlib import FAMILIES, load_family

DOCS = Path(__file__).resolve().parent
TARGET = DOCS / "llms-full.txt"

#: What the page may cost a model, and how many bytes count as one token. Text and code like this take 3.3 to 4 bytes a token in
#: the vocabularies of current models; the count here errs to the safe side.
MOST_TOKENS = 12_000
BYTES_A_TOKEN = 3

#: Builtins with a sentence of their own: the signature does not tell what they take or give. Of all others a model sees the
#: signature, and asks `lang docs NAME`.
EXPLAINED = frozenset(
    (
        *("print", "exit", "length", "type_of", "number", "int", "decimal", "insert", "get", "merge", "items", "enumerate"),
        *("contains", "slice", "range", "call", "assert_error", "transform", "reduce", "sort_by", "group_by", "count_by"),
        *("collect", "flatten", "index_of"),
    )
)
#: Families that few programs need: the names alone.
NAMES_ALONE = frozenset(
    (
        *("mathematics", "arrays", "linear_algebra", "evm_reads", "solana_reads", "algorand_reads", "bitcoin_reads", "redis"),
        *("file_watches", "totp"),
    )
)
#: Chapters of the reference that a first program does not need.
_LEFT_OUT = ("Words without a meaning yet",)
#: Sections of the reference without their example: the programs of the guide or the example of another section show the word,
#: or the form alone says all.
WITHOUT_EXAMPLE = frozenset(
    (
        "`type`",
        "`use`",
        "`routes`",
        "`each`",
        "`while`",
        "`stop`",
        "`give`",
        "`try`, `recover`",
        "`test`",
        "`intent`",
        "`log`",
        "`trace`, `measure`",
        "`checkpoint`",
        "`require`",
        "`approve`, `confirm`, `within`",
        "`decide`, `between`, `given`",
        "`analyze`, `for`",
        "`generate`",
        "`serve`, `on`",
        "`auth`",
        "`expect`",
        "`errors`",
        "`rate_limit`, `per`, `timeout`",
        "`max_body`, `max_streams`, `cors`",
        "`describe`, `api`, `version`",
        "`private`, `docs`",
        "`host`",
        "`proxy`",
    )
)
_NOTICE = re.compile(r"^\[lang\] notice: [^\n]*\n", re.MULTILINE)

_EXAMPLE = re.compile(r"\n*^```lang.*\Z", re.MULTILINE | re.DOTALL)

_END = """\
## Builtins

A `?` marks an argument that may be left out, `=` a default and an argument that may be given by name. In brackets: the
capability that is needed. `lang docs NAME` tells all about one, and the arguments of those whose name stands alone.
"""


def text() -> str:
    """The whole page."""
    guide = _page("guide.md")
    reference = _page("reference.md").partition("\n## ")
    chapters = ["## " + chapter for chapter in reference[2].split("\n## ")]
    kept = [chapter for chapter in chapters if not chapter.startswith(tuple(f"## {title}" for title in _LEFT_OUT))]
    body = _NOTICE.sub("", "\n".join(map(_shortened, kept))).replace(" Reserved.\n", "\n").replace("\nReserved.\n", "\n")
    rules = reference[0].partition("\n")[2].strip()
    parts = [guide.rstrip(), "# Every keyword and clause", rules, body.rstrip(), _END.rstrip()]
    parts += [_family(load_family(name), names_alone=name in NAMES_ALONE) for name in FAMILIES]
    return "\n\n".join(parts) + "\n"


def tokens(page: str) -> int:
    """About how many tokens a model reads the page as; not less than it will be."""
    return -(-len(page.encode("utf-8")) // BYTES_A_TOKEN)


def _page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def _shortened(chapter: str) -> str:
    """The chapter of the reference; the examples of `WITHOUT_EXAMPLE` are left out."""
    first, *sections = chapter.split("\n### ")
    shown = [_EXAMPLE.sub("\n", one) if one.partition("\n")[0] in WITHOUT_EXAMPLE else one for one in sections]
    return "\n### ".join([first, *shown])


def _family(family: Family, *, names_alone: bool) -> str:
    builtins = [builtin for builtin in family.builtins.values() if builtin.alias_of is None]
    gates = {builtin.capability for builtin in builtins}
    needed = gates.pop() if len(gates) == 1 else None
    title = f"**{family.title}**" + (f" [{needed}]" if needed else "")
    shown = [
        (one.name if names_alone else one.signature) + (f" [{one.capability}]" if one.capability and not needed else "")
        for one in builtins
        if one.name not in EXPLAINED
    ]
    sentences = [f"- `{one.signature}`: {_sentence(one)}" for one in builtins if one.name in EXPLAINED]
    return "\n".join([f"{title}: {', '.join([*shown, *family.constants])}", *sentences])


def _sentence(builtin: Builtin) -> str:
    paragraph = " ".join(builtin.doc.split("\n\n")[0].split())
    end = re.search(r"[.:](?= |$)", paragraph)
    return paragraph if end is None else paragraph[: end.start()] + "."
