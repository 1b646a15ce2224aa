"""The hash chain through the lines of an audit log, which shows whether a line was changed, removed or inserted.

A chained line is a JSON object with ``seq``, counted from 1, and ``prev``: the SHA-256 of the line before, as written,
without its line end (64 zeros for the first line). With the last hash, any change of an earlier line can be detected.
Without it, lines can be cut off at the end unnoticed; only a summary as the last line shows that none were.

If older lines were deleted, the first line may be a checkpoint, which has the number and the hash of the last deleted line. A
checkpoint is not part of the chain. It proves nothing about the lines before it unless it is compared with another record of
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from language.console_text import one_line

#: The longest line that is read, in bytes. No record is longer.
LONGEST_LINE = 1024 * 1024 * 1024
_HEX = frozenset("0123456789abcdef")


class AuditLink(NamedTuple):
    """The link to the line before: its number, counted from 1, and its SHA-256 in lower-case hex."""

    seq: int
    sha256: str


#: The link of the first line.
START = AuditLink(0, "0" * 64)


class AuditChain:
    """Makes the lines of a chain. ``link`` is the link of the next line; keep it to continue the chain later.

    Not thread-safe.
    """

    def __init__(self, link: AuditLink = START) -> None:
        self.link = link

    def line(self, record: Mapping[str, Any]) -> bytes:
        """The next line with its line end: the fields of ``record``, ``seq`` and ``prev``, as JSON in UTF-8.

        Raises ``TypeError`` or ``ValueError`` for values that JSON cannot represent; the chain is then unchanged.
        """
        entry = {**record, "seq": self.link.seq + 1, "prev": self.link.sha256}
        body = encoded(entry)
        self.link = AuditLink(self.link.seq + 1, sha256(body).hexdigest())
        return body + b"\n"

    def checkpoint(self) -> bytes:
        """A checkpoint with its line end: the first line of a log whose earlier lines are not kept."""
        return encoded({"checkpoint": {"seq": self.link.seq, "sha256": self.link.sha256}}) + b"\n"


def encoded(entry: Mapping[str, Any]) -> bytes:
    """A record as JSON on one line without a line end; control and invisible characters are escaped."""
    line = json.dumps(entry, ensure_ascii=False, allow_nan=False)
    return (line if line.isprintable() else json.dumps(entry, allow_nan=False)).encode("utf-8", "replace")


# ---- verifying -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AuditVerification:
    """The result of :func:`language.verify_audit`.

    ``ok`` says whether every line is linked to the one before. ``lines`` is the number of valid lines, ``last`` the link
    that the last of them makes, and ``complete`` whether that line is a summary. If it is not, the program still runs, was
    killed, or the end was cut off. ``first`` is the link that the first line was checked against: that of a checkpoint,
    where the source begins with one.

    Where ``ok`` is false, ``source`` (from 0) and ``line`` (from 1, within that source) are the position of the first
    invalid line, and ``why`` is a sentence about it; else they are ``None``.
    """

    ok: bool
    lines: int
    last: AuditLink
    complete: bool
    first: AuditLink = START
    source: int | None = None
    line: int | None = None
    why: str | None = None


def verify_audit(*sources: Iterable[bytes], after: AuditLink = START) -> AuditVerification:
    """Verifies the hash chain through the lines of an audit log.

    Each source is a file or stream open for reading bytes, or an iterable of lines with their line ends. Several sources
    continue each other, as rotated files do. ``after`` is the link of the first line, for a chain whose beginning is
    missing; without it the very first line may be a checkpoint. A line may be 1 GiB long. Raises ``TypeError`` for lines
    that are not bytes, and what reading a source raises.
    """
    first, link, complete = after, after, False
    begins = after == START
    for place, source in enumerate(sources):
        for number, line in enumerate(_lines(source), 1):
            if begins and (kept := _checkpoint(line)) is not None:
                first = link = kept
                begins = False
                continue
            begins = False
            why, following = follow(line, link)
            if why is not None:
                return AuditVerification(False, link.seq - first.seq, link, complete, first, place, number, why)
            link = following
            complete = line.startswith(b'{"summary"')
    return AuditVerification(True, link.seq - first.seq, link, complete, first)


def _checkpoint(line: bytes) -> AuditLink | None:
    """The link that a checkpoint holds; ``None`` for any other line."""
    if not line.startswith(b'{"checkpoint"') or not line.endswith(b"\n"):
        return None
    try:
        kept = json.loads(line)["checkpoint"]
        seq, digest = kept["seq"], kept["sha256"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    if type(seq) is not int or seq < 0 or not isinstance(digest, str) or len(digest) != 64 or set(digest) - _HEX:
        return None
    return AuditLink(seq, digest)


def _lines(source: Iterable[bytes]) -> Iterator[bytes]:
    read = getattr(source, "readline", None)
    for line in source if read is None else iter(lambda: read(LONGEST_LINE), b""):
        if not isinstance(line, bytes):
            raise TypeError(f"the lines of an audit are bytes, not {type(line).__name__}")
        yield line


def follow(line: bytes, link: AuditLink) -> tuple[str | None, AuditLink]:
    """Checks one line, given with its line end, against the link before. Returns an error message or ``None``, and the link
    that the line makes.
    """
    seq, previous = link
    if not line.endswith(b"\n"):
        return "the line is cut off", link
    body = line[:-1]
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError):
        return "not a JSON object", link
    if not isinstance(entry, dict):
        return "not a JSON object", link
    if "seq" not in entry or "prev" not in entry:
        return "the link is missing: no seq and prev", link
    if type(entry["seq"]) is not int or entry["seq"] != seq + 1:
        return f"the link is broken: seq {_quoted(entry['seq'])} where {seq + 1} follows", link
    if entry["prev"] != previous:
        return "the link is broken: prev is not the SHA-256 of the line before", link
    return None, AuditLink(seq + 1, sha256(body).hexdigest())


def _quoted(value: object) -> str:
    text = one_line(json.dumps(value))
    return text if len(text) <= 40 else text[:39] + "…"
