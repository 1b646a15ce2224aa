"""Content codings: which one a client gets, and which bodies of a program are compressed."""

from __future__ import annotations

import gzip
import subprocess
import sys

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from language.serve.compression import compress, is_compressible, negotiate
from language.serve.reply import FileReply, Reply, StreamReply


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        (None, ""),
        ("", ""),
        ("gzip", "gzip"),
        ("br", "br"),
        ("gzip, deflate, br, zstd", "br"),
        ("br, gzip", "br"),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        (" gzip ;q=1.0 ", "gzip"),
        ("gzip;Q=0.5", "gzip"),
        ("gzip;q=0", ""),
        ("gzip;q=0.000", ""),
        ("gzip;q=0, br;q=0.001", "br"),
        ("br;q=0.5, gzip;q=0.8", "gzip"),
        ("br;q=0.8, gzip;q=0.8", "br"),
        ("br;q=0, *", "gzip"),
        ("*", "br"),
        ("*;q=0", ""),
        ("*;q=0, gzip", "gzip"),
        ("gzip;q=0, br;q=0, *", ""),
        ("identity", ""),
        ("identity, gzip", "gzip"),
        ("identity;q=1, gzip;q=0.5", ""),
        ("identity;q=0.5, gzip;q=1", "gzip"),
        ("identity;q=0", ""),
        ("deflate, zstd", ""),
        ("gzippy, brx, not-gzip", ""),
        ("gzip;q=1.5", ""),
        ("gzip;q=-1", ""),
        ("gzip;q=abc", ""),
        ("gzip;q=", ""),
        ("gzip;q=0.1234", ""),
        ("gzip;q=1.001", ""),
        ("gzip;q=²", ""),
        ("gzip;level=9", ""),
        (",,;q=1,gzip,", "gzip"),
    ],
)
def test_the_weights_of_the_client_decide(accepted: str | None, coding: str) -> None:
    assert negotiate(accepted) == coding
    assert negotiate(accepted) == coding  # also when it is remembered


@given(st.text(st.characters(max_codepoint=255)) | st.text("gzipbr*;q=01. ,identy"))
@settings(max_examples=1000, deadline=None)
def test_any_text_is_answered_and_a_coding_only_where_it_is_accepted(accepted: str) -> None:
    coding = negotiate(accepted)
    assert coding in ("", "gzip", "br")
    assert not coding or coding in accepted.lower() or "*" in accepted


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html; charset=utf-8", True),
        ("TEXT/HTML", True),
        ("text/css", True),
        ("text/javascript", True),
        ("application/javascript", True),
        ("application/json", True),
        ("application/problem+json", True),
        ("image/svg+xml", True),
        ("text/plain;charset=utf-8", True),
        ("application/xml", True),
        ("text/xml", True),
        ("application/rss+xml", True),
        ("text/event-stream", False),
        ("application/octet-stream", False),
        ("image/png", False),
        ("text/markdown", False),
        ("application/jsonp-like", False),
        ("json", False),
        ("", False),
        (None, False),
    ],
)
def test_types_worth_compressing(content_type: str | None, expected: bool) -> None:
    assert is_compressible(content_type) is expected


JSON = b'{"a": "' + b"x" * 2000 + b'"}'


@pytest.mark.parametrize(("coding", "decode"), [("gzip", gzip.decompress), ("br", brotli.decompress)])
def test_a_body_is_compressed(coding: str, decode: object) -> None:
    assert callable(decode)
    original = Reply(201, "application/json", JSON, [("X-A", "1"), ("X-A", "2")], closes=True)
    reply = compress(original, coding)
    assert reply is not None
    assert decode(reply.body) == JSON
    assert len(reply.body) < 100
    assert (reply.status, reply.content_type, reply.closes) == (201, "application/json", True)
    assert reply.headers == [("X-A", "1"), ("X-A", "2"), ("Vary", "Accept-Encoding"), ("Content-Encoding", coding)]
    assert original.headers == [("X-A", "1"), ("X-A", "2")]
    assert original.body == JSON
    assert compress(reply, coding) is None  # not twice


def test_the_bound_is_1024_bytes() -> None:
    assert compress(Reply(200, "text/plain", b"x" * 1023), "gzip") is None
    assert compress(Reply(200, "text/plain", b"x" * 1024), "gzip") is not None


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, "image/png", JSON),
        Reply(200, None, JSON),
        Reply(204, "application/json", JSON),
        Reply(206, "application/json", JSON),
        Reply(304, "application/json", JSON),
        Reply(200, "application/json", JSON, compressible=False),
        Reply(200, "application/json", JSON, [("content-encoding", "zstd")]),
        FileReply(200, "text/css", [], -1, 0, 5000),
        StreamReply(200, "text/event-stream", [], lambda sink: None),
    ],
    ids=["type", "none", "204", "206", "304", "marked", "encoded", "file", "stream"],
)
def test_what_goes_out_as_it_is(reply: Reply) -> None:
    assert compress(reply, "gzip, br") is None


def test_a_client_without_codings_is_told_what_the_reply_varies_by() -> None:
    reply = compress(Reply(200, "application/json", JSON, [("ETag", '"1"')]), None)
    assert reply is not None
    assert reply.body == JSON
    assert reply.headers == [("ETag", '"1"'), ("Vary", "Accept-Encoding")]


@pytest.mark.parametrize("vary", ["Accept-Encoding", "accept, ACCEPT-ENCODING", "*"])
def test_vary_is_not_said_twice(vary: str) -> None:
    reply = compress(Reply(200, "application/json", JSON, [("vary", vary)]), "gzip")
    assert reply is not None
    assert reply.headers == [("vary", vary), ("Content-Encoding", "gzip")]


def test_another_vary_stays() -> None:
    reply = compress(Reply(200, "application/json", JSON, [("Vary", "Accept")]), "gzip")
    assert reply is not None
    assert reply.headers[:2] == [("Vary", "Accept"), ("Vary", "Accept-Encoding")]


def test_a_strong_tag_of_the_program_becomes_weak() -> None:
    reply = compress(Reply(200, "application/json", JSON, [("etag", '"1"')]), "gzip")
    assert reply is not None
    assert ("etag", 'W/"1"') in reply.headers
    reply = compress(Reply(200, "application/json", JSON, [("ETag", 'W/"1"')]), "gzip")
    assert reply is not None
    assert ("ETag", 'W/"1"') in reply.headers


def test_a_body_that_does_not_shrink_is_sent_as_it_is() -> None:
    import random

    noise = random.Random(1).randbytes(4000)
    reply = compress(Reply(200, "text/plain", noise), "gzip, br")
    assert reply is not None
    assert reply.body == noise
    assert reply.headers == [("Vary", "Accept-Encoding")]


@pytest.mark.parametrize(
    ("missing", "accepted", "coding"), [("brotli", "gzip, br", "gzip"), ("zlib", "gzip", ""), ("brotli", "br", "")]
)
def test_without_a_library_its_coding_is_not_offered(missing: str, accepted: str, coding: str) -> None:
    without = f"import sys; sys.modules[{missing!r}] = None"
    program = f"{without}\nfrom language.serve.compression import negotiate; print(negotiate({accepted!r}))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == coding + "\n"


def test_loading_the_module_loads_no_library() -> None:
    program = "import sys; import language.serve.compression; print({'brotli', 'zlib'} & sys.modules.keys())"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"
