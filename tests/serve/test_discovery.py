"""What a service says about itself, made from its description and through a program."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV31SpecValidator

from language.serve.description import RouteInfo, Service
from language.serve.discovery import base_url, find, llms_reply, llms_txt, robots_txt, sitemap
from language.serve.docs_page import docs_page
from language.serve.docs_script import SCRIPT
from language.serve.openapi import _DURATION, openapi, operation_id
from language.serve.request import Request
from tests.serve.served import Served, header, request

BASE = "https://pens.example"
PENS = Service(
    (
        RouteInfo(
            "POST",
            "/buy",
            auth=True,
            expect=(("body", (("item", "text", False), ("qty", "number", False))),),
            limit=(100.0, 60),
        ),
        RouteInfo("GET", "/pens"),
        RouteInfo("GET", "/blog/:slug", gives="content"),
        RouteInfo("GET", "/", gives="html"),
        RouteInfo("DELETE", "/pens/:id", auth=True, timeout=2.5),
        RouteInfo("GET", "/files/*rest"),
        RouteInfo("GET", "/events", kind="stream"),
        RouteInfo("GET", "/chat", kind="socket"),
        RouteInfo("GET", "/old", kind="proxy"),
        RouteInfo("GET", "/me", auth=True),
        RouteInfo("REPORT", "/pens"),
    ),
    about="Pen shop",
    intent="Sells pens",
    api=("GET /pens -- all pens", "Prices are in cents"),
    version="1.2.3",
)


def asked(path: str, method: str = "GET", secure: bool = False, **fields: str) -> Request:
    return Request(method, path, fields=[(name.replace("_", "-"), value) for name, value in fields.items()], secure=secure)


# ---- llms.txt -----------------------------------------------------------------------------------------------------------


def test_llms_txt() -> None:
    service = Service(
        (RouteInfo("POST", "/buy"), RouteInfo("GET", "/pens")), "Pen shop", "Sells pens", ("GET /pens -- all pens",)
    )
    assert llms_txt(service) == (
        "# Pen shop\n\n> Sells pens\n\n## Endpoints\n- POST /buy\n- GET /pens\n\n## API\n- GET /pens -- all pens\n"
        "\n## Machine-readable\n- /openapi.json\n- /sitemap.xml\n"
    )


@pytest.mark.parametrize(
    ("about", "intent", "start"),
    [
        ("A", "B", "# A\n\n> B\n\n##"),
        ("A", "A", "# A\n\n##"),
        ("A", None, "# A\n\n##"),
        (None, "B", "# B\n\n##"),
        (None, None, "# Program service\n\n##"),
        ("", "", "# Program service\n\n##"),
        ("A\nB", None, "# A B\n\n##"),
    ],
)
def test_the_title(about: str | None, intent: str | None, start: str) -> None:
    assert llms_txt(Service(about=about, intent=intent)).startswith(start)


def test_endpoints_by_path_then_method_with_what_they_may_use() -> None:
    routes = (
        RouteInfo("POST", "/b"),
        RouteInfo("GET", "/b", capabilities=("net:api.x.com", "llm")),
        RouteInfo("GET", "/a"),
        RouteInfo("GET", "/b/:id"),
    )
    text = llms_txt(Service(routes))
    assert "\n## Endpoints\n- GET /a\n- GET /b  [net:api.x.com, llm]\n- POST /b\n- GET /b/:id\n" in text


def test_the_reply_of_llms_txt() -> None:
    reply = llms_reply(PENS)
    assert reply is not None
    assert (reply.status, reply.content_type) == (200, "text/plain; charset=utf-8")
    assert reply.body == llms_txt(PENS).encode()
    assert llms_reply(PENS._replace(private=True)) is None


# ---- robots, sitemap, base ----------------------------------------------------------------------------------------------


def test_robots_txt() -> None:
    assert robots_txt(PENS, BASE) == f"User-agent: *\nAllow: /\nSitemap: {BASE}/sitemap.xml\n"
    assert robots_txt(PENS._replace(private=True), BASE) == "User-agent: *\nDisallow: /\n"


def test_sitemap() -> None:
    assert sitemap(PENS, BASE) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"  <url><loc>{BASE}/</loc></url>\n  <url><loc>{BASE}/pens</loc></url>\n</urlset>\n"
    )


def test_a_site_map_is_xml_whatever_the_paths() -> None:
    routes = tuple(RouteInfo("GET", path) for path in ("/a&b", "/<x>", "/caf%C3%A9", "/café", "/a b", "/'\"", "/a&b"))
    tree = ElementTree.fromstring(sitemap(Service(routes), BASE))
    found = [location.text for location in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    paths = ("/'%22", "/%3Cx%3E", "/a%20b", "/a&b", "/caf%C3%A9", "/caf%C3%A9")
    assert found == [BASE + path for path in paths]


@pytest.mark.parametrize(
    ("fields", "secure", "domain", "base"),
    [
        ({"host": "pens.example:8080"}, False, None, "http://pens.example:8080"),
        ({"host": "Pens.Example"}, True, None, "https://pens.example"),
        ({"host": "x", "x-forwarded-proto": "https"}, False, None, "https://x"),
        ({"host": "x", "x-forwarded-proto": "HTTPS, http"}, False, None, "https://x"),
        ({"host": "x", "x-forwarded-proto": "http"}, True, None, "https://x"),
        ({"host": "x", "x-forwarded-proto": "javascript"}, False, None, "http://x"),
        ({"host": "x", "x-forwarded-host": "evil.example"}, False, None, "http://x"),
        ({"host": "evil.example"}, False, "pens.example", "http://pens.example"),
        ({"host": "[::1]:80"}, False, None, "http://[::1]:80"),
        ({"host": 'x"><script>'}, False, None, "http://localhost"),
        ({"host": "x/y"}, False, None, "http://localhost"),
        ({"host": "user@x"}, False, None, "http://localhost"),
        ({}, False, None, "http://localhost"),
    ],
)
def test_the_base_is_the_domain_or_the_host(fields: dict[str, str], secure: bool, domain: str | None, base: str) -> None:
    assert base_url(Request("GET", "/", fields=list(fields.items()), secure=secure), domain) == base


# ---- OpenAPI ------------------------------------------------------------------------------------------------------------


def validated(service: Service) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(openapi(service, BASE))
    OpenAPIV31SpecValidator(document).validate()
    identifiers = [operation["operationId"] for item in document["paths"].values() for operation in item.values()]
    assert len(set(identifiers)) == len(identifiers)
    assert list(document["paths"]) == sorted(document["paths"])
    return document


def test_the_document_as_a_whole() -> None:
    document = validated(PENS)
    assert list(document) == ["openapi", "info", "servers", "paths", "components"]
    assert document["openapi"] == "3.1.0"
    assert document["info"] == {"title": "Pen shop", "description": "Sells pens", "version": "1.2.3"}
    assert document["servers"] == [{"url": BASE}]
    assert list(document["paths"]) == [
        "/", "/blog/{slug}", "/buy", "/chat", "/events", "/files/{rest}", "/me", "/old", "/pens", "/pens/{id}",
    ]  # fmt: skip
    assert list(document["paths"]["/pens"]) == ["get"]  # OpenAPI has no REPORT


def test_a_service_without_anything() -> None:
    document = validated(Service())
    assert document["info"] == {"title": "Program service", "version": "0.0.0"}
    assert document["paths"] == {}


def test_an_operation_with_body_sign_in_and_limit() -> None:
    operation = validated(PENS)["paths"]["/buy"]["post"]
    assert operation["operationId"] == "post_buy"
    assert operation["requestBody"] == {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {"item": {"type": "string"}, "qty": {"type": "number"}},
                    "required": ["item", "qty"],
                }
            }
        },
    }
    assert list(operation["responses"]) == ["200", "400", "401", "429", "default"]
    assert operation["security"] == [{"bearer": []}, {"cookie": []}]
    assert operation["x-platform-rate-limit"] == {"limit": 100, "window": "minute"}


def test_types_of_a_body() -> None:
    kinds = ("text", "number", "integer", "decimal", "bool", "list", "map")
    fields = tuple((kind[0] + kind[-1], kind, kind == "list") for kind in kinds)
    operation = validated(Service((RouteInfo("PUT", "/x", expect=(("body", fields),)),)))["paths"]["/x"]["put"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert [schema["type"] for schema in schema["properties"].values()] == [
        "string", "number", "integer", "number", "boolean", ["array", "null"], "object",
    ]  # fmt: skip
    assert schema["required"] == ["tt", "nr", "ir", "dl", "bl", "mp"]


def test_forms_and_queries() -> None:
    form = (("name", "text", False), ("tags", "list", True))
    query = (("page", "integer", True), ("q", "text", False))
    route = RouteInfo("POST", "/x/:id", expect=(("form", form), ("query", query)))
    operation = validated(Service((route,)))["paths"]["/x/{id}"]["post"]
    assert [(one["name"], one["in"], one["required"], one["schema"]) for one in operation["parameters"]] == [
        ("id", "path", True, {"type": "string"}),
        ("page", "query", False, {"type": "integer"}),
        ("q", "query", True, {"type": "string"}),
    ]
    content = operation["requestBody"]["content"]
    assert list(content) == ["application/x-www-form-urlencoded", "multipart/form-data"]
    assert content["multipart/form-data"]["schema"]["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert content["multipart/form-data"]["schema"]["required"] == ["name"]
    assert "400" in operation["responses"]


def test_fields_that_are_dates() -> None:
    kinds = ("date", "datetime", "duration")
    fields = tuple((kind, kind, False) for kind in kinds)
    expect = (("body", fields), ("query", (*fields[:2], ("duration", "duration", True))))
    service = Service((RouteInfo("POST", "/x", expect=expect),))
    operation = validated(service)["paths"]["/x"]["post"]
    formats = [{"type": "string", "format": name} for name in ("date", "date-time")]
    formats.append({"type": "string", "pattern": _DURATION})
    assert [one["schema"] for one in operation["parameters"]] == formats
    assert list(operation["requestBody"]["content"]["application/json"]["schema"]["properties"].values()) == formats
    page = docs_page(service, BASE, markdown=False)[1]
    check_html(page)
    assert 'name="date" required type="date"' in page
    assert "?date=2026-11-23&datetime=2026-11-23T10:00:00Z'" in docs_page(service, BASE, markdown=True)[1]


def test_the_docs_name_the_ways_to_each_form_of_content() -> None:
    def page(path: str) -> str:
        return docs_page(Service((RouteInfo("GET", path, gives="content"),)), BASE, markdown=True)[1]

    assert "by `.html`, `.md` or `.json` behind the path, else by `Accept`." in page("/about")
    assert "Answers with HTML, Markdown or JSON: by `Accept`." in page("/"), "there is nothing that a suffix could stand behind"


def test_a_form_with_a_file_is_multipart() -> None:
    route = RouteInfo("POST", "/x", expect=(("form", (("photo", "map", False),)),))
    content = validated(Service((route,)))["paths"]["/x"]["post"]["requestBody"]["content"]
    assert list(content) == ["multipart/form-data"]


def test_parameters_of_a_path() -> None:
    paths = validated(PENS)["paths"]
    assert paths["/blog/{slug}"]["get"]["parameters"] == [
        {"name": "slug", "in": "path", "required": True, "schema": {"type": "string"}}
    ]
    assert paths["/files/{rest}"]["get"]["parameters"][0]["name"] == "rest"
    assert "parameters" not in paths["/pens"]["get"]


@pytest.mark.parametrize(
    ("path", "types"),
    [
        ("/pens", ["application/json"]),
        ("/", ["text/html"]),
        ("/blog/{slug}", ["text/html", "text/markdown", "application/json"]),
        ("/events", ["text/event-stream"]),
    ],
)
def test_what_is_given(path: str, types: list[str]) -> None:
    assert list(validated(PENS)["paths"][path]["get"]["responses"]["200"]["content"]) == types


def test_every_operation_says_how_errors_look() -> None:
    document = validated(PENS)
    for item in document["paths"].values():
        for operation in item.values():
            content = operation["responses"]["default"]["content"]
            assert content["application/json"] == {"schema": {"$ref": "#/components/schemas/Error"}}
    assert document["components"]["schemas"]["Error"]["required"] == ["error", "status"]


@pytest.mark.parametrize(
    ("body", "types"),
    [
        ("give 1", ["application/json"]),
        ("print(1)", ["application/json"]),
        ('give html("x")', ["text/html"]),
        ('when 1 == 1\n            give html("a")\n        give not_found("b")', ["text/html"]),
        ('when 1 == 1\n            give fail(409, "a")\n        give set_cookie(render("a.html"), "a", "b")', ["text/html"]),
        ('when 1 == 1\n            give html("a")\n        give {"b": 1}', ["text/html", "application/json"]),
        ('give when 1 == 1 then html("a") otherwise {"b": 1}', ["text/html", "application/json"]),
        ('give respond("a,b", "text/csv; header=present")', ["text/csv"]),
        ('give with_header(respond("a,b", "Text/CSV", 201), "X-A", "b")', ["201: text/csv"]),
        ('give respond("a")', ["text/plain"]),
        ('let t be "a/b"\n        give respond("a", t)', ["*/*"]),
        ('give binary(bytes("a"), "image/png")', ["image/png"]),
        ('give binary(bytes("a"))', ["application/octet-stream"]),
        ('give ok({"a": 1})', ["application/json"]),
        ('give created({"a": 1})', ["201: application/json"]),
        ('give with_header(created(html("a")), "X-A", "b")', ["201: text/html"]),
        ('give ok(respond("a", "text/csv", 202))', ["text/csv"]),
        ('give respond("a", "text/csv", 202)', ["202: text/csv"]),
        ('let s be 404\n        give respond("a", "text/csv", s)', ["2XX: text/csv"]),
        ('when 1 == 1\n            give created()\n        give {"a": 1}', ["201: application/json", "application/json"]),
        ("give content(page([]))", ["text/html", "text/markdown", "application/json"]),
        ('task inner()\n            give html("a")\n        give {"a": inner()}', ["application/json"]),
        ('when 1 == 1\n            give redirect("/b")\n        give html("a")', ["text/html"]),
        ('give redirect("/b", 303)', None),
    ],
)
def test_the_content_type_is_that_of_all_that_is_given(tmp_path: Path, body: str, types: list[str] | None) -> None:
    (tmp_path / "a.html").write_text("x")
    app = Served(f'require serve(8080)\nserve on 8080\n    route "GET /x"\n        {body}\n', tmp_path)
    document = json.loads(app("GET", "/openapi.json").body)
    OpenAPIV31SpecValidator(document).validate()
    responses = document["paths"]["/x"]["get"]["responses"]
    assert ("3XX" in responses) == ("redirect" in body)
    described = [
        ("" if status == "200" else f"{status}: ") + kind
        for status, response in responses.items()
        if status not in ("default", "3XX")
        for kind in response["content"]
    ]
    assert sorted(described) == sorted(types or [])
    assert "default" in responses
    assert app("GET", "/docs", accept="text/markdown").status == 200


def test_an_entry_of_api_describes_its_operation() -> None:
    api = ("GET /pensions -- not this", "GET /pens/:id one", "GET /pens", "POST /pens\tnew")
    routes = tuple(RouteInfo(*spec.split(" ")) for spec in ("GET /pens", "GET /pens/:id", "POST /pens", "DELETE /pens/:id"))
    paths = validated(Service(routes, api=api))["paths"]
    assert paths["/pens"]["get"]["description"] == "GET /pens"
    assert paths["/pens/{id}"]["get"]["description"] == "GET /pens/:id one"
    assert paths["/pens"]["post"]["description"] == "POST /pens\tnew"
    assert "description" not in paths["/pens/{id}"]["delete"]


@pytest.mark.parametrize(
    ("spec", "identifier"),
    [
        ("GET /blog/:slug", "get_blog_slug"),
        ("GET /", "get_root"),
        ("POST /A-b/C.d/*rest", "post_a_b_c_d_rest"),
        ("DELETE /é", "delete__"),
    ],
)
def test_operation_ids(spec: str, identifier: str) -> None:
    assert operation_id(RouteInfo(*spec.split(" "))) == identifier


def test_paths_that_read_alike_stay_apart() -> None:
    specs = ("GET /a-b", "GET /a_b", "GET /a/b", "GET /:x/:x", "GET /{lit}", "GET /a/b/", "GET /:{odd}/z")
    paths = validated(Service(tuple(RouteInfo(*spec.split(" ")) for spec in specs)))["paths"]
    assert {path: item["get"]["operationId"] for path, item in paths.items()} == {
        "/%7Blit%7D": "get__lit_",
        "/a-b": "get_a_b",
        "/a/b": "get_a_b_2",
        "/a_b": "get_a_b_3",
        "/{_odd_}/z": "get__odd__z",
        "/{x}/{x_2}": "get_x_x",
    }


FIELDS = st.tuples(st.text(max_size=5), st.sampled_from(["text", "decimal", "list"]), st.booleans())
SEGMENTS = st.text("abC-_.~%{}é:*", min_size=1, max_size=4).map(lambda text: text.lstrip("*"))
ROUTES = st.builds(
    RouteInfo,
    st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "X-Y"]),
    st.lists(SEGMENTS, max_size=4).map(lambda segments: "/" + "/".join(segments)),
    auth=st.booleans(),
    kind=st.sampled_from(["handler", "stream", "socket", "proxy"]),
    gives=st.sampled_from(["json", "html", "content", "redirect", "html json@201 redirect text/csv@404", "*/*"]),
    expect=st.dictionaries(st.sampled_from(["body", "form", "query"]), st.lists(FIELDS, max_size=4).map(tuple)).map(
        lambda found: tuple(found.items())
    ),
    limit=st.none() | st.tuples(st.floats(1, 1e6), st.sampled_from([1, 60, 3600])),
    timeout=st.none() | st.floats(0.1, 1e4),
    capabilities=st.lists(st.text(max_size=5)).map(tuple),
)
TEXT = st.none() | st.text(max_size=20)
SERVICES = st.builds(
    Service, st.lists(ROUTES, max_size=6).map(tuple), TEXT, TEXT, st.lists(st.text(max_size=20)).map(tuple), TEXT
)


@given(SERVICES)
@settings(max_examples=150, deadline=None)
def test_every_document_is_well_formed(service: Service) -> None:
    validated(service)
    ElementTree.fromstring(sitemap(service, BASE))
    assert llms_txt(service).count("\n## Endpoints\n") >= bool(service.routes)
    check_html(docs_page(service, BASE, markdown=False)[1])
    docs_page(service, BASE, markdown=True)


# ---- the reference page -------------------------------------------------------------------------------------------------


class Balanced(HTMLParser):
    """Checks that what is opened is closed, and collects the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag not in ("meta", "br", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)


