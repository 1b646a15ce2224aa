"""``lang docs``: explains builtins from their declarations, keywords and errors from the manual."""

from __future__ import annotations

import re

from language.cli.arguments import NONE, clean, parse
from language.cli.streams import err, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from language.registry import Builtin, Family


def command(words: Sequence[str]) -> int:
    from language.cli.manual_pages import topic
    from stdlib import FAMILIES, load_family

    arguments = parse("docs", words, NONE)
    names = [clean(word) for word in arguments.paths + arguments.rest]
    families = [load_family(name) for name in FAMILIES]
    if not names:
        out("\n\n".join(overview(family) for family in families))
        return 0
    texts = []
    unknown = []
    for name in names:
        found = [entry for family in families for entry in _named(family, name)]
        told = topic(name)
        if told is not None:
            found.append(told.rstrip("\n"))
        if not found:
            found = elsewhere(name, families)
        elif name in _KEPT:
            found.insert(0, f"`{name}` is a word of other languages: {_KEPT[name]}")
        if found:
            texts += found
        else:
            unknown.append(name)
    if texts:
        out("\n\n".join(texts))
    for name in unknown:
        err(f"lang docs: there is no entry for '{name}'{_suggestion(name, families)}")
    return 1 if unknown else 0


def _named(family: Family, name: str) -> list[str]:
    bare = name.removesuffix("()")
    if bare in family.builtins:
        return [entry(family.builtins[bare], family)]
    if bare in family.constants:
        return [f"{bare}\n  Constant, {family.title}."]
    return [overview(family)] if name.casefold() in (family.name.casefold(), family.title.casefold()) else []


#: Words for what families hold, and the families.
_FAMILIES = {
    **dict.fromkeys(("string", "strings"), "text"),
    **dict.fromkeys(("array", "arrays", "list", "lists", "collections"), "lists"),
    **dict.fromkeys(("dict", "dictionary", "dictionaries", "map", "maps", "object", "objects", "hash"), "maps"),
    **dict.fromkeys(("math", "maths", "numbers"), "mathematics"),
    **dict.fromkeys(("date", "time"), "dates"),
}
#: Words of the language that mean something else in others.
_KEPT = {
    "repeat": "a loop is `each i in range(5)` or `while condition`",
    "for": "a loop is `each x in xs` or `while condition`, its body indented below",
}


def elsewhere(name: str, families: list[Family]) -> list[str]:
    """What is written here for a word of other languages, with the entries of that; empty for a word that is not known."""
    from language.cli.manual_pages import topic
    from language.hints import OTHER_STATEMENTS, name_elsewhere

    bare = name.removesuffix("()")
    told = OTHER_STATEMENTS.get(bare) or name_elsewhere(bare)
    if told:
        found = [f"`{bare}` is a word of other languages: {told}"]
        for word in dict.fromkeys(re.findall(r"`(?:set \w+ to )?([a-z_]+)", told)):
            section = topic(word)
            entries = (
                [section.rstrip("\n")] if section is not None else [e for family in families for e in _named(family, word)]
            )
            found += entries
            if entries:
                break
        return found
    family = next((family for family in families if family.name == _FAMILIES.get(bare.casefold())), None)
    return [] if family is None else [overview(family)]


def overview(family: Family) -> str:
    """A family's title and one line for each builtin: signature and first sentence. Deprecated names are left out."""
    builtins = [builtin for builtin in family.builtins.values() if builtin.alias_of is None]
    lines = [family.title]
    lines += [f"  {builtin.signature}  {_first_sentence(builtin.doc)}".rstrip() for builtin in builtins]
    lines += [f"  {name}  constant" for name in family.constants]
    return "\n".join(lines)


def entry(builtin: Builtin, family: Family) -> str:
    """The full description of one builtin."""
    lines = [builtin.signature, f"  {family.title}."]
    if builtin.alias_of is not None:
        lines.append(f"  Deprecated name of {builtin.alias_of}().")
    if builtin.capability is not None:
        lines.append(f"  Needs the capability {builtin.capability}.")
    if builtin.profile != "everywhere":
        lines.append("  Not available in the WebAssembly builds.")
    if builtin.named:
        lines.append(f"  By name: {', '.join(builtin.named)}.")
    lines.append("")
    lines += [f"  {line}".rstrip() for line in builtin.doc.splitlines()]
    return "\n".join(lines).rstrip()


def _first_sentence(doc: str) -> str:
    paragraph = " ".join(doc.split("\n\n")[0].split())
    end = paragraph.find(". ")
    return paragraph if end < 0 else paragraph[: end + 1]


def _suggestion(name: str, families: list[Family]) -> str:
    from difflib import get_close_matches

    from language.cli.manual_pages import sections

    words = [word for family in families for word, builtin in family.builtins.items() if builtin.alias_of is None]
    holding = [word for word in words if name.casefold() in word.split("_")]
    if 0 < len(holding) <= 12:
        return f"; these builtins have the word: {', '.join(holding)}"
    known = [*sections(), *(known for family in families for known in family.builtins)]
    close = get_close_matches(name, known, n=3)
    return f"; did you mean {', '.join(close)}?" if close else ""
