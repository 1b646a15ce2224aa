"""``time_ms`` ends a program soon whatever one operation has to do: in processor time, within ten times the limit."""

from __future__ import annotations

import time

import pytest

import language

LIMIT_MS = 150
MOST_SECONDS = 10 * LIMIT_MS / 1000

TEXT = 'let s be "0123456789abcdef"\neach i in range(19)\n    set s to s + s\n'
LIST = "let xs be [3, 1, 4, 1, 5, 9, 2, 6]\neach i in range(17)\n    set xs to xs + xs\n"
TEXTS = TEXT + "let ts be []\neach i in range(3000)\n    set ts to append(ts, s)\n"
OPERATIONS = {
    "sort of large texts": TEXTS + "let r be sort(ts)",
    "sort_by of large texts": TEXTS + "let r be sort_by(ts, (t) => t)",
    "sort of rows with large texts": TEXTS + "let r be sort(apply(ts, (t) => [t, 1]))",
    "sort of many": LIST + "let r be sort(xs)",
    "index_of": TEXTS + 'let r be index_of(ts, slice(s, 0, length(s) - 1) + "x")',
    "in": TEXTS + 'let r be (slice(s, 0, length(s) - 1) + "x") in ts',
    "equality": TEXTS + 'let us be apply(ts, (t) => slice(t, 0, length(t) - 1) + "x")\nlet r be us == apply(us, (u) => u)',
    "json_encode of shared texts": TEXTS + "let r be json_encode(ts)",
    "json_encode of many": LIST + "let r be json_encode(xs)",
    "unique": LIST + "let r be unique(apply(xs, (x) => x * 2305843009213693951))",
    "base58": 'let b be int_to_bytes(2 ** 4000000 - 1)\nlet r be decode(b, "base58")',
    "base58 of text": 'let s be "zzzzzzzzzzzzzzzz"\neach i in range(15)\n    set s to s + s\nlet r be bytes(s, "base58")',
    "join": TEXTS + 'let r be join(ts, ",")',
    "products": "let a be 3 ** 6000000\nlet r be a * a * a * a * a * a",
    "quotients": "let a be 3 ** 6000000\nlet r be (a * a) // (a + 1)",
    "a straight line": TEXT + "let r be 0\n" + "set r to s + s\n" * 3000,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_program_ends(name: str) -> None:
    language.run('let r be json_encode(sort_by(unique([2, 1]), (x) => x))\nlet q be decode(bytes("a"), "base58")')
    limits = {"time_ms": LIMIT_MS, "memory_bytes": 400_000_000}
    started = time.process_time()
    answer = language.run(OPERATIONS[name], limits=limits)
    taken = time.process_time() - started
    assert answer.get("limit") in ("time_ms", "memory_bytes") or answer["ok"] or "more than" in answer["errors"][0], answer
    assert taken < MOST_SECONDS
