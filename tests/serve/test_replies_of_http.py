"""What HTTP asks of a server beside its routes: redirects of folders, refused methods, preflight requests, the document of the
service.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.native.server.heads import sized_head
from language.values.iso_times import read_duration
from tests.serve.served import Served, header

STATIC = """
require serve(8080)
serve on 8080
    static "/s" from "files"
    route "POST /s/form"
        give 1
    route "GET /socket"
        socket
            ws_send(socket, 1)
"""


@pytest.fixture
def served(tmp_path: Path) -> Served:
    for name in ("index.html", "sub/index.html", "sub/plain.txt", "a b/index.html", "none/x.txt", "x:y/index.html"):
        file = tmp_path / "files" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("<p>here", encoding="utf-8")
    (tmp_path / "files" / "alias").symlink_to(tmp_path / "files" / "index.html")
    (tmp_path / "files" / "there").symlink_to(tmp_path / "files" / "sub")
    return Served(STATIC, tmp_path)


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("/s/sub", "/s/sub/"),
        ("/s", "/s/"),
        ("/s/a%20b", "/s/a%20b/"),
        ("/s/sub?q=1&r=/x", "/s/sub/?q=1&r=/x"),
        ("/s/there", "/s/there/"),
        ("/s/x:y", "/s/x:y/"),
    ],
)
def test_a_folder_without_its_slash_leads_to_the_one_with_it(served: Served, target: str, wanted: str) -> None:
    for method in ("GET", "HEAD"):
        reply = served(method, target)
        assert reply.status == 308 and reply.body == b""
        (location,) = header(reply, "Location")
        assert urljoin(f"http://a.example{target}", location) == f"http://a.example{wanted}"
        assert served(method, wanted).status == 200


@pytest.mark.parametrize("target", ["//evil.example/s/sub", "/s//evil.example", "/s/sub/../sub", "/%2Fevil.example"])
def test_no_path_makes_the_redirect_lead_to_another_host(served: Served, target: str) -> None:
    for location in header(served("GET", target), "Location"):
        assert urljoin(f"http://a.example{target}", location).startswith("http://a.example/")


@pytest.mark.parametrize("target", ["/s/alias", "/s/sub/index.html", "/s/sub/plain.txt", "/s/sub/", "/s/"])
def test_a_file_is_sent_as_it_is(served: Served, target: str) -> None:
    assert served("GET", target).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_file_takes_no_other_method(served: Served, method: str) -> None:
    for target in ("/s/sub/plain.txt", "/s/sub/", "/s/index.html"):
        reply = served(method, target)
        assert (reply.status, header(reply, "Allow")) == (405, ["GET, HEAD"])
    for target in ("/s/none", "/s/nothing", "/app.lang"):
        assert served(method, target).status == 404
    assert served("POST", "/s/form").status == 200


def test_options_of_a_file_say_what_it_takes(served: Served) -> None:
    reply = served("OPTIONS", "/s/sub/plain.txt")
    assert (reply.status, header(reply, "Allow")) == (204, ["GET, HEAD, OPTIONS"])
    assert served("OPTIONS", "/s/nothing").status == 404


def test_an_upgrade_that_is_required_is_one_of_this_connection(served: Served) -> None:
    reply = served("GET", "/socket")
    assert reply.status == 426
    assert b"\r\nConnection: upgrade\r\n" in sized_head(reply, len(reply.body))
    assert b"\r\nConnection: close, upgrade\r\n" in sized_head(reply, len(reply.body), b"Connection: close\r\n")


def preflight(origin: str, clause: str, asked: str) -> list[str]:
    source = f'''
require serve(8080)
serve on 8080
    cors "{clause}"
    route "POST /x"
        give 1
'''
    fields = {"origin": origin, "access_control_request_method": "POST", "access_control_request_headers": asked}
    (allowed,) = header(Served(source)("OPTIONS", "/x", **fields), "Access-Control-Allow-Headers")
    return allowed.split(", ")


@pytest.mark.parametrize("clause", ["https://good.example", "*"])
def test_a_page_of_an_allowed_origin_may_send_the_fields_it_asks_for(clause: str) -> None:
    found = preflight("https://good.example", clause, "mcp-protocol-version, mcp-method,content-type, X-Own")
    assert found == ["Content-Type", "Authorization", "mcp-protocol-version", "mcp-method", "X-Own"]


def test_a_page_of_another_origin_may_not() -> None:
    found = preflight("https://evil.example", "https://good.example", "mcp-protocol-version")
    assert found == ["Content-Type", "Authorization"]


def test_what_is_asked_for_is_no_way_to_another_header_field() -> None:
    asked = "x-ok, a b, a:b, \u00e9, " + "y" * 101 + ", " + ", ".join(f"z{n}" for n in range(200))
    found = preflight("https://good.example", "*", asked)
    assert found[:4] == ["Content-Type", "Authorization", "x-ok", "z0"] and len(found) == 64


DOCUMENT = """
require serve(8080)
serve on 8080
    route "POST /x"
        expect body {length: duration, other: optional duration}
        give respond("", "text/plain", 204)
"""


def test_the_document_says_which_durations_are_taken_and_that_a_204_has_no_body() -> None:
    found = json.loads(Served(DOCUMENT)("GET", "/openapi.json").body)["paths"]["/x"]["post"]
    fields = found["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert "format" not in fields["length"] and "format" not in fields["other"]
    assert "content" not in found["responses"]["204"] and "200" not in found["responses"]
    pattern = re.compile(fields["length"]["pattern"], re.ASCII)
    for text in (
        "P1W",
        "P1DT2H30M",
        "PT0.5S",
        "-P2D",
        "PT1.5H",
        "P1Y",
        "P1M",
        "P",
        "PT",
        "P1DT",
        "P1.5DT1H",
        "PT1.5H1M",
        "P1H",
    ):
        assert bool(pattern.search(text)) is (read_duration(text) is not None), text


@given(st.from_regex(r"\A[-+]?P?([0-9.]{1,3}[WDYTHMS]?T?){0,4}\Z"))
def test_the_pattern_takes_what_is_read(text: str) -> None:
    from language.serve.openapi import _DURATION

    assert bool(re.search(_DURATION, text, re.ASCII)) is (read_duration(text) is not None)
