"""SVG text: elements, coordinates, and estimates of text widths without a font."""

from __future__ import annotations

from stdlib.markup import escape

# Widths of the printable ASCII characters in Helvetica and Arial, in thousandths of the font size.
_ASCII = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556, 556,
    556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667,
    778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556,
    222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
# Other fonts that a browser may use are wider.
_SAFETY = 1.14 / 1000

#: A longer text is cut first.
LONGEST = 300


def num(value: float) -> str:
    """A coordinate with at most two decimals: further digits of a sine differ between machines, but charts must not."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def element(tag: str, *children: str, **attributes: str | float | None) -> str:
    """One element; ``_`` in the name of an attribute is ``-``, an attribute that is ``None`` is left out.

    Children are markup; attributes are text that is escaped here, or numbers.
    """
    parts = [f"<{tag}"]
    for name, value in attributes.items():
        if value is not None:
            shown = escape(value) if isinstance(value, str) else num(value)
            parts.append(f' {name.strip("_").replace("_", "-")}="{shown}"')
    if children:
        return "".join([*parts, ">", *children, f"</{tag}>"])
    return "".join([*parts, "/>"])


def text(
    shown: str, x: float, y: float, size: float, color: str, *, full: str | None = None, **attributes: str | float | None
) -> str:
    """A line of text that begins at ``x`` on the base line ``y``; ``text_anchor`` gives another meaning to ``x``.

    ``full`` is the text of which ``shown`` may be a part: it becomes a tooltip then.
    """
    hint = [] if full is None or full == shown else [tooltip(full)]
    return element("text", escape(shown), *hint, x=x, y=y, font_size=size, fill=color, **attributes)


def tooltip(shown: str) -> str:
    """The child element of a mark with its description, which browsers show as a tooltip."""
    return f"<title>{escape(shown)}</title>"


def clean(given: str) -> str:
    """The text on one line, without what XML 1.0 does not allow (section 2.2), at most ``LONGEST`` characters."""
    if len(given) > LONGEST:
        given = given[: LONGEST - 1] + "…"
    if given.isprintable():
        return given
    out = []
    for c in given:
        code = ord(c)
        if code < 0x20 or 0x7F <= code <= 0x9F:
            out.append(" " if c in "\t\n\r" else "\ufffd")
        else:
            out.append("\ufffd" if 0xD800 <= code <= 0xDFFF or code & 0xFFFE == 0xFFFE else c)
    return "".join(out)


def width_of(shown: str, size: float) -> float:
    """The estimated width of a text in units, rather too large than too small."""
    total = 0
    for c in shown:
        code = ord(c)
        if 0x20 <= code < 0x7F:
            total += _ASCII[code - 0x20]
        elif 0x300 <= code < 0x370:
            pass  # combining marks
        elif code >= 0x1F000:
            total += 1300
        elif 0x1100 <= code < 0x1200 or 0x2E80 <= code < 0xD7B0 or 0xF900 <= code < 0xFB00 or 0xFE30 <= code < 0xFFE7:
            total += 1000
        else:
            total += 640
    return total * size * _SAFETY


def shortened(shown: str, size: float, width: float) -> str:
    """The text, or as much of it as fits and an ellipsis."""
    if width_of(shown, size) <= width:
        return shown
    room = width - width_of("…", size)
    kept = 0
    for c in shown:
        room -= width_of(c, size)
        if room < 0:
            break
        kept += 1
    return shown[:kept].rstrip() + "…"


def wrapped(shown: str, size: float, width: float, most: int) -> list[str] | None:
    """The text in at most ``most`` lines, broken at blanks; ``None`` when it does not fit."""
    lines: list[str] = []
    line = ""
    for word in shown.split(" "):
        longer = f"{line} {word}" if line else word
        if width_of(longer, size) <= width:
            line = longer
        elif not line or width_of(word, size) > width:
            return None
        else:
            lines.append(line)
            line = word
    lines.append(line)
    return lines if len(lines) <= most else None


def folded(shown: str, size: float, width: float, most: int) -> list[str]:
    """The text in at most ``most`` lines, broken at blanks; what does not fit is cut from the last line."""
    words = shown.split(" ")
    lines: list[str] = []
    while words and len(lines) + 1 < most:
        taken = 0
        while taken < len(words) and width_of(" ".join(words[: taken + 1]), size) <= width:
            taken += 1
        if taken == 0:
            break
        lines.append(" ".join(words[:taken]))
        words = words[taken:]
    return [*lines, shortened(" ".join(words), size, width)] if words else lines
