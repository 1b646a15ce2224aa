"""Clients that others wrote against a served program: curl, httpx, Chromium. Pages, negotiation, files, gates."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Error, Response

from language.serve.docs_script import SCRIPT
from tests.examples.browsing import chromium, window
from tests.examples.running_services import Service, served
from tests.servers import missing

HOSTILE = '</title></script><script>document.title = "taken"</script><img src=x onerror="document.title = `taken`">\'{{7*7}}'
PROGRAM = (
    r"""
require serve(8080)
let hostile be HOSTILE

task who(token, request)
    when get(request.cookies, "sid") == "s1"
        give {"name": "ann"}
    give nothing

task failed(status, message, request)
    when status == 404
        give content(page([heading(1, "Not here"), prose(message)], {"title": message}))
    give nothing

serve on 8080
    describe
        about: hostile
        api: ["GET /pens/:slug -- " + hostile, "GET /hostile -- " + hostile]
    auth with who
    errors with failed
    static "/files" from "files" cache "1h"
    route "GET /pens/:slug"
        give content(page([heading(1, "Pens"), prose(params.slug)], {"title": "Pens", "stylesheet": "/files/look.css"}))
    route "GET /report"
        give content(page([heading(1, "Report")]))
    route "GET /hostile"
        give content(page([
            heading(1, hostile), prose(hostile), list([hostile]), ordered_list([{"k": hostile}]), code(hostile, hostile),
            link(hostile, "javascript:document.title='taken'"), link("x", "\u{1}java\tscript:document.title='taken'"),
            image("x", hostile), chart("bar", {hostile: 2, "b": 3}, {"title": hostile, "x_label": hostile}),
            raw(markdown(hostile + "\n\n[x](javascript:alert(1)) <b onclick=alert(1)>b</b>"))
        ], {"title": hostile, "description": hostile, "stylesheet": hostile, "class": hostile}))
    route "GET /template"
        give render("page.html", {"text": hostile, "data": {"k": hostile}})
    route "POST /sign-in"
        give set_cookie(redirect("/me", 303), "sid", "s1", {"max_age": 60})
    route "GET /me" requires auth
        give {"name": request.user.name}
    route "POST /upload"
        let file be request.form.file
        give {"name": file.filename, "type": file.content_type, "hash": sha256(file.data), "note": request.form.note}
    route "GET /ticks"
        stream
            each n in range(3)
                send {"n": n} as "tick"
    route "GET /gate"
        let ok be approve hostile within 30s
        give {"approved": ok}
    route "GET /ask"
        let answer be ask "Which one?" with ["<b>a</b>", "b"] within 30s
        give {"answer": answer}
    route "GET /ahead"
        give with_header(html(query.page), "Cache-Control", "no-store")
