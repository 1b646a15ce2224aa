"""Bodies: whatever pieces they arrive in, their data and their end are the same, and nothing malformed passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.ingress.bodies import LAST_CHUNK, ChunkedReader, SizedReader, chunk
from runner.ingress.heads import Malformed


def in_pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)])]


@given(st.lists(st.binary(min_size=1, max_size=40)), st.binary(max_size=20), st.lists(st.integers(0, 10_000), max_size=20))
def test_chunks_in_any_pieces(parts: list[bytes], behind: bytes, cuts: list[int]) -> None:
    whole = b"".join(map(chunk, parts)) + LAST_CHUNK + behind
    taken, rest, reader = b"", b"", ChunkedReader(400)
    for piece in in_pieces(whole, cuts):
        if reader.over:
            rest += piece
            continue
        data, more = reader.take(piece)
        taken, rest = taken + data, rest + more
    assert (taken, rest, reader.over) == (b"".join(parts), behind, True)


@given(st.binary(max_size=60), st.integers(0, 60), st.lists(st.integers(0, 10_000), max_size=8))
def test_sized_bodies_in_any_pieces(data: bytes, length: int, cuts: list[int]) -> None:
    taken, rest, reader = b"", b"", SizedReader(length)
    for piece in in_pieces(data, cuts):
        if reader.over:
            rest += piece
            continue
        part, more = reader.take(piece)
        taken, rest = taken + part, rest + more
    assert taken + rest == data and len(taken) == min(length, len(data))


@pytest.mark.parametrize(
    "data",
    [
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"5\r\nhelloo\r\n0\r\n\r\n",
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n",
        b"5_0\r\nhello\r\n",
        b"\r\nhello\r\n0\r\n\r\n",
        b"5;a=\rb\r\nhello\r\n0\r\n\r\n",
        b"ffffffffffffffff\r\nhello\r\n",
        b"0\r\nContent-Length : 3\r\n\r\n",
        b"0\r\n folded\r\n\r\n",
        b"1;" + b"a" * 5000 + b"\r\n",
        b"".join(b"1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\na\r\n" for _ in range(5_000)),
    ],
)
def test_malformed_chunks_are_refused(data: bytes) -> None:
    reader = ChunkedReader(400)
    with pytest.raises(Malformed):
        for at in range(len(data)):
            reader.take(data[at : at + 1])
