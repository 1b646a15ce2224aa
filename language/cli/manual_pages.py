"""The pages of the manual that the command shows, from the checkout or from the installed package."""

from __future__ import annotations

import re
from pathlib import Path

import language

_PACKAGE = Path(language.__file__).resolve().parent
#: The folder of the pages in an installed package (``pyproject.toml``), and in a checkout.
_FOLDERS = (_PACKAGE / "manual", _PACKAGE.parent / "docs")
_CODE = re.compile(r"[EW]\d{4}")
_SECTION = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)

REFERENCE = "reference.md"
GUIDE = "llms-full.txt"


def page(name: str) -> str | None:
    """The text of a page by its name below ``docs``; ``None`` where this installation has no such page."""
    for folder in _FOLDERS:
        try:
            return (folder / name).read_text(encoding="utf-8")
        except OSError:
            continue
    return None


def sections() -> dict[str, str]:
    """The sections of the reference by the keywords in their titles. Several keywords may share a section."""
    found: dict[str, str] = {}
    for section in _SECTION.finditer(page(REFERENCE) or ""):
        for word in re.findall("`([^`]+)`", section[1]):
            found[word] = section[0].rstrip()
    return found


def topic(name: str) -> str | None:
    """The text of the manual for a keyword, for the code of an error, or, for ``guide``, for the whole language."""
    if name == "guide":
        return page(GUIDE)
    if _CODE.fullmatch(name.upper()):
        return page(f"errors/{name.upper()}.md")
    section = sections().get(name)
    return None if section is None else section.removeprefix("### ")