"""
).replace("HOSTILE", json.dumps(HOSTILE))
TEMPLATE = """<!DOCTYPE html><html lang="en"><head><title>{ text }</title></head><body title="{ text }" class='{ text }'>
<h1>{ text }</h1>{ each k in data }<p>{ data[k] }</p>{ end }
<script type="application/json" id="data">{ raw json_for_script(data) }</script></body></html>
"""
LOOK = "/* 0123456789 */\n" * 6000 + "h1 { color: rgb(1, 2, 3) }\n"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "files").mkdir()
    (folder / "files" / "look.css").write_text(LOOK)
    (folder / "files" / "picture.bin").write_bytes(bytes(range(256)) * 1000)
    (folder / "files" / ".secret").write_text("never")
    (folder / "page.html").write_text(TEMPLATE)
    (folder / "shop.lang").write_text(PROGRAM, encoding="utf-8")
    # More than the machine has: requests that wait in gates hold a thread each.
    with served(folder, "shop.lang", PLATFORM_SERVE_WORKERS="8") as service:
        yield service


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as threads:
        yield threads


class Gate:
    """A request that waits for a person, and what its console line says."""

    def __init__(self, shop: Service, pool: ThreadPoolExecutor, path: str) -> None:
        self.answer: Future[httpx.Response] = pool.submit(httpx.get, shop.url + path, timeout=40)
        deadline = time.monotonic() + 15
        while not (pending := httpx.get(f"{shop.url}/approvals").json()["pending"]):
            assert time.monotonic() < deadline, shop.log
            time.sleep(0.02)
        ((self.id, self.message),) = [(gate["id"], gate["message"]) for gate in pending]
        line = shop.waits_for(f"approval pending {self.id} ")
        (self.token,) = re.findall(r'\{"token": "([0-9a-f]{64})"', line)
        self.path = f"/approvals/{self.id}"
        self.link = f"{self.path}/{self.token}"

    def is_pending(self, shop: Service) -> bool:
        return [gate["id"] for gate in httpx.get(f"{shop.url}/approvals").json()["pending"]] == [self.id]


# ---- curl -----------------------------------------------------------------------------------------------------------------


def curl(*words: str) -> str:
    if shutil.which("curl") is None:
        missing("curl", "curl")
    words = ("curl", "--silent", "--show-error", "--max-time", "20", *words)
    return subprocess.run(words, capture_output=True, check=True, timeout=30).stdout.decode()


def test_curl_continues_a_download_where_it_broke_off(shop: Service, tmp_path: Path) -> None:
    whole = (shop.folder / "files" / "picture.bin").read_bytes()
    part = tmp_path / "part"
    part.write_bytes(whole[:100_001])
    seen = curl("--continue-at", "-", "--output", str(part), "--write-out", "%{http_code}", f"{shop.url}/files/picture.bin")
    assert (seen, part.read_bytes()) == ("206", whole)
    # All of it is there: nothing is left to send.
    seen = curl("--continue-at", "-", "--output", str(part), "--write-out", "%{http_code}", f"{shop.url}/files/picture.bin")
    assert (seen, part.read_bytes()) == ("416", whole)


@pytest.mark.parametrize("options", [(), ("--compressed",), ("--http1.0",), ("--range", "0-")])
def test_curl_gets_the_same_bytes(shop: Service, options: tuple[str, ...]) -> None:
    assert curl(*options, f"{shop.url}/files/look.css") == LOOK


def test_curl_asks_only_for_what_has_changed(shop: Service, tmp_path: Path) -> None:
    tag, target = tmp_path / "tag", tmp_path / "look.css"
    options = ("--etag-save", str(tag), "--etag-compare", str(tag), "--output", str(target), "--write-out", "%{http_code}")
    for coding in ((), ("--compressed",)):
        tag.unlink(missing_ok=True)
        assert [curl(*coding, *options, f"{shop.url}/files/look.css") for _ in range(3)] == ["200", "304", "304"]
    day = ("--time-cond", "Wed, 01 Jan 2098 00:00:00 GMT", "--output", str(target), "--write-out", "%{http_code}")
    # A file that changed a moment ago has no date that could stand for it.
    end = time.monotonic() + 60
    while (code := curl(*day, f"{shop.url}/files/look.css")) == "200" and time.monotonic() < end:
        time.sleep(0.2)
    assert code == "304"


@pytest.mark.parametrize(
    "path",
    ["/files/../shop.lang", "/files/%2e%2e/shop.lang", "/files/..%2fshop.lang", "/files/..%5cshop.lang", "/files/.secret",
     "/files/%2esecret", "//files//..//shop.lang", "/files/look.css%00.html", "/files/./../../etc/passwd", "/files/look.css/"],
)  # fmt: skip
def test_no_path_leads_out_of_the_folder(shop: Service, path: str) -> None:
    answered = curl("--path-as-is", "--include", shop.url + path)
    assert answered.startswith("HTTP/1.1 404 ") or (path.endswith("look.css/") and answered.endswith(LOOK))
    assert "require serve" not in answered and "never" not in answered


def test_curl_follows_a_sign_in(shop: Service, tmp_path: Path) -> None:
    jar = str(tmp_path / "jar")
    assert curl("--location", "--cookie-jar", jar, "--cookie", jar, "--data", "", f"{shop.url}/sign-in") == '{"name": "ann"}'
    assert json.loads(curl(f"{shop.url}/me")) == {"error": "unauthorized", "status": 401}


def test_curl_uploads_a_file(shop: Service, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / 'a "b".bin').write_bytes(data)
    form = ("--form", f'file=@"{tmp_path}/a \\"b\\".bin";type=image/x-made', "--form", "note=naïve")
    answer = json.loads(curl(*form, f"{shop.url}/upload"))
    assert answer["hash"] == b64encode(sha256(data).digest()).decode()
    assert (answer["type"], answer["note"]) == ("image/x-made", "naïve")


def test_curl_reads_a_stream(shop: Service) -> None:
    answered = curl("--no-buffer", f"{shop.url}/ticks")
    assert answered == "".join(f'event: tick\ndata: {{"n": {n}}}\n\n' for n in range(3))


def test_curl_head_and_options(shop: Service) -> None:
    head = curl("--head", f"{shop.url}/report")
    body = curl(f"{shop.url}/report")
    assert f"Content-Length: {len(body)}" in head and head.endswith("\r\n\r\n")
    assert "Allow: GET, HEAD, OPTIONS" in curl("--include", "--request", "OPTIONS", f"{shop.url}/report")
    wrong = curl("--include", "--request", "DELETE", f"{shop.url}/report")
    assert wrong.startswith("HTTP/1.1 405 ") and "Allow: GET\r\n" in wrong


# ---- httpx ----------------------------------------------------------------------------------------------------------------

HTML, MARKDOWN, JSON = "text/html", "text/markdown", "application/json"


@pytest.mark.parametrize(
    ("path", "accept", "form"),
    [
        ("/report", None, HTML),
        ("/report", "*/*", HTML),
        ("/report", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", HTML),
        ("/report", "text/markdown", MARKDOWN),
        ("/report", "TEXT/Markdown;q=0.1", MARKDOWN),
        ("/report", "text/markdown, text/html;q=0.1", MARKDOWN),
        ("/report", "application/json", JSON),
        ("/report", "application/json, text/markdown", MARKDOWN),
        ("/report", "application/json;q=0, text/html", HTML),
        ("/report", "image/png", HTML),
        ("/report.md", "text/html", MARKDOWN),
        ("/report.json", "text/markdown", JSON),
        ("/report.html", "application/json", HTML),
        ("/pens/x.md", "text/html", MARKDOWN),
        ("/pens/x.y.json", None, JSON),
        ("/gone", "text/markdown", MARKDOWN),
        ("/gone", "application/json", JSON),
        ("/gone", None, HTML),
    ],
)
def test_which_form_a_client_gets(shop: Service, path: str, accept: str | None, form: str) -> None:
    headers = {"Accept": "" if accept is None else accept}
    reply = httpx.get(shop.url + path, headers=headers)
    assert reply.status_code == (404 if path == "/gone" else 200)
    assert reply.headers["content-type"] == f"{form}; charset=utf-8"
    assert "Accept" in reply.headers["vary"]
    assert reply.text.startswith({HTML: "<!DOCTYPE html>", MARKDOWN: "# ", JSON: '{"type": "page"'}[form])
    same = httpx.head(shop.url + path, headers=headers)
    assert (same.status_code, same.content) == (reply.status_code, b"")
    assert same.headers["content-length"] == reply.headers["content-length"]


@pytest.mark.parametrize("coding", ["identity", "gzip", "br", "gzip, br", "gzip;q=0", "*"])
def test_files_in_every_coding(shop: Service, coding: str) -> None:
    reply = httpx.get(f"{shop.url}/files/look.css", headers={"Accept-Encoding": coding})
    assert reply.text == LOOK
    assert reply.headers["cache-control"] == "public, max-age=3600"
    assert "Accept-Encoding" in reply.headers["vary"]
    assert ("content-encoding" in reply.headers) == (coding not in ("identity", "gzip;q=0"))
    again = httpx.get(f"{shop.url}/files/look.css", headers={"Accept-Encoding": coding, "If-None-Match": reply.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_file_in_pieces(shop: Service) -> None:
    with httpx.Client(base_url=shop.url) as client:
        first = client.get("/files/look.css", headers={"Range": "bytes=0-0"})
        size = int(first.headers["content-range"].rpartition("/")[2])
        condition = {"If-Range": first.headers["etag"], "Accept-Encoding": "gzip, br"}
        pieces = [
            client.get("/files/look.css", headers={"Range": f"bytes={start}-{start + 9999}", **condition})
            for start in range(0, size, 10_000)
        ]
    assert {piece.status_code for piece in pieces} == {206}
    assert "".join(piece.text for piece in pieces) == LOOK


def test_httpx_keeps_a_session_by_cookie(shop: Service) -> None:
    with httpx.Client(base_url=shop.url, follow_redirects=True) as client:
        assert client.get("/me").status_code == 401
        assert client.post("/sign-in").json() == {"name": "ann"}
        assert client.get("/me").json() == {"name": "ann"}


# ---- gates ----------------------------------------------------------------------------------------------------------------


def test_of_many_decisions_at_once_one_counts(shop: Service, pool: ThreadPoolExecutor) -> None:
    gate = Gate(shop, pool, "/gate")

    def decide(number: int) -> tuple[int, bool]:
        yes = number % 2 == 0
        if number % 3 == 0:
            return httpx.get(f"{shop.url}{gate.link}?d={'yes' if yes else 'no'}").status_code, yes
        if number % 3 == 1:
            return httpx.post(shop.url + gate.path, json={"token": gate.token, "decision": yes}).status_code, yes
        form = {"token": gate.token, "decision": "true" if yes else "false"}
        return httpx.post(shop.url + gate.path, data=form).status_code, yes

    answers = list(pool.map(decide, range(24)))
    counted = [yes for status, yes in answers if status == 200]
    assert len(counted) == 1 and {status for status, _ in answers} == {200, 404}
    assert gate.answer.result().json() == {"approved": counted[0]}


def test_a_token_is_in_no_answer(shop: Service, pool: ThreadPoolExecutor) -> None:
    """But for the form of the page that only its holder can open."""
    gate = Gate(shop, pool, "/gate")
    with httpx.Client(base_url=shop.url) as client:
        replies = [
            client.get("/approvals"),
            client.head("/approvals"),
            client.head(gate.link),
            client.get(f"{gate.link}?d=maybe"),
            client.get(f"{gate.link}?d=yes&d=no"),
            client.get(f"{gate.path}/{'0' * 64}?d=yes"),
            client.get(f"{gate.path}/{gate.token.upper()}?d=yes"),
            client.get(f"/approvals/none/{gate.token}?d=yes"),
            client.post(gate.path, content=b"not json"),
            client.post(gate.path, json=[gate.token]),
            client.post(gate.path, json={"token": gate.token}),
            client.post(gate.path, json={"token": gate.token, "decision": "yes"}),
            client.post(gate.path, json={"token": gate.token, "value": "x"}),
            client.post(gate.path, json={"token": gate.token + "0", "decision": True}),
            client.post(gate.path, json={"token": gate.token, "decision": True, "padding": "x" * 70_000}),
            client.post(gate.path, data={"token": gate.token, "decision": "maybe"}),
            client.get("/llms.txt"),
            client.get("/docs"),
        ]
        assert gate.is_pending(shop)
        for reply in replies:
            assert gate.token not in reply.text.lower() and gate.token not in str(reply.headers)
            assert reply.url.path in ("/llms.txt", "/docs") or reply.headers["cache-control"] == "no-store"
        replies = [client.get(f"{gate.link}?d=no"), client.get(f"{gate.link}?d=no"), client.get(gate.link)]
    assert [reply.status_code for reply in replies] == [200, 404, 404]
    assert not any(gate.token in reply.text for reply in replies)
    assert gate.answer.result().json() == {"approved": False}
    assert shop.log.count(gate.token) == 2  # the console line: in its JSON, and in its link


def test_a_person_decides_in_a_browser(shop: Service, pool: ThreadPoolExecutor, browser: Browser) -> None:
    gate = Gate(shop, pool, "/gate")
    with window(browser, scripts=False) as (_, page, complaints):
        page.goto(shop.url + gate.link)
        assert page.title() == "Decision needed"
        assert page.locator("blockquote").inner_text() == gate.message
        assert page.locator("script, img, link").count() == 0
        page.get_by_role("button", name="Approve").click()
        page.get_by_role("heading", name="Approved").wait_for()
        assert not complaints
    assert gate.answer.result().json() == {"approved": True}


def test_a_person_chooses_in_a_browser(shop: Service, pool: ThreadPoolExecutor, browser: Browser) -> None:
    gate = Gate(shop, pool, "/ask")
    with window(browser) as (_, page, complaints):
        page.goto(f"{shop.url}{gate.link}?d=yes")
        page.get_by_role("link", name="Answer the question").click()
        page.get_by_role("button", name="<b>a</b>").click()
        page.get_by_role("heading", name="Answered").wait_for()
        assert not [complaint for complaint in complaints if "400" not in complaint]
    assert gate.answer.result().json() == {"answer": "<b>a</b>"}


def test_a_browser_that_looks_ahead_decides_nothing(shop: Service, pool: ThreadPoolExecutor, browser: Browser) -> None:
    gate = Gate(shop, pool, "/gate")
    link = f"{gate.link}?d=yes"
    rules = json.dumps({"prerender": [{"urls": [link]}], "prefetch": [{"urls": [link]}]}).replace("/", "\\/")
    ahead = f'<title>Inbox</title><link rel="prefetch" href="{link}"><script type="speculationrules">{rules}</script><p>mail'
    fetched: list[str] = []

    def note(reply: Response) -> None:
        if gate.token in reply.url:
            fetched.append(reply.request.headers.get("sec-purpose", reply.request.headers.get("purpose", "")))

    with window(browser) as (_, page, _complaints):
        page.on("response", note)
        page.goto(f"{shop.url}/ahead", wait_until="commit")
        page.goto(str(httpx.URL(f"{shop.url}/ahead", params={"page": ahead})))
        page.wait_for_timeout(1500)
        assert page.title() == "Inbox"
    assert fetched, "the browser did not look ahead"
    assert gate.is_pending(shop)
    assert httpx.get(f"{shop.url}{gate.link}?d=no").status_code == 200
    assert gate.answer.result().json() == {"approved": False}


# ---- pages in a browser ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/hostile", "/hostile.html", "/template", "/docs", "/pens/%3Cscript%3E", "/%3Cscript%3Ealert(1)"]
)
def test_nothing_from_outside_runs_in_a_page(shop: Service, browser: Browser, path: str) -> None:
    with window(browser) as (_, page, complaints):
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.goto(shop.url + path)
        page.wait_for_timeout(100)
        assert page.title() != "taken"
        assert not [complaint for complaint in complaints if "404" not in complaint]
        assert page.locator("[onerror], [onclick], a[href^='javascript' i]").count() == 0
        for kind, text in page.locator("script").evaluate_all("all => all.map(one => [one.type, one.textContent])"):
            assert kind in ("application/ld+json", "application/json") or (kind, text) == ("", SCRIPT)
            if kind:
                json.loads(text)


@pytest.mark.parametrize("path", ["/hostile.md", "/hostile.json", "/openapi.json", "/llms.txt", "/sitemap.xml", "/robots.txt"])
def test_what_is_no_page_is_not_taken_for_one(shop: Service, browser: Browser, path: str) -> None:
    with window(browser) as (_, page, _complaints):
        try:
            page.goto(shop.url + path)
        except Error as error:
            assert "Download is starting" in error.message
        page.wait_for_timeout(100)
        assert page.title() != "taken" and page.locator("img[src=x]").count() == 0


def test_a_page_is_styled_by_its_file(shop: Service, browser: Browser) -> None:
    with window(browser) as (_, page, complaints):
        page.goto(f"{shop.url}/pens/quill")
        assert page.title() == "Pens"
        assert page.locator("h1").evaluate("e => getComputedStyle(e).color") == "rgb(1, 2, 3)"
        page.reload()
        assert not complaints
