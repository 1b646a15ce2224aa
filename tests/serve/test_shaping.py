"""What a route gives, as it goes out: status, content type, headers, body."""

from __future__ import annotations

import json
import math
import sys
import threading
from types import CellType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.serve.paging import Page
from language.serve.request import Request
from language.serve.shaping import error_reply, json_text, shape
from language.values import FALSE, TRUE, Bool, Module, Secret
from language.values.bigint import int_to_text
from language.values.decimals import parse
from stdlib.content import content, heading, page
from stdlib.core import length
from stdlib.pages import paged, paged_reply
from stdlib.responses import binary, created, fail, html, not_found, ok, redirect, respond, with_header
from stdlib.sql import db_open, sql_exec

SECRET = Secret("hunter2", ("K",))


def asking(query="", *fields):
    return Request("GET", "/", query, fields)


def listed(value, query=""):
    reply = shape(value, asking(query))
    assert (reply.status, reply.content_type) == (200, "application/json")
    assert list(json.loads(reply.body)) == ["items", "count", "total", "cursor"]
    return tuple(json.loads(reply.body).values())


def some_task(a, b):
    return a


def as_python(value):
    """The same value with Python's own booleans."""
    if isinstance(value, Bool):
        return bool(value)
    if isinstance(value, list):
        return [as_python(item) for item in value]
    return {key: as_python(item) for key, item in value.items()} if isinstance(value, dict) else value


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.integers() | st.floats() | TEXTS | st.sampled_from([TRUE, FALSE]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


class TestPlainValues:
    @pytest.mark.parametrize(
        ("value", "body"),
        [
            (None, b"null"),
            ({"a": 1, "b": [TRUE, None]}, b'{"a": 1, "b": [true, null]}'),
            ({}, b"{}"),
            ("Zoë €😀", b'"Zo\\u00eb \\u20ac\\ud83d\\ude00"'),
            (42, b"42"),
            (2.5, b"2.5"),
            (1e16, b"1e+16"),
            (TRUE, b"true"),
            (FALSE, b"false"),
            (math.nan, b"NaN"),
            (-math.inf, b"-Infinity"),
            (parse("1.50"), b"1.50"),
            (3 + 4j, b'{"re": 3.0, "im": 4.0}'),
            (SECRET, b'"[redacted]"'),
            (some_task, b'"task some_task(a, b)"'),
            (length, b'"builtin:length"'),
        ],
    )
    def test_json(self, value, body):
        reply = shape(value)
        assert (reply.status, reply.content_type, reply.body, reply.headers) == (200, "application/json", body, [])

    def test_bytes(self):
        reply = shape(b"\x00\xff")
        assert (reply.status, reply.content_type, reply.body) == (200, "application/octet-stream", b"\x00\xff")

    def test_a_module_shows_its_exports(self):
        module = Module("m", lambda name: False)
        module.export("n", CellType(5), fixed=False)
        assert shape(module).body == b'{"n": 5}'
        assert shape({"m": [module]}).body == b'{"m": [{"n": 5}]}'

    def test_a_module_without_exports(self):
        assert shape(Module("m", lambda name: False)).body == b"{}"


class TestJson:
    @given(VALUES)
    def test_it_is_that_of_python(self, value):
        assert json_text(value) == json.dumps(as_python(value))

    def test_what_json_has_no_word_for(self):
        value = {"t": some_task, "b": b"\xff", "d": parse("0.10"), "s": SECRET, "f": length}
        assert json_text(value) == (
            '{"t": "task some_task(a, b)", "b": "/w==", "d": 0.10, "s": "[redacted]", "f": "builtin:length"}'
        )

    def test_integers_of_any_size(self):
        number = 7**20000
        assert json_text({"n": [number]}) == f'{{"n": [{int_to_text(number)}]}}'

    def test_responses_inside_data(self):
        assert json_text([html("x"), binary(b"\xff", "image/png", 201), ok([1]), redirect("/a", 302)]) == (
            '[{"body": "x", "content_type": "text/html; charset=utf-8", "status": 200}, '
            '{"body": "/w==", "content_type": "image/png", "status": 201}, '
            '{"status": 200, "value": [1]}, {"redirect": "/a", "status": 302}]'
        )

    def test_content_inside_data_is_its_tree(self):
        tree = content(page([heading(1, "Pens")], {"title": "T"}))
        assert json.loads(json_text({"page": tree, "node": heading(2, "a")})) == {
            "page": json.loads(shape(tree, format="json").body),
            "node": {"type": "heading", "level": 2, "text": "a"},
        }

    def test_secrets_are_told_once(self):
        told = []
        assert shape({"a": SECRET, "b": [SECRET]}, redacted=lambda: told.append(1)).body == (
            b'{"a": "[redacted]", "b": ["[redacted]"]}'
        )
        assert told == [1]
        shape({"a": "no secret"}, redacted=lambda: told.append(2))
        assert told == [1]

    @pytest.mark.parametrize("depth", [3, 63, 64, 65, 999])
    @pytest.mark.parametrize("leaf", [1, TRUE, SECRET])
    def test_deep_values(self, depth, leaf):
        value = leaf
        for level in range(depth):
            value = [value] if level % 2 else {"k": value}
        shown = '"[redacted]"' if leaf is SECRET else json.dumps(as_python(leaf))
        text = json_text(value)
        assert text.count("[") - (leaf is SECRET) == depth // 2
        assert shown in text

    def test_too_deep_is_an_error_in_any_thread(self):
        value = []
        for _ in range(200_000):
            value = [value]
        caught = []

        def answer():
            try:
                shape({"v": value})
            except RuntimeFault as error:
                caught.append(error.message)

        limit = sys.getrecursionlimit()
        threading.stack_size(256 * 1024)
        sys.setrecursionlimit(1_000_000)
        try:
            thread = threading.Thread(target=answer)
            thread.start()
            thread.join()
        finally:
            threading.stack_size(0)
            sys.setrecursionlimit(limit)
            while value:  # Python's own clean-up of so deep a list is not the subject
                value = value.pop()
        assert caught == ["give: the value is nested more than 1000 levels deep"]


class TestPages:
    def test_the_envelope_to_the_letter(self):
        assert shape([0, 1, 2], asking("limit=2")).body == b'{"items": [0, 1], "count": 2, "total": 3, "cursor": 2}'
        assert shape([]).body == b'{"items": [], "count": 0, "total": 0, "cursor": null}'

    def test_windows(self):
        five = [0, 1, 2, 3, 4]
        assert listed(five, "limit=2") == ([0, 1], 2, 5, 2)
        assert listed(five, "limit=2&cursor=4") == ([4], 1, 5, None)
        assert listed(five, "limit=0&offset=9") == ([], 0, 5, None)
        assert listed(five, "limit=5") == (five, 5, 5, None)
        assert listed(five, "limit=4&offset=1") == ([1, 2, 3, 4], 4, 5, None)
        assert listed(five, "cursor=1&offset=3&limit=1") == ([1], 1, 5, 2)
        assert listed(five, "cursor=x&offset=3&limit=1") == ([0], 1, 5, 1)

    def test_limits(self):
        many = list(range(2500))
        for query in ("", "limit=", "limit=x", "limit=-5", "limit=0", "limit=1.5", "limit=%D9%A5", "limit=1_0", "limit=+7"):
            assert listed(many, query)[1:] == (100, 2500, 100), query
        assert listed(many, "limit=1000")[1] == 1000
        assert listed(many, "limit=1001")[1] == 1000
        assert listed(many, "limit=" + "9" * 5000)[1:] == (1000, 2500, 1000)

    def test_offsets(self):
        many = list(range(150))
        for query in ("offset=-1", "offset=x", "cursor=null", "cursor=", "offset=1e3"):
            assert listed(many, query)[0][0] == 0, query
        assert listed(many, "offset=" + "9" * 5000) == ([], 0, 150, None)
        assert listed(many, "offset=150") == ([], 0, 150, None)

    def test_lists_through_responses_are_paged_and_lists_in_maps_are_not(self):
        many = list(range(150))
        for given_value in (ok(many), created(many), with_header(many, "X", "1")):
            body = json.loads(shape(given_value, asking("limit=3")).body)
            assert body == {"items": [0, 1, 2], "count": 3, "total": 150, "cursor": 3}
        assert json.loads(shape({"a": many}, asking("limit=3")).body) == {"a": many}

    @given(st.integers(0, 250), st.integers(1, 60), st.booleans())
    def test_following_the_cursor_gives_the_list(self, size, limit, by_offset):
        whole, cursor, items = list(range(size)), 0, []
        while cursor is not None:
            query = f"limit={limit}&{'offset' if by_offset else 'cursor'}={cursor}"
            page_items, count, total, cursor = listed(whole, query)
            assert (count, total) == (len(page_items), size)
            items += page_items
        assert items == whole

    def test_a_page_that_was_read_as_such(self):
        assert shape(Page([{"a": 1}], 9, 4)).body == b'{"items": [{"a": 1}], "count": 1, "total": 9, "cursor": 4}'


class TestRowsOfADatabase:
    @pytest.fixture
    def ctx(self, tmp_path):
        from language.serve.exchange import Exchange

        made = Context(NativeHost(), collect=True)
        target = str(tmp_path / "pages.db")
        made.capabilities.require("db", target)
        db_open(made, target)
        sql_exec(made, "CREATE TABLE t (a INTEGER)")
        sql_exec(
            made, "INSERT INTO t WITH RECURSIVE n(a) AS (SELECT 0 UNION ALL SELECT a + 1 FROM n WHERE a < 249) SELECT * FROM n"
        )
        made.exchange = Exchange(asking(), {})
        yield made
        made.lifetime.end()

    @pytest.mark.parametrize(
        "query", ["", "limit=7", "limit=7&cursor=245", "offset=300", "limit=5000", "offset=99999999999999999999"]
    )
    def test_one_page_is_what_the_whole_list_would_give(self, ctx, query):
        from language.serve.exchange import Exchange

        request = asking(query)
        ctx.exchange = Exchange(request, {})
        statement, values = "SELECT a FROM t WHERE a >= ? ORDER BY a DESC -- all", [10]
        one_page = paged_reply(ctx, statement, values)
        assert len(one_page.items) <= 1000
        assert shape(one_page, request).body == shape(paged(ctx, statement, values), request).body
        assert one_page.total == 240

    def test_the_builtin_leads_there(self):
        assert paged.given_by_route is paged_reply

    def test_without_a_request_it_is_the_first_page(self, ctx):
        ctx.exchange = None
        assert len(paged_reply(ctx, "SELECT a FROM t").items) == 100


class TestResponses:
    def test_text_and_bytes(self):
        reply = shape(html("<p>ñ</p>"))
        assert (reply.status, reply.content_type, reply.body) == (200, "text/html; charset=utf-8", "<p>ñ</p>".encode())
        assert reply.compressible
        reply = shape(respond("a", "text/csv", 202))
        assert (reply.status, reply.content_type, reply.body) == (202, "text/csv", b"a")
        reply = shape(binary(b"\xff", "image/png"))
        assert (reply.status, reply.content_type, reply.body, reply.compressible) == (200, "image/png", b"\xff", False)

    def test_envelopes(self):
        assert shape(created({"id": 1})).status == 201
        assert shape(ok()).body == b"null"
        reply = shape(not_found())
        assert (reply.status, reply.body) == (404, b'{"error": "not found", "status": 404}')
        reply = shape(fail("taken", 409))
        assert (reply.status, reply.body) == (409, b'{"error": "taken", "status": 409}')
        reply = shape(created(b"x"))
        assert (reply.status, reply.content_type, reply.body) == (201, "application/octet-stream", b"x")

    def test_redirects(self):
        reply = shape(with_header(redirect("/home", 302), "X-A", "1"))
        assert (reply.status, reply.content_type, reply.body) == (302, None, b"")
        assert reply.headers == [("Location", "/home"), ("X-A", "1")]
        assert shape(redirect("/ñ b?x=%20")).headers == [("Location", "/%C3%B1%20b?x=%20")]

    def test_header_fields_keep_their_order(self):
        value = {"a": 1}
        for number in range(3):
            value = with_header(value, "Set-Cookie", f"c={number}")
        assert shape(value).headers == [("Set-Cookie", f"c={number}") for number in range(3)]

    def test_a_response_can_be_given_twice(self):
        shared = with_header([1], "X", "1")
        first, second = shape(shared), shape(shared)
        first.headers.append(("Y", "2"))
        assert second.headers == [("X", "1")] and shared.headers == (("X", "1"),)

    @pytest.mark.parametrize("status", [204, 205, 304])
    def test_statuses_without_a_body(self, status):
        reply = shape(respond("never sent", "text/plain", status))
        assert (reply.status, reply.content_type, reply.body) == (status, None, b"")
        assert shape(fail(204, "x")).body == b""

    def test_an_announcement_is_no_reply(self):
        with pytest.raises(RuntimeFault, match="the status 101 announces a reply and cannot be one"):
            shape(respond("x", None, 101))


class TestContent:
    TREE = content(page([heading(1, "Pens")]))

    def test_the_path_decides_before_the_client(self):
        for form, content_type in (
            ("html", "text/html; charset=utf-8"),
            ("markdown", "text/markdown; charset=utf-8"),
            ("json", "application/json; charset=utf-8"),
        ):
            reply = shape(self.TREE, asking("", ("accept", "text/html")), format=form)
            assert (reply.status, reply.content_type) == (200, content_type)
            assert reply.headers == [("Vary", "Accept")]

    def test_the_client_decides(self):
        assert shape(self.TREE, asking("", ("accept", "application/json"))).content_type.startswith("application/json")
        assert shape(self.TREE, asking("", ("accept", "text/markdown"))).body == b"# Pens\n"
        assert shape(self.TREE, asking()).body.startswith(b"<!DOCTYPE html>")
        assert shape(self.TREE).body.startswith(b"<!DOCTYPE html>")

    def test_with_a_status_and_headers(self):
        reply = shape(with_header(not_found(self.TREE), "X", "1"), asking("", ("accept", "text/markdown")))
        assert (reply.status, reply.body) == (404, b"# Pens\n")
        assert reply.headers == [("Vary", "Accept"), ("X", "1")]

    @pytest.mark.parametrize("form", ["html", "markdown", "json"])
    def test_its_secrets_stay_sealed(self, form):
        body = shape(content(page([heading(1, SECRET)])), format=form).body
        assert b"secret(K)" in body and b"hunter2" not in body


class TestErrors:
    def test_the_form(self):
        reply = error_reply(400, "missing field 'qty'", {"field": "qty"})
        assert (reply.status, reply.content_type) == (400, "application/json")
        assert reply.body == b'{"error": "missing field \'qty\'", "status": 400, "field": "qty"}'
        assert error_reply(400, "m", {"field": None}).body == b'{"error": "m", "status": 400, "field": null}'
        assert not reply.closes
        assert error_reply(413, "payload too large", closes=True).closes

    @given(st.text())
    @example('"\r\n\0')
    def test_any_message(self, message):
        assert json.loads(error_reply(500, message).body)["error"] == message
