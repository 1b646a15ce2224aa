"""Text inside Markdown (CommonMark, and the tables of GFM): escapes what would otherwise be read as markup."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# Patterns as texts: they are compiled when the first text is escaped, because loading the builtins must stay cheap.

#: Emphasis, code, links, images, HTML, escapes, strikethrough; an underscore inside a word means nothing.
_ANYWHERE = r"[\\`*<]|\](?=[(\[:])|~(?=~)|(?<=~)~|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w{1,32};)"
#: Inside the brackets of a link every bracket counts as well.
_IN_LINK = _ANYWHERE + r"|[\[\]]"
#: A heading, list, quotation, rule, table or fence begins a line; the last group is the mark after a number.
_FIRST = r"[-+#=|:~>\[]|(\d{1,9})([.)])(?=\s|$)"
#: Characters that end a URL in parentheses, or the line.
_IN_URL = r"[\s()<>\\\x00-\x1f\x7f]"

_compiled: dict[str, re.Pattern[str]] = {}


def escaped(text: str) -> str:
    """A text of one line or several. Its lines stay lines of one paragraph: none begins a block, and none is empty."""
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join([_beginning(_inline(line, _ANYWHERE)) for line in lines if line])


def escaped_on_one_line(text: str) -> str:
    """A text as one line, for a heading or the words of a link."""
    return _beginning(_inline(" ".join(text.split()), _IN_LINK))


def escaped_inside_line(text: str) -> str:
    """A text as a part of a line that begins with something else."""
    return _inline(text if text.isprintable() else " ".join(text.splitlines()), _ANYWHERE)


def escaped_url(url: str) -> str:
    """A URL for the parentheses of a link, with characters that would end it percent-encoded."""
    return _pattern(_IN_URL).sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8")), url)


def _pattern(text: str) -> re.Pattern[str]:
    found = _compiled.get(text)
    if found is None:
        import re

        found = _compiled[text] = re.compile(text)
    return found


def _inline(text: str, marks: str) -> str:
    return _pattern(marks).sub(lambda found: "\\" + found[0], text)


def _beginning(line: str) -> str:
    """The line, escaped so that it does not begin a block."""
    first = _pattern(_FIRST).match(line)
    if first is None:
        return line
    if first[1] is None:
        return "\\" + line
    return f"{first[1]}\\{first[2]}{line[first.end() :]}"
