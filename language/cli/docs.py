"""``lang docs``: explains builtins from their declarations, keywords and errors from the manual."""

from __future__ import annotations

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
    from language.hints import name_elsewhere

    told = name_elsewhere(name)
    if told:
        return f"; {told}"
    known = [*sections(), *(known for family in families for known in family.builtins)]
    close = get_close_matches(name, known, n=3)
    return f"; did you mean {', '.join(close)}?" if close else ""