def check_html(page: str) -> set[str]:
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert parser.scripts == [SCRIPT], "nothing of the program is in a script"
    return parser.tags


def test_the_reference_page() -> None:
    content_type, page = docs_page(PENS, BASE, markdown=False)
    assert content_type == "text/html; charset=utf-8"
    assert {"h1", "h2", "h3", "table", "pre"} <= check_html(page)
    for text in ("Pen shop", "Sells pens", "POST /buy", "all pens", "At most 100 requests per minute.",
                 "Takes 2.5 seconds at most.", "Version 1.2.3", f"curl {BASE}/pens"):  # fmt: skip
        assert text in page


def test_the_reference_page_as_markdown() -> None:
    content_type, page = docs_page(PENS, BASE, markdown=True)
    assert content_type == "text/markdown; charset=utf-8"
    assert page.startswith("# Pen shop\n\nSells pens\n")
    assert "\n### `POST /buy`\n" in page
    assert "- `qty`: number\n" in page
    assert (
        f"curl -X POST {BASE}/buy -H 'Authorization: Bearer TOKEN' -H 'Content-Type: application/json' "
        '-d \'{"item": "...", "qty": 1}\'\n'
    ) in page


def test_texts_of_the_program_do_not_run_in_the_page() -> None:
    evil = "<script>alert(1)</script>"
    service = Service(
        (RouteInfo("GET", f"/{evil}", expect=(("body", ((evil, "text", False),)),), capabilities=(evil,)),),
        evil,
        evil + "!",
        (evil,),
        evil,
    )
    check_html(docs_page(service, f'http://x"{evil}', markdown=False)[1])


