"""A short run of the random requests, and what longer ones once found."""

from __future__ import annotations

import random

import pytest
from request_fuzz import examine, inputs, read_here, smaller

HOST = b"Host: x\r\n"
FOUND = {
    "a tab behind the coding of an announced upgrade": (
        b"GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: foo\r\nConnection: upgrade\r\nTransfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n"
    ),
    "a method behind another request": b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nMEX /a HTTP/1.1\r\nHost: x\r\n\r\n",
    "another protocol": b"OPTIONS /a RTSP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("data", FOUND.values(), ids=FOUND.keys())
def test_what_was_found(data: bytes) -> None:
    examine(data, random.Random(0))


def test_no_two_readings_of_two_thousand_inputs() -> None:
    requests = open_ones = 0
    for seed in range(2000):
        data = inputs(random.Random(seed))
        try:
            reading = examine(data, random.Random(seed))
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error}\n{smaller(data, seed)!r}")
        requests += len(reading.messages)
        open_ones += not reading.ended
    assert requests > 1500 and open_ones > 400, "most inputs are refused at once: nothing is compared"


@pytest.mark.parametrize("cut", range(1, 150))
def test_any_two_pieces_are_the_whole(cut: int) -> None:
    data = (
        b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: foo\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;a=b\r\nabc\r\n0\r\nA: b\r\n\r\n"
        b"PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nxy"
    )
    reading = read_here([data[:cut], data[cut:]])
    assert reading == read_here([data])
    assert [(message.method, message.body) for message in reading.messages] == [("POST", b"abc"), ("PUT", b"xy")]
