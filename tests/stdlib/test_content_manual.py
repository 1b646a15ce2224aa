"""The chapter of the manual on content: its program answers what the chapter shows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import language

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "content.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def answered(path: str) -> str:
    (program,) = [text for kind, text in BLOCKS if kind == "lang"]
    reply = language.Program(program).handle({"method": "GET", "path": path, "headers": [], "body": ""})
    assert (reply["status"], reply["errors"]) == (200, [])
    body: str = reply["body"]
    return body


def test_the_markdown() -> None:
    assert [text for kind, text in BLOCKS if kind == "markdown"] == [answered("/report.md")]


def test_the_json() -> None:
    (shown,) = re.findall(r"`(\"series\".*?)\.\.\.`", PAGE)
    assert shown.rstrip(", ") in answered("/report.json")


def test_the_picture() -> None:
    picture = (DOCS / "sales.svg").read_text(encoding="utf-8")
    assert picture.rstrip("\n") in answered("/report")
    assert ElementTree.fromstring(picture).tag.endswith("svg")