def test_a_name_in_an_example_is_no_command() -> None:
    service = Service((RouteInfo("X`id`", "/$(id)/:a';id;'", expect=(("body", (("'; id; '", "text", False),)),)),))
    page = docs_page(service, BASE, markdown=True)[1]
    assert "curl -X 'X`id`' '" + BASE + "/$(id)/A'\"'\"';ID;'\"'\"'' " in page
    assert "-d '{\"'\"'\"'; id; '\"'\"'\": \"...\"}'" in page


# ---- which path is which document ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/robots.txt", "text/plain; charset=utf-8"),
        ("/sitemap.xml", "application/xml; charset=utf-8"),
        ("/openapi.json", "application/json"),
        ("/docs", "text/html; charset=utf-8"),
        ("//docs/", "text/html; charset=utf-8"),
        ("/llms.txt", None),
        ("/doc", None),
        ("/", None),
    ],
)
def test_which_document_a_path_is(path: str, content_type: str | None) -> None:
    reply = find(PENS, asked(path, host="x"))
    assert (None if reply is None else reply.content_type) == content_type
    assert reply is None or reply.status == 200
    head = find(PENS, asked(path, "HEAD", host="x"))
    assert (head is None) == (reply is None)
    assert find(PENS, asked(path, "POST", host="x")) is None


