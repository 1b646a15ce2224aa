r"""Regular expressions.

Every pattern takes linear time in the text; patterns are Unicode aware. The syntax is described in ``regex_syntax``.
``regex_engine`` chooses between the engines, whose results are the same.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import to_bool
from language.values.display import raw_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.values import Bool
    from stdlib.regex_engine import Pattern

family = Family("regex", "Regular expressions")


# The engines are imported for the first pattern. An import statement in every call would be measurably slow.
_engines: Any = None


def _compiled(pattern: Any) -> Pattern:
    """The compiled pattern. Raises ``RuntimeFault`` for an invalid one."""
    global _engines
    if _engines is None:
        from stdlib import regex_engine

        _engines = regex_engine
    source = raw_text(pattern)
    try:
        compiled: Pattern = _engines.compiled(source)
    except _engines.PatternError as error:
        raise RuntimeFault(f"invalid regex pattern {_engines.quoted(source)}: {error}", code="E0408") from None
    return compiled


@family.builtin("matches(t, pattern)", result="bool")
def matches(t: Any, pattern: Any) -> Bool:
    r"""Whether the whole text matches the pattern: `matches("12345", "[0-9]+")` is `true`, `matches("a5", "[0-9]+")` is not.

    Patterns: `. [a-z] [^a-z] [[:alpha:]] \d \w \s \D \W \S \p{L}`, `^ $ \A \z \b \B`, `* + ? {n} {n,} {n,m}` (lazy with a
    further `?`), `|`, groups `(...)`, `(?:...)`, `(?P<name>...)`, `(?<name>...)`, flags `(?i)` ignore case, `(?m)` `^` and `$`
    at every line, `(?s)` `.` matches line ends too, `(?x)` white space and `#` comments ignored. `\d`, `\w`, `\s`, `\b` and
    `(?i)` know all of Unicode; `[0-9]` means ASCII digits. `$` without `m` is the very end of the text. There is no look-around
    and there are no back-references: every search takes time proportional to the text, whatever the pattern.
    """
    return to_bool(_compiled(pattern).fits(raw_text(t)))


@family.builtin("regex_find_all(t, pattern)", aliases=("find_all",), result="list of str")
def regex_find_all(t: Any, pattern: Any) -> list[str]:
    """The texts of all matches from left to right, whole matches whatever the groups.

    `regex_find_all("a1b22", "[0-9]+")` is `["1", "22"]`. An empty match directly after another match is left out.
    """
    return _compiled(pattern).find_all(raw_text(t))


@family.builtin("regex_capture(t, pattern)")
def regex_capture(t: Any, pattern: Any) -> list[str | None] | None:
    """The texts of the groups of the first match, `nothing` for a group that took no part; `nothing` without a match.

    `regex_capture("k=v", "([a-z])=([a-z])")` is `["k", "v"]`. A pattern without groups gives a list of the matched text.
    """
    found = _compiled(pattern).capture(raw_text(t))
    if found is None:
        return None
    return found[1:] or found


@family.builtin("capture(t, pattern)")
def capture(t: Any, pattern: Any) -> Any:
    """As `regex_capture`, but a pattern without groups gives the matched text itself."""
    found = _compiled(pattern).capture(raw_text(t))
    if found is None:
        return None
    return found[1:] or found[0]


family.builtins["capture"].alias_of = "regex_capture"


@family.builtin("regex_replace(t, pattern, repl)", aliases=("replace_re",))
def regex_replace(t: Any, pattern: Any, repl: Any) -> str:
    r"""The text with all matches replaced. In `repl` `\1`, `\12` and `\g<name>` stand for groups, `\g<0>` for the whole match.

    `regex_replace("2026-09", "([0-9]+)-([0-9]+)", "\\2/\\1")` is `09/2026`. A group that does not exist or took no part is
    empty; two backslashes stand for one, `$` for itself.
    """
    return _compiled(pattern).replace(raw_text(t), raw_text(repl))
