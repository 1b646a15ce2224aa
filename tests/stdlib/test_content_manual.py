"""The chapter of the manual on content: what it tells of its program beside the output."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import language
from tests.manual import DOCS, blocks

PAGE = DOCS / "content.md"


def answered(path: str) -> str:
    (program,) = [block.text for block in blocks(PAGE) if block.language == "lang"]
    reply = language.Program(program).handle({"method": "GET", "path": path, "headers": [], "body": ""})
    assert (reply["status"], reply["errors"]) == (200, [])
    body: str = reply["body"]
    return body


def test_the_json() -> None:
    (shown,) = re.findall(r"`(\"series\".*?)\.\.\.`", PAGE.read_text(encoding="utf-8"))
    assert shown.rstrip(", ") in answered("/report.json")


def test_the_picture() -> None:
    picture = (DOCS / "sales.svg").read_text(encoding="utf-8")
    assert picture.rstrip("\n") in answered("/report")
    assert ElementTree.fromstring(picture).tag.endswith("svg")