def test_a_private_service_says_nothing() -> None:
    private = PENS._replace(private=True)
    reply = find(private, asked("/robots.txt"))
    assert reply is not None
    assert reply.body == b"User-agent: *\nDisallow: /\n"
    for path in ("/sitemap.xml", "/openapi.json", "/docs", "/llms.txt"):
        assert find(private, asked(path)) is None


def test_the_reference_page_can_be_off() -> None:
    off = PENS._replace(docs=False)
    assert find(off, asked("/docs")) is None
    assert find(off, asked("/openapi.json")) is not None


@pytest.mark.parametrize(
    ("accept", "kind"),
    [("text/markdown", "text/markdown"), ("Text/Markdown;q=0.1", "text/markdown"), ("text/markdown, text/html", "text/html"),
     ("*/*", "text/html"), ("", "text/html")],
)  # fmt: skip
def test_the_form_of_the_reference_page(accept: str, kind: str) -> None:
    reply = find(PENS, asked("/docs", accept=accept))
    assert reply is not None
    assert (reply.content_type or "").startswith(kind)
    assert ("Vary", "Accept") in reply.headers


# ---- through a program --------------------------------------------------------------------------------------------------

PROGRAM = """
require serve(8080)
task who(token)
    give token
serve on 8080
    auth with who
    rate_limit 100 per minute
    timeout 20
    describe
        about: "Pen shop"
        api: ["GET /pens -- all pens"]
        version: "2.0"
    domain "pens.example"
    route "POST /buy" requires auth
        rate_limit none
        timeout none
        expect body {item: text, qty: number}
        give created(request.json)
    route "GET /pens"
        give [1, 2]
    route "GET /page/:name"
        give html("<p>hi</p>")
    route "GET /events"
        stream
            send 1
"""


