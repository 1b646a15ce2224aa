"""URLs taken apart and put together, and the forms of requests."""

from __future__ import annotations

import email.parser
import email.policy
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language import run
from language.capabilities.scopes import canonical_scope, net_target, scope_covers
from language.errors import RuntimeFault
from language.serve.multipart import boundary_of
from language.values import Secret
from stdlib.urls import multipart_encode, query_encode, query_parse, url_build, url_parse

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
HOSTS = st.sampled_from(["example.com", "EXAMPLE.com.", "bücher.example", "127.0.0.1", "[2001:DB8:0:0::1]", "a-b_c.test"])
PORTS = st.none() | st.integers(0, 65535)


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


@given(
    HOSTS, st.none() | st.integers(0, 65535), TEXTS, st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=3), st.none() | TEXTS
)
def test_what_is_built_is_taken_apart_again(host, port, path, query, fragment):
    parts = {"scheme": "https", "host": host.strip("[]"), "port": port, "path": path, "query": query, "fragment": fragment}
    found = url_parse(url_build(parts))
    assert found["query"] == query and found["port"] == port
    assert url_build(found) == url_build(parts)
    assert url_parse(url_build(found)) == found


@given(HOSTS, PORTS)
def test_the_scope_is_the_one_that_the_capability_decides_on(host, port):
    url = f"https://{host}" + ("" if port is None else f":{port}") + "/x"
    found = url_parse(url)
    assert found["scope"] == net_target(url, "http_get").scope == canonical_scope("net", url)
    assert scope_covers("net", canonical_scope("net", found["scope"]), found["scope"])


@pytest.mark.parametrize(
    "url",
    ["", "x", "//host/a", "https://", "https:///a", "https://a b/", "https://a\\@b/", "https://a%2eb/", "https://a..b/",
     "https://a:99999/", "https://a:x/", "https://1.2.3/", "https://0x7f.1/", "https://[::1", "https://[fe80::1%25eth0]/"],
)  # fmt: skip
def test_no_url(url):
    assert error_of(url_parse, url) == "url_parse(): the URL has no host (expected scheme://host/…)"


@pytest.mark.parametrize("host", ["a/b", "a@b", "a:80", "a?b", "a#b", "a\\b", "a%2fb", "[::1]x", "evil.test/@good.test"])
def test_no_host_leads_elsewhere(host):
    assert "host" in error_of(url_build, {"host": host})


@pytest.mark.parametrize("scheme", ["", "ht tp", "http://evil/", "javascript:alert(1)//", "1http"])
def test_no_scheme(scheme):
    if scheme:
        assert "scheme" in error_of(url_build, {"scheme": scheme, "host": "a.test"})
    else:
        assert url_build({"scheme": scheme, "host": "a.test"}) == "https://a.test/"


def test_parts_that_are_encoded_stay_so_and_others_become_it():
    found = url_parse("https://u%40:p%3A@a.test/a%2Fb/c%20d?x=%2F+&x=2&e#f%23")
    assert found == {
        "scheme": "https", "user": "u@", "password": "p:", "host": "a.test", "port": None, "path": "/a%2Fb/c%20d",
        "query": {"x": ["/ ", "2"], "e": ""}, "fragment": "f%23", "scope": "a.test",
    }  # fmt: skip
    assert url_build(found) == "https://u%40:p%3A@a.test/a%2Fb/c%20d?x=%2F+&x=2&e=#f%23"
    assert url_build({"host": "a.test", "path": "100%/ä?#"}) == "https://a.test/100%25/%C3%A4%3F%23"
    assert "secret" in error_of(url_build, {"host": "a.test", "password": Secret("p", ("KEY",))})


@given(st.dictionaries(TEXTS.filter(bool), st.lists(TEXTS, min_size=1, max_size=3), max_size=4))
def test_queries_are_those_of_python(fields):
    written = query_encode(fields)
    assert parse_qs(written, keep_blank_values=True) == fields
    assert query_parse("?" + urlencode(fields, doseq=True)) == {
        name: values[0] if len(values) == 1 else values for name, values in fields.items()
    }


def test_what_no_query_holds():
    assert query_encode({"a": None, "b": [1, 2.5]}) == "b=1&b=2.5"
    assert "secret" in error_of(query_encode, {"a": Secret("p", ("KEY",))})
    assert "is a map" in error_of(query_encode, {"a": {"b": 1}})
    assert query_parse("a=%ff&&=x") == {"a": "\ufffd", "": "x"}


def parts_of(form):
    """What Python's own reader of MIME finds in a form."""
    head = f"Content-Type: {form['content_type']}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + form["body"])
    return [(part.get_param("name", header="content-disposition"), part.get_filename(), part) for part in message.iter_parts()]


def test_forms_with_files():
    form = multipart_encode(
        {
            "title": 'x"\r\n--y', "n": [1, 2],
            "data": {"filename": 'a"b\r\n.csv', "content": b"\x00\xff\r\n--part", "content_type": "text/csv"},
        }
    )  # fmt: skip
    found = parts_of(form)
    assert [(name, filename) for name, filename, _ in found] == [
        ("title", None), ("n", None), ("n", None), ("data", "a%22b%0D%0A.csv"),
    ]  # fmt: skip
    boundary = boundary_of(form["content_type"])
    assert form["body"].count(boundary if isinstance(boundary, bytes) else boundary.encode()) == 5
    assert b"\r\nContent-Type: text/csv\r\n\r\n\x00\xff\r\n--part\r\n" in form["body"]
    assert multipart_encode({"a": "x"}) == multipart_encode({"a": "x"})


@pytest.mark.parametrize(
    "part", [{"filename": "x"}, {"content": None}, {"content": "x", "content_type": "a\r\nX: y"}, {"content": "x", "size": 1},
             Secret("p", ("KEY",)), {"content": Secret("p", ("KEY",))}, [[1]], None],
)  # fmt: skip
def test_no_part(part):
    assert error_of(multipart_encode, {"a": part}).startswith("multipart_encode: ")


def test_what_url_parse_tells_is_what_the_gate_asks_for():
    answer = run('print(url_parse("HTTP://EXAMPLE.com.:80/").scope)\nhttp_get("HTTP://EXAMPLE.com.:80/")\n')
    assert answer["output"] == ["example.com:80"]
    assert 'net("example.com:80")' in str(answer)
