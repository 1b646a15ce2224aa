"""Response values: what a program can make of them, and what it cannot slip into a header."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from http.cookies import SimpleCookie

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.serve.exchange import Exchange
from language.serve.request import Request
from language.serve.shaping import shape
from language.values import FALSE, TRUE, Secret, type_of
from language.values.decimals import parse
from stdlib.cookies import clear_cookie, set_cookie
from stdlib.responses import binary, created, fail, html, not_found, ok, redirect, respond, with_header

TOKEN = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
COOKIE_OCTETS = "".join(chr(code) for code in range(33, 127) if chr(code) not in '",;\\')
CHARACTERS = "(RFC 7230 token chars only: A-Za-z0-9 and !#$%&'*+-.^_`|~)"
CONTROLS = [chr(code) for code in (*range(9), *range(11, 13), *range(14, 32), 127, 0x85, 0x9F)]


def context(secure: bool | None = None) -> Context:
    """A context outside of a request, or within one that came over TLS or not."""
    made = Context(NativeHost(), collect=True)
    if secure is not None:
        made.exchange = Exchange(Request("GET", "/", secure=secure), {})
    return made


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def fields(value):
    return value.as_map()


def cookie(*options, secure=None):
    return set_cookie(context(secure), ok(), "sid", "abc", *options).headers[-1][1]


class TestEnvelopes:
    @pytest.mark.parametrize(("helper", "status"), [(ok, 200), (created, 201)])
    def test_a_status_around_a_value(self, helper, status):
        for value in (None, [1], {"a": 1}, "t", 2, TRUE, b"x"):
            assert fields(helper(value)) == {"status": status, "value": value}
        assert fields(helper()) == {"status": status, "value": None}

    def test_not_found(self):
        assert fields(not_found()) == {"status": 404, "value": {"error": "not found", "status": 404}}
        assert fields(not_found("no pen 7"))["value"] == {"error": "no pen 7", "status": 404}
        assert fields(not_found({"code": 7}))["value"] == {"code": 7}
        assert fields(not_found([1, "a"]))["value"] == {"error": '[1, "a"]', "status": 404}
        assert fields(not_found(TRUE))["value"] == {"error": "true", "status": 404}

    @pytest.mark.parametrize(
        ("arguments", "status", "message"),
        [
            ((409, "taken"), 409, "taken"),
            (("taken", 409), 409, "taken"),
            (("taken",), 400, "taken"),
            ((409,), 409, "error"),
            ((409.0, "float"), 409, "float"),
            ((parse("409"), "decimal"), 409, "decimal"),
            ((404, 500), 404, "500"),
            ((404, {"a": 1}), 404, "{a: 1}"),
            ((TRUE,), 400, "true"),
            ((100, "least"), 100, "least"),
            ((599, "most"), 599, "most"),
        ],
    )
    def test_fail(self, arguments, status, message):
        assert fields(fail(*arguments)) == {"status": status, "value": {"error": message, "status": status}}

    @pytest.mark.parametrize("code", [99, 600, -1, 404.5, float("nan"), 10**400])
    def test_fail_with_a_code_that_is_none(self, code):
        assert error_of(fail, code, "m").startswith("fail: the status must be an integer from 100 to 599, got ")
        assert error_of(fail, "m", code) == error_of(fail, code)

    def test_fail_without_a_code_among_two(self):
        assert error_of(fail, "a", "b") == "fail: one argument must be the status, got text and text"

    def test_a_response_within_keeps_its_form(self):
        page = created(with_header(html("<p>"), "X-A", "1"))
        assert (page.kind, page.status, page.content_type, page.headers) == (
            "raw",
            201,
            "text/html; charset=utf-8",
            (("X-A", "1"),),
        )
        assert fields(not_found(html("gone"))) == {
            "body": "gone",
            "content_type": "text/html; charset=utf-8",
            "status": 404,
        }
        assert fields(ok(redirect("/x", 302))) == {"redirect": "/x", "status": 302}
        assert ok(set_cookie(context(), {"a": 1}, "s", "v")).headers[0][0] == "Set-Cookie"


class TestBodies:
    def test_html_respond_binary(self):
        assert fields(html("<b>")) == {"body": "<b>", "content_type": "text/html; charset=utf-8", "status": 200}
        assert fields(respond("a")) == {"body": "a", "content_type": "text/plain; charset=utf-8", "status": 200}
        assert fields(respond("a", "text/csv", 201)) == {"body": "a", "content_type": "text/csv", "status": 201}
        assert fields(respond("a", None, 503))["content_type"] == "text/plain; charset=utf-8"
        assert fields(respond(b"\xff"))["body"] == b"\xff"
        assert fields(binary(b"\xff")) == {"body": b"\xff", "content_type": "application/octet-stream", "status": 200}
        assert fields(binary(b"", "image/png", 404)) == {"body": b"", "content_type": "image/png", "status": 404}

    def test_what_is_no_text_counts_with_its_display(self):
        assert html(42).value == "42"
        assert respond(["a", None]).value == '["a", nothing]'
        assert html(Secret("hunter2", ("K",))).value == "secret(K)"

    def test_errors(self):
        assert error_of(binary, "x") == "binary() expects bytes as the first argument, got text"
        assert error_of(respond, "x", 5) == "respond: the content type must be text, got number"
        assert error_of(respond, "x", None, 99) == "respond: the status must be an integer from 100 to 599, got 99"
        assert error_of(binary, b"", None, "200") == "binary: the status must be an integer from 100 to 599, got text"

    @pytest.mark.parametrize("helper", [lambda t: respond("x", t), lambda t: binary(b"x", t)])
    def test_a_content_type_adds_no_header(self, helper):
        for end in ("\r\n", "\r", "\n"):
            assert "must not contain CR or LF (header injection)" in error_of(helper, f"text/html{end}X-Evil: 1")
        for control in CONTROLS:
            assert "must not contain control characters" in error_of(helper, "text/" + control)


class TestRedirect:
    def test_it(self):
        assert fields(redirect("/home")) == {"redirect": "/home", "status": 301}
        assert fields(redirect("/home", 303.0)) == {"redirect": "/home", "status": 303}

    @pytest.mark.parametrize("status", [200, 299, 400, -1, 303.5])
    def test_statuses_that_lead_nowhere(self, status):
        assert error_of(redirect, "/", status) == f"redirect(url, status): status must be 3xx, got {status}"

    def test_errors(self):
        assert error_of(redirect, "/", "303") == "redirect(url, status): status must be 3xx, got text"
        assert error_of(redirect, "") == "redirect(url): the URL must not be empty"
        for url in ("/a\r\nX: 1", "/a\n", "\r/a"):
            assert error_of(redirect, url) == "redirect(url): the URL must not contain CR or LF"
        for control in (*CONTROLS, "\t"):
            assert error_of(redirect, f"/a{control}b") == "redirect(url): the URL must not contain control characters"


class TestWithHeader:
    def test_any_value_and_any_number_of_fields(self):
        for value in ({"a": 1}, [1, 2], "t", None, b"x", 7):
            made = with_header(value, "X-A", "1")
            assert fields(made) == {"status": 200, "value": value}
            assert made.headers == (("X-A", "1"),)
        twice = with_header(with_header(html("x"), "Link", "</a>"), "Link", "</b>")
        assert twice.headers == (("Link", "</a>"), ("Link", "</b>"))
        assert twice.value == "x"

    def test_the_response_given_stays_as_it_was(self):
        plain = ok(1)
        with_header(plain, "X-A", "1")
        assert plain.headers == ()

    def test_values(self):
        assert with_header(1, "X-A", 5).headers == (("X-A", "5"),)
        assert with_header(1, "X-A", "a\tb ñ €").headers == (("X-A", "a\tb ñ €"),)
        assert with_header(1, "X-A", Secret("hunter2", ("K",))).headers == (("X-A", "secret(K)"),)
        assert with_header(1, TOKEN, "").headers == ((TOKEN, ""),)

    def test_names_that_are_none(self):
        assert error_of(with_header, 1, "", "v") == "with_header: the header name cannot be empty"
        assert (
            error_of(with_header, 1, "a b", "v")
            == f"with_header: invalid header name \"a b\" — ' ' is not allowed {CHARACTERS}"
        )
        assert error_of(with_header, 1, "a:", "v").startswith("with_header: invalid header name \"a:\" — ':' is not allowed")
        assert error_of(with_header, 1, "a\r\nb", "v").startswith(
            "with_header: invalid header name \"a\\r\\nb\" — '\\r' is not allowed"
        )
        assert "'ñ' is not allowed" in error_of(with_header, 1, "ñ", "v")

    @pytest.mark.parametrize("name", ["Content-Length", "Transfer-Encoding", "CONTENT-LENGTH"])
    def test_framing_is_the_servers(self, name):
        expected = f'with_header: the header "{name}" cannot be set here — the server computes message framing itself'
        assert error_of(with_header, 1, name, "5") == expected

    @pytest.mark.parametrize("name", ["Connection", "Keep-Alive", "Upgrade", "TE", "Trailer", "te"])
    def test_hop_by_hop_fields_are_the_servers(self, name):
        expected = f'with_header: the header "{name}" cannot be set here — hop-by-hop headers are managed by the server'
        assert error_of(with_header, 1, name, "x") == expected

    def test_the_content_type_has_its_own_place(self):
        assert error_of(with_header, 1, "Content-Type", "text/css") == (
            'with_header: the header "Content-Type" cannot be set here — set it with respond(body, content_type) instead'
        )

    def test_injection(self):
        for value in ("a\r\nSet-Cookie: x=1", "\n", "a\r"):
            assert error_of(with_header, 1, "X-A", value) == (
                'with_header: the value of "X-A" must not contain CR or LF (header injection)'
            )
        for control in CONTROLS:
            assert error_of(with_header, 1, "X-A", f"a{control}") == (
                'with_header: the value of "X-A" must not contain control characters'
            )

    @given(st.text(), st.text())
    @example("X-A", "a\r\nb")
    @example("X\n", "a")
    def test_no_text_makes_more_than_one_field(self, name, value):
        try:
            reply = shape(with_header(None, name, value))
        except RuntimeFault:
            return
        ((sent_name, sent_value),) = reply.headers
        assert sent_name == name and set(name) <= set(TOKEN)
        assert sent_value == value
        assert not any(character in sent_value for character in "\r\n\0\x0b\x0c\x1c\x1d\x1e\x85")

    @given(st.text())
    @example("/a\r\nX: 1")
    @example("/ñ b")
    def test_no_url_makes_more_than_its_field(self, url):
        try:
            reply = shape(redirect(url))
        except RuntimeFault:
            return
        ((name, location),) = reply.headers
        assert name == "Location"
        assert all("!" <= character <= "~" for character in location)


class TestSetCookie:
    def test_the_form(self):
        assert cookie() == "sid=abc; Path=/; Secure; HttpOnly; SameSite=Lax"
        assert cookie(
            {"same_site": "strict", "http_only": FALSE, "secure": FALSE, "domain": "x.com", "path": "/a", "max_age": 60}
        ) == ("sid=abc; Max-Age=60; Path=/a; Domain=x.com; SameSite=Strict")
        assert cookie({"max_age": 0}).startswith("sid=abc; Max-Age=0; Path=/")
        assert cookie({"max_age": 60.0}).startswith("sid=abc; Max-Age=60;")
        assert cookie({"same_site": "NONE"}).endswith("Secure; HttpOnly; SameSite=None")
        assert cookie({"secure": None, "path": None}) == cookie()
        assert cookie(None) == cookie()

    def test_secure_follows_the_connection_until_the_program_says(self):
        assert "Secure" in cookie(secure=None)
        assert "Secure" in cookie(secure=True)
        assert "Secure" not in cookie(secure=False)
        assert "; Secure;" in cookie({"secure": TRUE}, secure=False)
        assert "Secure" not in cookie({"secure": FALSE}, secure=True)
        assert "; Secure;" in cookie({"same_site": "none"}, secure=False)

    def test_several_on_any_value(self):
        made = set_cookie(context(), set_cookie(context(), [1, 2], "a", "1"), "b", "2")
        assert [value.partition(";")[0] for _, value in made.headers] == ["a=1", "b=2"]
        assert fields(made) == {"status": 200, "value": [1, 2]}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"x": 1},
                'set_cookie: unknown option "x" (valid options: max_age, path, domain, secure, http_only, same_site)',
            ),
            ({"max_age": -1}, "set_cookie: max_age must be an integer >= 0 (seconds), got -1"),
            ({"max_age": 1.5}, "set_cookie: max_age must be an integer >= 0 (seconds), got 1.5"),
            ({"max_age": "60"}, "set_cookie: max_age must be an integer >= 0 (seconds), got text"),
            ({"secure": 1}, "set_cookie: secure must be a bool, got number"),
            ({"http_only": "no"}, "set_cookie: http_only must be a bool, got text"),
            ({"same_site": "Loose"}, 'set_cookie: same_site must be "Strict", "Lax" or "None", got "Loose"'),
            ({"same_site": TRUE}, 'set_cookie: same_site must be "Strict", "Lax" or "None", got bool'),
            ({"path": "/;"}, "set_cookie: the path option must not contain ';' or control characters"),
            ({"path": "/\r\nX: 1"}, "set_cookie: the path option must not contain ';' or control characters"),
            ({"domain": "x\ty"}, "set_cookie: the domain option must not contain ';' or control characters"),
            ({"domain": 5}, "set_cookie: domain must be text, got number"),
            ([], "set_cookie: the options must be a map, got list"),
        ],
    )
    def test_options(self, options, message):
        assert error_of(set_cookie, context(), ok(), "sid", "abc", options) == message

    def test_none_is_secure_or_nothing(self):
        message = error_of(set_cookie, context(), ok(), "sid", "abc", {"same_site": "none", "secure": FALSE})
        assert message.startswith('set_cookie: same_site "None" requires secure: true')

    def test_names(self):
        assert error_of(set_cookie, context(), ok(), "", "v").startswith('set_cookie: invalid cookie name ""')
        assert error_of(set_cookie, context(), ok(), "a b", "v") == (
            f"set_cookie: invalid cookie name \"a b\" — ' ' is not allowed {CHARACTERS}"
        )
        for name in ("a=b", "a;b", "a\r\nX", "ñ", "a,b"):
            assert error_of(set_cookie, context(), ok(), name, "v").startswith("set_cookie: invalid cookie name ")
            assert error_of(clear_cookie, ok(), name).startswith("clear_cookie: invalid cookie name ")

    @pytest.mark.parametrize("character", [" ", '"', ",", ";", "\\", "\r", "\n", "\t", "\0", "\x7f", "ñ", "€"])
    def test_values(self, character):
        message = error_of(set_cookie, context(), ok(), "sid", f"hunter2{character}")
        assert message.startswith(f"set_cookie: invalid cookie value — {character!r} is not allowed (RFC 6265 ")
        assert message.endswith('). Encode it first: decode(bytes(v), "base64url")')
        assert "hunter2" not in message

    def test_a_secret_is_no_value(self):
        message = error_of(set_cookie, context(), ok(), "sid", Secret("hunter2", ("K",)))
        assert message.startswith("set_cookie: a secret cannot be the value of a cookie")

    @given(st.text(TOKEN, min_size=1), st.text(COOKIE_OCTETS), st.integers(0, 10**9))
    def test_another_reader_of_cookies(self, name, value, age):
        sent = set_cookie(context(), None, name, value, {"max_age": age}).headers[0][1]
        jar = SimpleCookie()
        jar.load(sent)
        if name.startswith("$") or name.lower() in (
            "expires",
            "path",
            "comment",
            "domain",
            "max-age",
            "secure",
            "httponly",
            "version",
            "samesite",
        ):
            return  # the reader takes them for attributes
        assert list(jar) == [name]
        morsel = jar[name]
        assert morsel.coded_value == value
        assert (morsel["max-age"], morsel["path"], morsel["samesite"]) == (str(age), "/", "Lax")
        assert morsel["secure"] is True and morsel["httponly"] is True

    @given(st.text(), st.text(), st.text(), st.text())
    @example("a", "b\r\nSet-Cookie: c=d", "/", "x")
    @example("a", "b", "/; Domain=evil", "x")
    def test_no_text_adds_an_attribute_or_a_field(self, name, value, path, domain):
        try:
            made = set_cookie(context(), None, name, value, {"path": path, "domain": domain})
        except RuntimeFault:
            return
        ((_, sent),) = made.headers
        assert sent.split("; ")[0] == f"{name}={value}"
        assert sent.count(";") == 5
        assert "\r" not in sent and "\n" not in sent


class TestClearCookie:
    def test_the_form(self):
        made = clear_cookie(ok({"bye": TRUE}), "sid")
        assert made.headers == (("Set-Cookie", "sid=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/"),)
        assert fields(made)["value"] == {"bye": TRUE}
        long = clear_cookie("x", "sid", {"domain": "x.com", "path": "/a"}).headers[0][1]
        assert long == "sid=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/a; Domain=x.com"
        assert parsedate_to_datetime(long.split("Expires=")[1].split(";")[0]).timestamp() == 0

    def test_options(self):
        message = 'clear_cookie: unknown option "max_age" (valid options: path, domain)'
        assert error_of(clear_cookie, ok(), "sid", {"max_age": 5}) == message
        assert error_of(clear_cookie, ok(), "sid", {"path": "/;"}) == (
            "clear_cookie: the path option must not contain ';' or control characters"
        )


def test_type_of_says_map():
    for value in (ok(), html(""), redirect("/"), with_header(1, "A", "b")):
        assert type_of(value) == "map"