def test_the_documents_of_a_program() -> None:
    app = Served('intent: "Sells pens"\n' + PROGRAM)
    reply = app("GET", "/llms.txt")
    assert reply.body.decode() == (
        "# Pen shop\n\n> Sells pens\n\n## Endpoints\n- POST /buy\n- GET /events\n- GET /page/:name\n- GET /pens\n"
        "\n## API\n- GET /pens -- all pens\n\n## Machine-readable\n- /openapi.json\n- /sitemap.xml\n"
    )
    document = json.loads(app("GET", "/openapi.json", host="evil.example", x_forwarded_proto="https").body)
    OpenAPIV31SpecValidator(document).validate()
    assert document["servers"] == [{"url": "https://pens.example"}]
    assert document["info"]["version"] == "2.0"
    assert "x-platform-rate-limit" not in document["paths"]["/buy"]["post"]
    assert document["paths"]["/pens"]["get"]["x-platform-rate-limit"] == {"limit": 100, "window": "minute"}
    assert document["paths"]["/pens"]["get"]["description"] == "GET /pens -- all pens"
    assert "<loc>http://pens.example/pens</loc>" in app("GET", "/sitemap.xml").body.decode()
    assert app("GET", "/robots.txt").body.startswith(b"User-agent: *\nAllow: /\n")
    assert b"Takes 20 seconds at most." in app("GET", "/docs").body


