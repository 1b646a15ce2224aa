"""The direction of texts on a page, as browsers find it: by their first letter (HTML, 3.2.6.4, the attribute ``dir``)."""

from __future__ import annotations

# Hebrew, Arabic, Syriac, Thaana, NKo and their neighbours; their presentation forms; the ancient scripts, Adlam.
_RIGHT_TO_LEFT = ((0x590, 0x8FF), (0xFB1D, 0xFDFF), (0xFE70, 0xFEFF), (0x10800, 0x10FFF), (0x1E800, 0x1EFFF))
_LANGUAGES = frozenset((
    "ar", "arc", "arz", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "sdh", "sy", "syr", "ug", "ur", "yi",
))  # fmt: skip
_SCRIPTS = frozenset({"adlm", "arab", "aran", "hebr", "mand", "mani", "nkoo", "rohg", "samr", "syrc", "thaa"})
_MARKS = {"\u200e": "ltr", "\u200f": "rtl", "\u061c": "rtl"}


def direction_of(text: str) -> str | None:
    """``rtl`` or ``ltr``, by the first letter; ``None`` for a text without letters."""
    for c in text:
        if c in _MARKS:
            return _MARKS[c]
        if c.isalpha():
            code = ord(c)
            return "rtl" if any(low <= code <= high for low, high in _RIGHT_TO_LEFT) else "ltr"
    return None


def direction_of_language(tag: str) -> str:
    """``rtl`` or ``ltr`` of a language tag (BCP 47): by its script where it names one, else by its language."""
    language, *rest = tag.lower().replace("_", "-").split("-")
    script = next((part for part in rest if len(part) == 4 and part.isalpha()), None)
    if script is not None:
        return "rtl" if script in _SCRIPTS else "ltr"
    return "rtl" if language in _LANGUAGES else "ltr"
