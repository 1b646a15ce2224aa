"""The chain through the lines of an audit: whether any was changed, taken out or put in.

A chained line is a JSON object that carries ``seq``, counted from 1, and ``prev``, the SHA-256 of the line before as it was
written, without its line end (64 zeros for the first).
"""

from __future__ import annotations

import json
from hashlib import sha256

from language.console_text import one_line

#: What the next line is chained to: the number of the line before and its hash.
Link = tuple[int, str]

START: Link = (0, "0" * 64)


def follow(line: bytes, link: Link) -> tuple[str | None, Link]:
    """Checks one line, its end included, against the link before: what is wrong with it, and the link it makes."""
    seq, previous = link
    if not line.endswith(b"\n"):
        return "the line is cut off", link
    body = line[:-1]
    try:
        entry = json.loads(body)
    except ValueError:
        return "not a JSON object", link
    if not isinstance(entry, dict):
        return "not a JSON object", link
    if "seq" not in entry or "prev" not in entry:
        return "the link is missing: no seq and prev", link
    if type(entry["seq"]) is not int or entry["seq"] != seq + 1:
        return f"the link is broken: seq {one_line(json.dumps(entry['seq']))} where {seq + 1} follows", link
    if entry["prev"] != previous:
        return "the link is broken: prev is not the SHA-256 of the line before", link
    return None, (seq + 1, sha256(body).hexdigest())
