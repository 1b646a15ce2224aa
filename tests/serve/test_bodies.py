"""What a request carries, as the program reads it."""

from __future__ import annotations

import json
import sys
import threading
import time
import tracemalloc
from base64 import b64encode
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, quote, unquote, urlencode

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from language import Program
from language.serve.bodies import (
    DEFAULT_MAX_BODY,
    MOST_FIELDS,
    BadForm,
    cookie_map,
    form_map,
    parse_json,
    parse_size,
    query_map,
)
from language.serve.multipart import MOST_HEADER, MOST_PARTS
from language.serve.request import Request
from language.serve.shaping import json_text
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\'), min_size=1)


def posted(body, content_type, body_file=None):
    return Request("POST", "/", "", [("content-type", content_type)], body, body_file=body_file)


def multipart(*parts, boundary="b", end="--b--\r\n"):
    """The form of parts written as header and content."""
    body = "".join(f"--{boundary}\r\n{header}\r\n\r\n{content}\r\n" for header, content in parts) + end
    return form_map(posted(body.encode(), f"multipart/form-data; boundary={boundary}"))


def disposition(name):
    return f'Content-Disposition: form-data; name="{name}"'


class TestQuery:
    @pytest.mark.parametrize(
        ("text", "fields"),
        [
            ("", {}),
            ("a=1&b=2", {"a": "1", "b": "2"}),
            ("a=1&a=2", {"a": "2"}),
            ("a", {"a": ""}),
            ("a=", {"a": ""}),
            ("=x&&=", {}),
            ("a=b=c", {"a": "b=c"}),
            ("a+b=c+d%2B", {"a b": "c d+"}),
            ("a=%C3%B1%E2%82%AC", {"a": "ñ€"}),
            ("a=%FF%zz%", {"a": "\ufffd%zz%"}),
            ("a=%ED%A0%80", {"a": "\ufffd\ufffd\ufffd"}),
            ("a%3Db=1;c=2", {"a=b": "1;c=2"}),
            ("a=%00%0D%0A", {"a": "\0\r\n"}),
        ],
    )
    def test_fields(self, text, fields):
        assert query_map(text) == fields

    @given(st.text("abc=&+%4f1ñ") | st.text(st.characters(exclude_categories=["Cs"])))
    @example("a=1&b&=2&a=3")
    def test_as_another_reader(self, text):
        expected = dict(parse_qsl(text, keep_blank_values=True))
        expected.pop("", None)
        assert query_map(text) == expected

    @given(st.dictionaries(TEXTS.filter(bool), TEXTS))
    def test_what_another_writer_wrote(self, fields):
        assert query_map(urlencode(fields)) == fields
        assert query_map(urlencode(fields, quote_via=quote)) == fields


class TestCookies:
    @pytest.mark.parametrize(
        ("header", "cookies"),
        [
            (None, {}),
            ("", {}),
            ("a=1; b=2", {"a": "1", "b": "2"}),
            ("a=1;b=2 ;  c=3", {"a": "1", "b": "2", "c": "3"}),
            ("a=1; a=2", {"a": "1"}),
            ("a=b=c", {"a": "b=c"}),
            ("a; =1; ;b=", {"b": ""}),
            ("a=%20+x", {"a": "%20+x"}),
            ('a="q"', {"a": '"q"'}),
        ],
    )
    def test_fields(self, header, cookies):
        assert cookie_map(header) == cookies

    @given(st.dictionaries(st.text("abcXYZ0-_.", min_size=1), st.text("abc=XYZ09!#%&/-_.~"), max_size=5))
    def test_as_another_reader(self, cookies):
        header = "; ".join(f"{name}={value}" for name, value in cookies.items())
        jar = SimpleCookie()
        jar.load(header)
        assert cookie_map(header) == cookies
        known = {name: morsel.coded_value for name, morsel in jar.items()}
        assert {name: cookie_map(header)[name] for name in known} == known