def test_a_private_program() -> None:
    app = Served(PROGRAM.replace("    auth with", "    private\n    auth with"))
    assert app("GET", "/robots.txt").body == b"User-agent: *\nDisallow: /\n"
    for path in ("/llms.txt", "/openapi.json", "/sitemap.xml", "/docs"):
        assert app("GET", path).status == 404


def test_files_and_routes_of_the_program_come_before_documents(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "robots.txt").write_text("from a file")
    (tmp_path / "public" / "llms.txt").write_text("never sent")
    source = PROGRAM.replace("    auth with", '    static "./public"\n    docs off\n    auth with')
    source += '    route "GET /sitemap.xml"\n        give "from a route"\n'
    app = Served(source, tmp_path)
    assert app("GET", "/robots.txt").body == b"from a file"
    assert app("GET", "/sitemap.xml").body == b'"from a route"'
    for path in ("/llms.txt", "/llms.txt/", "//llms.txt"):
        assert app("GET", path).body.startswith(b"# Pen shop")
    assert app("GET", "/docs").status == 404


def test_no_route_takes_the_place_of_llms_txt() -> None:
    app = Served(PROGRAM + '    route "GET /llms.txt"\n        give "mine"\n    route "GET /:name"\n        give "any"\n')
    for path in ("/llms.txt", "/llms.txt/", "//llms.txt", "/llms.txt//"):
        assert app("GET", path).body.startswith(b"# Pen shop")
    assert app("GET", "/other").body == b'"any"'