class TestJson:
    def test_values(self):
        assert parse_json(b' {"a": [1, 2.5, true, false, null, "\\u00f1"]} ') == {"a": [1, 2.5, TRUE, FALSE, None, "ñ"]}
        inside = parse_json(b'[true, {"a": false}]')
        assert inside[0] is TRUE and inside[1]["a"] is FALSE
        assert parse_json(b"\xef\xbb\xbf[1]") == [1]
        assert parse_json(b'{"a": 1, "b": 2, "a": 3}') == {"a": 3, "b": 2}
        assert parse_json(b"9" * 4000) == int("9" * 4000)
        assert parse_json('"a\\ud800€"'.encode()) == "a\ufffd€"

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{",
            b"{}x",
            b"'a'",
            b"NaN",
            b"[1e999]",
            b'"\xff"',
            b"\xef\xbb\xbf",
            '{"a": 1}'.encode("utf-16"),
            b"9" * 5000,
            b"[" * 129 + b"]" * 129,
            b'{"a":' * 100_000,
            b"[" * 1_000_000,
        ],
        ids=lambda body: repr(body[:12]),
    )
    def test_no_json(self, body):
        with pytest.raises(ValueError):
            parse_json(body)

    def test_a_bomb_brings_no_thread_down(self):
        caught = []

        def read():
            for opening in (b"[", b'{"a":', b'[{"":'):
                try:
                    parse_json(opening * 150_000)
                except ValueError as error:
                    caught.append(error)

        limit = sys.getrecursionlimit()
        threading.stack_size(256 * 1024)
        sys.setrecursionlimit(1_000_000)
        try:
            thread = threading.Thread(target=read)
            thread.start()
            thread.join()
        finally:
            threading.stack_size(0)
            sys.setrecursionlimit(limit)
        assert len(caught) == 3

    @given(st.recursive(st.none() | st.integers() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
    def test_what_another_writer_wrote(self, value):
        assert parse_json(json.dumps(value).encode()) == value
        assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value

    @given(st.binary())
    def test_any_bytes(self, body):
        try:
            value = parse_json(body)
        except ValueError:
            return
        assert parse_json(json_text(value).encode()) == value


class TestUrlencodedForms:
    TYPE = "application/x-www-form-urlencoded"

    def test_fields(self):
        assert form_map(posted(b"a=1&b=x+y&a=%C3%B1", self.TYPE)) == {"a": "ñ", "b": "x y"}
        assert form_map(posted("a=ñ".encode() + b"\xff", self.TYPE + "; charset=utf-8")) == {"a": "ñ\ufffd"}
        assert form_map(posted(b"a=1", " Application/X-WWW-Form-Urlencoded ")) == {"a": "1"}
        assert form_map(posted(b"", self.TYPE)) == {}

    def test_from_a_file(self, tmp_path):
        file = tmp_path / "body"
        file.write_bytes(b"a=1&b=" + b"x" * 2_000_000)
        assert form_map(posted(b"", self.TYPE, str(file))) == {"a": "1", "b": "x" * 2_000_000}

    def test_bounded(self):
        assert form_map(posted(b"&".join([b"a=1"] * MOST_FIELDS), self.TYPE)) == {"a": "1"}
        with pytest.raises(BadForm, match="too many fields"):
            form_map(posted(b"&".join([b"a=1"] * (MOST_FIELDS + 1)), self.TYPE))

    def test_a_body_of_percent_signs_takes_little_memory(self):
        tracemalloc.start()
        try:
            assert query_map("a=" + "%" * 1_000_000) == {"a": "%" * 1_000_000}
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()

    @given(st.lists(st.sampled_from(["%", "%4", "%41", "%C3%A9", "%e2%82%ac", "%ff", "é", "a", "x" * 16000, "%41" * 5400])))
    def test_long_values_are_decoded_as_short_ones(self, parts):
        text = "".join(parts)
        assert query_map("a=" + text)["a"] == unquote(text, errors="replace")

    @pytest.mark.parametrize("content_type", ["application/json", "text/plain", "", "multipart/mixed; boundary=b"])
    def test_other_bodies_are_no_form(self, content_type):
        assert form_map(posted(b"a=1", content_type)) == {}
        assert form_map(Request("POST", "/", body=b"a=1")) == {}

    @given(st.dictionaries(TEXTS.filter(bool), TEXTS))
    def test_what_another_client_sends(self, fields):
        sent = httpx.Request("POST", "http://x/", data=fields)
        sent.read()
        if fields:
            assert form_map(posted(sent.content, sent.headers["content-type"])) == fields


class TestMultipartForms:
    def test_fields_and_files(self):
        body = (
            b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\n\xc3\xb1\xff\r\n'
            b'--b\r\ncontent-disposition: form-data; name="f"; filename="a.bin"\r\n'
            b"Content-Type: image/png\r\n\r\n\x00\r\n\xff\r\n"
            b'--b\r\nContent-Disposition: form-data; name="g"; filename=""\r\n\r\n\r\n--b--\r\n'
        )
        assert form_map(posted(body, "multipart/form-data; boundary=b")) == {
            "note": "ñ\ufffd",
            "f": {"filename": "a.bin", "content_type": "image/png", "data": b"\x00\r\n\xff"},
            "g": {"filename": "", "content_type": None, "data": b""},
        }

    def test_the_last_of_a_name_counts_and_parts_without_one_do_not(self):
        assert multipart((disposition("a"), "1"), (disposition("a"), "2")) == {"a": "2"}
        assert multipart(
            ("Content-Disposition: form-data", "x"),
            ('Content-Disposition: form-data; name=""', "x"),
            ("X-A: 1", "x"),
            ('Content-Disposition: attachment; name="a"', "x"),
            (disposition("b"), "1"),
        ) == {"b": "1"}

    def test_parts_without_a_header(self):
        body = b"--b\r\n\r\ncontent\r\n--b\r\n" + disposition("a").encode() + b"\r\n\r\n1\r\n--b--"
        assert form_map(posted(body, "multipart/form-data; boundary=b")) == {"a": "1"}

    def test_nothing_in_it(self):
        for body in (b"--b--", b"--b--\r\n", b"preamble\r\n--b--\r\nepilogue"):
            assert form_map(posted(body, "multipart/form-data; boundary=b")) == {}
        assert multipart((disposition("a"), "")) == {"a": ""}
        no_line = b"--b\r\n" + disposition("a").encode() + b"\r\n\r\n--b--"
        assert form_map(posted(no_line, "multipart/form-data; boundary=b")) == {"a": ""}

    def test_preamble_epilogue_and_padding(self):
        body = b"read me\r\n--b \t\r\n" + disposition("a").encode() + b"\r\n\r\n1\r\n--b--\r\n--b\r\nnever read"
        assert form_map(posted(body, "multipart/form-data; boundary=b")) == {"a": "1"}

    def test_boundaries_within_the_content(self):
        for content in (
            "--bx",
            "\r\n--bb\r\n",
            "\r\n--b-\r\n",
            "x--b--",
            "\r\n-- b--",
            "\r\n--b x\r\n",
            "\r\n--b\n",
            "\r\n--B--",
        ):
            assert multipart((disposition("a"), content)) == {"a": content}
        assert multipart((disposition("outer"), '--bb\r\n\r\nContent-Disposition: form-data; name="inner"\r\n--bb--')) == {
            "outer": '--bb\r\n\r\nContent-Disposition: form-data; name="inner"\r\n--bb--'
        }

    @pytest.mark.parametrize(
        ("content_type", "boundary"),
        [
            ('multipart/form-data; boundary="a b;c\\"d"', 'a b;c"d'),
            ("multipart/form-data; charset=utf-8; Boundary=xyz", "xyz"),
            ("Multipart/Form-Data;boundary=xyz;", "xyz"),
            ("multipart/form-data; x; boundary = xyz", "xyz"),
            ("multipart/form-data; boundary=one; boundary=two", "one"),
        ],
    )
    def test_the_boundary(self, content_type, boundary):
        body = f"--{boundary}\r\n{disposition('a')}\r\n\r\n1\r\n--{boundary}--"
        assert form_map(posted(body.encode(), content_type)) == {"a": "1"}

    @pytest.mark.parametrize("parameter", ["", "; boundary=", '; boundary=""', "; boundary=" + "x" * 71, "; boundary=ñ"])
    def test_no_boundary(self, parameter):
        with pytest.raises(BadForm, match="malformed form body: no boundary"):
            form_map(posted(b"--b--", "multipart/form-data" + parameter))

    @pytest.mark.parametrize(
        ("parameters", "name", "filename"),
        [
            ('name="a"; filename="b.txt"', "a", "b.txt"),
            ("name=a; filename=b.txt", "a", "b.txt"),
            ('filename="b;=.txt"; name="a"', "a", "b;=.txt"),
            ('name="a\\"b"; filename="c\\\\d"', 'a"b', "c\\d"),
            ('name="a"; filename="C:\\path\\ñ.txt"', "a", "C:\\path\\ñ.txt"),
            ('name="a%22b"; filename="%0D%0A"', "a%22b", "%0D%0A"),
            ("name=\"a\"; filename*=UTF-8''%C3%B1.txt", "a", "ñ.txt"),
            ('name="a"; filename="n.txt"; filename*=UTF-8\'\'%C3%B1.txt', "a", "n.txt"),
            ("name=\"a\"; filename*=latin-9''x", "a", None),
            ('NAME="a"; FileName="b"', "a", "b"),
            ('name="a"; name="b"', "a", None),
            ('name="../../etc"; filename="../../passwd"', "../../etc", "../../passwd"),
        ],
    )
    def test_names(self, parameters, name, filename):
        fields = multipart((f"Content-Disposition: form-data; {parameters}", "x"))
        assert list(fields) == [name]
        assert fields[name] == ("x" if filename is None else {"filename": filename, "content_type": None, "data": b"x"})

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"no boundary at all",
            b"--b",
            b"--b\r\n",
            b"--b\r\nContent-Disposition: form-data",
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n',
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b',
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b\r\n',
            b'--b\nContent-Disposition: form-data; name="a"\n\n1\n--b--\n',
        ],
    )
    def test_cut_off(self, body):
        with pytest.raises(BadForm, match=r"^malformed form body: "):
            form_map(posted(body, "multipart/form-data; boundary=b"))

    def test_bounded(self):
        assert len(multipart(*((disposition(f"n{number}"), "x") for number in range(MOST_PARTS)))) == MOST_PARTS
        with pytest.raises(BadForm, match=f"more than {MOST_PARTS} parts"):
            multipart(*((disposition("a"), "x") for _ in range(MOST_PARTS + 1)))
        with pytest.raises(BadForm, match="more than"):  # those that are skipped count too
            multipart(*(("X: 1", "") for _ in range(MOST_PARTS + 1)))
        assert multipart((disposition("a" * (MOST_HEADER - 100)), "x"))
        with pytest.raises(BadForm, match="header of a part does not end"):
            multipart((disposition("a" * MOST_HEADER), "x"))

    @pytest.mark.parametrize(
        "body",
        [
            b"--b\r\n" + disposition("a").encode() + b"\r\n\r\n" + b"\r\n--bx" * 200_000 + b"\r\n--b--",
            b"--b\r\n" + disposition("a").encode() + b"\r\n\r\n" + (b"\r\n--b" + b" " * 60 + b"x") * 15_000 + b"\r\n--b--",
            b"--b\r\n" + disposition("a").encode() + b"\r\n\r\n" + b"\r\n--b" + b" " * 1_000_000 + b"\r\n--b--",
            (b"--b\r\nContent-Disposition: form-data" + b";a" * 8000 + b"\r\n\r\n\r\n") * 60 + b"--b--",
            (b'--b\r\nContent-Disposition: form-data; name="' + b"\\" * 16000 + b'"\r\n\r\n\r\n') * 60 + b"--b--",
        ],
        ids=["delimiters", "padded delimiters", "padding", "parameters", "backslashes"],
    )
    def test_what_is_meant_to_take_long_does_not(self, body):
        began = time.process_time()
        form_map(posted(body, "multipart/form-data; boundary=b"))
        assert time.process_time() - began < 2

    @given(st.binary(max_size=200) | st.text('\r\n-b: ;="\\name', max_size=200).map(str.encode))
    @example(b"--b\r\n\r\n\r\n--b--")
    def test_any_bytes_read_alike_from_memory_and_from_a_file(self, tmp_path_factory, body):
        body += b"\r\n--b--"  # an empty file cannot be mapped, and a body that is spilled is not empty
        file = tmp_path_factory.getbasetemp() / "any_body"
        file.write_bytes(body)
        answers = []
        for request in (
            posted(body, "multipart/form-data; boundary=b"),
            posted(b"", "multipart/form-data; boundary=b", str(file)),
        ):
            try:
                answers.append(form_map(request))
            except BadForm as error:
                answers.append(str(error))
        assert answers[0] == answers[1]

    @given(
        st.dictionaries(NAMES, TEXTS, max_size=4),
        st.dictionaries(
            NAMES, st.tuples(NAMES, st.binary() | st.just(b"\r\n--"), st.sampled_from(["image/png", "text/plain"])), max_size=3
        ),
    )
    def test_what_another_client_sends(self, tmp_path_factory, texts, files):
        texts = {name: value for name, value in texts.items() if name not in files}
        if not files:
            return
        sent = httpx.Request("POST", "http://x/", data=texts, files=files)
        sent.read()
        expected = {
            **texts,
            **{name: {"filename": file, "content_type": kind, "data": data} for name, (file, data, kind) in files.items()},
        }
        content_type = sent.headers["content-type"]
        assert form_map(posted(sent.content, content_type)) == expected
        spilled = tmp_path_factory.getbasetemp() / "sent_body"
        spilled.write_bytes(sent.content)
        assert form_map(posted(b"", content_type, str(spilled))) == expected