def test_static_files_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "public" / "admin").mkdir(parents=True)
    (tmp_path / "public" / "admin" / "x.txt").write_text("for admins")
    (tmp_path / "public" / "a.css").write_text("body { margin: 0 }")
    (tmp_path / "public" / "app.html").write_text("<h1>app</h1>")
    app = Served(
        "require serve(8080)\ntask who(token)\n    give nothing\nserve on 8080\n    auth with who\n"
        '    static "/" from "./public" cache "1h" fallback "app.html"\n'
        '    route "GET /admin/*rest" requires auth\n        give "in"\n',
        tmp_path,
    )
    reply = app("GET", "/a.css", accept_encoding="gzip")
    assert (reply.status, reply.content_type) == (200, "text/css; charset=utf-8")
    assert header(reply, "Content-Encoding") == ["gzip"]
    assert header(reply, "Cache-Control") == ["public, max-age=3600"]
    assert app("GET", "/a.css", range="bytes=0-3").body == b"body"
    assert app("GET", "/a.css", if_none_match="*").status == 304
    assert app("GET", "/deep/link").body == b"<h1>app</h1>"
    assert app("HEAD", "/a.css").status == 200
    assert app("GET", "/admin/x.txt").status == 401
    for path in ("/%61dmin/x.txt", "/x/../admin/x.txt", "/admin%2fx.txt"):
        reply = app.application.respond(request("GET", path))
        assert b"for admins" not in reply.body


def test_a_static_file_takes_the_place_of_no_form_of_a_declared_page(tmp_path: Path) -> None:
    (tmp_path / "public" / "pens").mkdir(parents=True)
    for name in ("about.md", "about.txt", "pens/7.md", "pens/7.json"):
        (tmp_path / "public" / name).write_text("of the folder")
    app = Served(
        "require serve(8080)\ntask who(token)\n    give nothing\nserve on 8080\n    auth with who\n"
        '    static "/" from "./public"\n'
        '    route "GET /about"\n        give content(page([heading(1, "About")]))\n'
        '    route "GET /pens/:id" requires auth\n        give params.id\n',
        tmp_path,
    )
    assert app("GET", "/about.md").body == b"# About\n"
    assert app("GET", "/about.txt").body == b"of the folder"
    for path in ("/pens/7.md", "/pens/7.json", "/pens/%37.md"):
        assert app("GET", path).status == 401
    assert app("GET", "/%61bout.md").body != b"of the folder"


def test_routes_that_the_runtime_answers_itself_are_not_listed() -> None:
    app = Served(
        "require serve(8080)\nserve on 8080\n"
        '    route "GET /approvals"\n        give 1\n'
        '    route "POST /approvals/:id"\n        give 1\n'
        '    route "GET /approvals/:id/:token"\n        give 1\n'
        '    route "GET /approvals/archive/of/2026"\n        give 1\n'
        '    route "GET /llms.txt"\n        give 1\n'
        '    route "GET /robots.txt"\n        give "mine"\n'
    )
    text = app("GET", "/llms.txt").body.decode()
    assert "## Endpoints\n- GET /approvals/archive/of/2026\n- GET /robots.txt\n\n" in text
    assert list(json.loads(app("GET", "/openapi.json").body)["paths"]) == ["/approvals/archive/of/2026", "/robots.txt"]