class TestSizes:
    @pytest.mark.parametrize(
        ("value", "size"),
        [
            (5, 5),
            (5.9, 5),
            (parse("7.5"), 7),
            (0, None),
            (-1, None),
            (float("inf"), None),
            ("100", 100),
            ("100b", 100),
            ("2kb", 2048),
            ("2 KB", 2048),
            ("1.5MB", 1_572_864),
            ("0.1gb", 107_374_182),
            ("1.0000000000000000001kb", 1024),
            ("unlimited", None),
            ("None", None),
            ("OFF", None),
            ("0", None),
            ("0kb", None),
            ("9" * 5000, None),
        ],
    )
    def test_readable(self, value, size):
        assert parse_size(value) == size

    @pytest.mark.parametrize(
        "value",
        [
            "",
            "kb",
            "1.",
            ".5",
            "1,5mb",
            "-1",
            "1tb",
            "1kkb",
            "1 k b",
            "١kb",
            "1e3",
            "1.5.2",
            float("nan"),
            TRUE,
            None,
            [],
            Secret("5", ("K",)),
        ],
    )
    def test_unreadable(self, value):
        assert parse_size(value) == DEFAULT_MAX_BODY


class TestThroughAProgram:
    """The same where a program reads it: one request handed to the application."""

    SOURCE = """
require serve(8080)
serve on 8080
    route "POST /form"
        give {"form": request.form, "cookies": request.cookies, "query": query}
    route "POST /length"
        give length(request.form.f.data)
"""

    def handled(self, path, body, *headers):
        reply = Program(self.SOURCE).handle(
            {
                "method": "POST",
                "path": path,
                "headers": [list(pair) for pair in headers],
                "body_base64": b64encode(body).decode(),
            }
        )
        return reply["status"], json.loads(reply["body"])

    def test_a_form_with_a_file(self):
        sent = httpx.Request("POST", "http://x/", data={"note": "ñ"}, files={"f": ("ä.bin", b"\x00\xff\r\n", "image/png")})
        sent.read()
        headers = ("Content-Type", sent.headers["content-type"]), ("Cookie", "sid=abc")
        status, body = self.handled("/form?a=1", sent.content, *headers)
        assert status == 200
        assert body["form"] == {"note": "ñ", "f": {"filename": "ä.bin", "content_type": "image/png", "data": "AP8NCg=="}}
        assert (body["cookies"], body["query"]) == ({"sid": "abc"}, {"a": "1"})
        assert self.handled("/length", sent.content, *headers) == (200, 4)

    def test_a_form_that_is_none(self):
        for body in (b"--b\r\n", b"--b\r\n\r\n\r\n" * 2000 + b"--b--"):
            status, answer = self.handled("/form", body, ("Content-Type", "multipart/form-data; boundary=b"))
            assert status == 400
            assert answer["error"].startswith("malformed form body: ")
