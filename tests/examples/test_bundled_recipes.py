"""The recipes of the bundled catalog: each is whole, says what it is, passes its tests, and answers under its own ceiling."""

from __future__ import annotations

import hashlib
import hmac
import re
import shutil
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from language.models.model_names import PROVIDERS
from platform_api.packages.analysis import Request, analyse
from platform_api.packages.files import path_problem
from platform_api.recipes.catalog import recipe_of, recipe_paths, slug_of
from tests.examples import test_agent_recipes
from tests.examples.deployed_recipes import (
    KEY,
    RECIPES,
    deployed,
    files_of,
    inspected,
    manifest_of,
    signed_in,
    wait_until,
    while_a_gate_waits,
)
from tests.examples.running_services import lang
from tests.servers import free_port

FOLDERS = sorted(path.name for path in RECIPES.iterdir() if path.is_dir())
#: What the program itself never reads: the model is asked with it.
MODEL_KEYS = {provider.key for provider in PROVIDERS.values()}


# What a recipe says of itself ----------------------------------------------------------------------------------------


def test_the_catalog_lists_every_folder_once() -> None:
    listed = recipe_paths((RECIPES / "catalog.toml").read_bytes())
    assert sorted(listed) == FOLDERS
    assert [slug_of(path) for path in listed] == listed


@pytest.mark.parametrize("name", FOLDERS)
def test_a_recipe_is_whole(name: str) -> None:
    manifest = manifest_of(name)
    taglines = [manifest.tagline, manifest.tagline_es, manifest.tagline_pt]
    assert len({*taglines}) == 3
    assert all(20 < len(line) <= 140 and line.endswith(".") for line in taglines)
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest.version)
    assert manifest.name and manifest.memory_mb
    assert all(len(purpose) > 15 for purpose in manifest.secrets.values())
    text = "".join(path.read_text(encoding="utf-8") for path in (RECIPES / name).rglob("*") if path.is_file())
    assert not re.search(r"\b(TODO|FIXME|[Ll]orem|changeme|placeholder)\b", text)
    assert (RECIPES / name / "README.md").read_text(encoding="utf-8").startswith(f"# {manifest.name}\n")


@pytest.mark.parametrize("name", FOLDERS)
def test_a_picture_is_a_small_drawing_that_loads_nothing(name: str) -> None:
    picture = RECIPES / name / "picture.svg"
    assert picture.stat().st_size < 20_000
    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.findtext("{http://www.w3.org/2000/svg}title")
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "rect", "circle", "path", "g"}


@pytest.mark.parametrize("name", FOLDERS)
def test_the_analysis_agrees_with_the_manifest(name: str) -> None:
    manifest, found = manifest_of(name), inspected(name)
    assert (found.errors, found.warnings) == ((), ())
    assert found.kind == {"web": "web", "job": "worker"}[manifest.kind]
    assert found.missing_secrets() == tuple(sorted(manifest.secrets.keys() - MODEL_KEYS))
    asks_a_model = any(item.name == "llm" for item in found.ceiling.items)
    assert asks_a_model is bool(manifest.secrets.keys() & MODEL_KEYS)
    required = {item.scope for item in found.ceiling.items if item.name == "env"}
    assert required == set(manifest.env)
    assert all(line.covered for line in found.requires)


@pytest.mark.parametrize("name", FOLDERS)
def test_the_platform_takes_it_as_it_is(name: str) -> None:
    files = files_of(name)
    assert not [path for path in files if path_problem(path)]
    manifest = manifest_of(name)
    taken = analyse(Request(files, None, None, None))
    assert (taken.kind, taken.entry, taken.version) == (manifest.kind, manifest.entry, manifest.version)
    assert taken.secrets == tuple(sorted(manifest.secrets))
    assert taken.problems == ()
    assert taken.port == (8080 if manifest.kind == "web" else None)
    listed = recipe_of(name, taken)
    assert (listed.name, listed.tagline_es, listed.tagline_pt) == (manifest.name, manifest.tagline_es, manifest.tagline_pt)


@pytest.mark.parametrize(
    "file", ["door.lang", "door_test.lang", "static/page.css", "templates/layout.html", "templates/sign_in.html"]
)
def test_what_recipes_have_in_common_is_the_same_in_all(file: str) -> None:
    """A recipe is deployed alone, so each has a copy."""
    copies = {path.read_bytes() for name in FOLDERS if (path := RECIPES / name / file).exists()}
    assert len(copies) == 1


# What the command says of it -----------------------------------------------------------------------------------------


def test_all_are_laid_out_as_the_formatter_does() -> None:
    assert lang(RECIPES, "fmt", "--check", ".") == ""


@pytest.mark.parametrize("name", FOLDERS)
def test_it_checks_without_a_warning_and_its_tests_pass(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RECIPES / name
    for variable, value in test_agent_recipes.script_of(name).items():
        monkeypatch.setenv(variable, value)
    assert lang(tmp_path, "check", str(folder / manifest_of(name).entry)).startswith("OK: ")
    blocks = {path: re.findall(r'^test "', path.read_text(encoding="utf-8"), re.MULTILINE) for path in folder.glob("*.lang")}
    report = lang(tmp_path, "test", *(str(path) for path, found in blocks.items() if found))
    written = sum(map(len, blocks.values()))
    assert written >= 3
    assert report.splitlines()[-1] == f"{written} passed, 0 failed ({written} total)"


# What it does --------------------------------------------------------------------------------------------------------


def test_support_desk(tmp_path: Path) -> None:
    with deployed("support-desk", tmp_path) as (service, client):
        assert "Support desk" in client.get("/").text
        assert client.post("/tickets", data={"name": "Inês"}).status_code == 422
        written = {"name": "Inês", "subject": "The bell <is> cracked", "words": "It came like that."}
        link = client.post("/tickets", data=written).headers["Location"]
        assert "The bell &lt;is&gt; cracked" in client.get(link).text
        assert client.get("/tickets/another").status_code == 404
        signed_in(client)
        wish = {"amount": "24.00", "why": "cracked"}
        assert client.post("/desk/1/refund", data={**wish, "amount": "much"}).status_code == 422
        for decision, told in (("no", False), ("yes", True)):
            wish["amount"] = f"24.0{int(told)}"
            words = f"Refund {wish['amount']} on ticket 1?"
            while_a_gate_waits(service, lambda: client.post("/desk/1/refund", data=wish), words, decision)
            assert (f"We refund {wish['amount']}." in client.get(link).text) is told


def test_approval_inbox(tmp_path: Path) -> None:
    with deployed("approval-inbox", tmp_path, REQUESTS_TOKEN="token of programs") as (service, client):
        program = {"Authorization": "Bearer token of programs"}
        wish = {"key": "a", "title": "Ship it", "detail": "version 2"}
        assert client.post("/requests", json=wish).status_code == 401
        answer = while_a_gate_waits(service, lambda: client.post("/requests", json=wish, headers=program), "Ship it", "yes")
        assert answer.json()["state"] == "approved"
        assert client.post("/requests", json=wish, headers=program).json() == answer.json()
        assert client.post("/requests", json={**wish, "detail": "version 3"}, headers=program).status_code == 409
        assert client.get("/desk", headers=program).status_code == 403
        assert "Ship it" in signed_in(client).get("/desk").text


def test_webhook_receiver(tmp_path: Path) -> None:
    with deployed("webhook-receiver", tmp_path, WEBHOOK_KEY="key of senders") as (_, client):
        body = b'{"paid": true}'
        signature = {"X-Hub-Signature-256": "sha256=" + hmac.digest(b"key of senders", body, hashlib.sha256).hex()}
        assert client.post("/hooks/shop", content=body, headers=signature).json() == {"stored": True}
        assert client.post("/hooks/shop", content=body, headers=signature).json() == {"stored": False}
        assert client.post("/hooks/shop", content=body + b" ", headers=signature).status_code == 401
        assert client.get("/events").status_code == 401
        stored = client.get("/events", headers={"Authorization": f"Bearer {KEY}"}).json()
        assert [event["body"] for event in stored["items"]] == [body.decode()]
        assert "{&quot;paid&quot;: true}" in signed_in(client).get("/desk/1").text


def test_form_to_ledger(tmp_path: Path) -> None:
    with deployed("form-to-ledger", tmp_path, FORM_TITLE="For the roof") as (_, client):
        assert "For the roof" in client.get("/").text
        refused = client.post("/", data={"name": "Ana", "purpose": "<b>", "amount": "much"})
        assert refused.status_code == 422
        assert "number like 12.50" in refused.text
        assert 'value="&lt;b&gt;"' in refused.text
        thanks = client.post("/", data={"name": "Ana", "purpose": "Roof", "amount": "12,50"}).headers["Location"]
        assert "number 1" in client.get(thanks).text
        assert client.get("/ledger.csv").status_code == 401
        ledger = signed_in(client).get("/ledger.csv")
        assert ledger.headers["Content-Type"].startswith("text/csv")
        assert ledger.text.splitlines()[1].startswith("1,2")
        assert ledger.text.endswith("Ana,Roof,12.50\r\n")


def test_uptime_watcher(tmp_path: Path) -> None:
    down = f"http://127.0.0.1:{free_port()}/"
    with (
        answering(200) as up,
        answering(503) as broken,
        deployed("uptime-watcher", tmp_path, URLS=f"{up}, {broken} {down}") as (_, client),
    ):
        wait_until(lambda: "Not checked yet." not in client.get("/status.md").text)
        status = client.get("/status.md").text
        assert f"## {up}\n\nup, 100.0 % of the last day. status 200" in status
        assert f"## {broken}\n\ndown, 0.0 % of the last day. status 503" in status
        assert "2 of 3 do not answer." in client.get("/", headers={"Accept": "text/html"}).text


def test_daily_report(tmp_path: Path) -> None:
    program = str(RECIPES / "daily-report" / "main.lang")
    command = ("run", "--cap-set", str(inspected("daily-report").ceiling), program)
    with pytest.raises(AssertionError, match=r"there is no data/sales\.csv"):
        lang(tmp_path, *command)
    shutil.copytree(RECIPES / "daily-report" / "data", tmp_path / "data")
    assert lang(tmp_path, *command).splitlines()[-1] == "written to reports/2026-09-14.html"
    page = (tmp_path / "reports" / "2026-09-14.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "<td>Cardamom bun</td>" in page
    (tmp_path / "data" / "sales.csv").write_text("day,product,count,price\n2026-09-15,Tea,one,3.50\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="line 2"):
        lang(tmp_path, *command)


def test_status_page(tmp_path: Path) -> None:
    with deployed("status-page", tmp_path, COMPONENTS="Website, API") as (_, client):
        assert "Everything works." in client.get("/", headers={"Accept": "text/html"}).text
        assert client.post("/desk", data={"component": "API", "title": "Slow"}).status_code == 401
        signed_in(client)
        assert client.post("/desk", data={"component": "Moon", "title": "Slow"}).status_code == 422
        assert client.post("/desk", data={"component": "API", "title": "Slow <answers>"}).status_code == 303
        assert client.post("/desk/1", data={"words": "We look into it."}).status_code == 303
        assert "- API: Slow \\<answers>\n" in client.get("/status.md").text
        assert "Slow &lt;answers&gt;" in client.get("/", headers={"Accept": "text/html"}).text
        assert client.post("/desk/1", data={"words": "Mended.", "over": "yes"}).status_code == 303
        assert client.post("/desk/1", data={"words": "Really."}).status_code == 404
        assert "Everything works." in client.get("/status.md").text


def test_mcp_tools(tmp_path: Path) -> None:
    with deployed("mcp-tools", tmp_path) as (service, client):
        assert "move_stock" in client.get("/", headers={"Accept": "text/html"}).text

        def told(tool: str, /, key: str = KEY, **arguments: object) -> str:
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
            reply = client.post("/mcp", json=message, headers={"Authorization": f"Bearer {key}"})
            return reply.text if reply.is_error else str(reply.json()["result"]["content"][0]["text"])

        assert "unauthorized" in told("search", key="a guess")
        assert '"count": 0' in told("add_product", name="Green tea")
        assert '"count": 99' in told("move_stock", product=1, change=99, why="delivery")
        assert told("move_stock", product=1, change=-100, why="sold") == "there are only 99 of Green tea"
        for decision, answer in (("no", "nobody approved this movement"), ("yes", '"count": 199')):
            wish: dict[str, Any] = {"product": 1, "change": 100, "why": f"delivery, {decision}"}
            ask = partial(told, "move_stock", **wish)
            assert answer in while_a_gate_waits(service, ask, "Change the stock of Green tea by 100?", decision)


def test_invoice_reader(tmp_path: Path) -> None:
    with deployed("invoice-reader", tmp_path) as (service, client):
        invoice = "Invoice no. 7\nFrom: Atelier <Aubry>\nTotal: 1.189,00 EUR\n"
        program = {"Authorization": f"Bearer {KEY}"}
        assert client.post("/invoices", content=invoice).status_code == 401
        assert client.post("/invoices", content=invoice, headers=program).json()["cents"] == 118900
        assert client.post("/invoices", content=invoice, headers=program).status_code == 422
        assert "no total was found" in client.post("/invoices", content="Hello", headers=program).text
        signed_in(client)
        assert "Atelier &lt;Aubry&gt;" in client.get("/desk").text
        assert client.get("/payments.csv").text == "vendor,number,amount,currency\r\n"
        for decision, state in (("no", "denied"), ("yes", "approved")):
            while_a_gate_waits(service, lambda: client.post("/desk/1/pay"), "Pay 1189.00 EUR for invoice 1?", decision)
            assert f">{state}<" in client.get("/desk").text
        assert client.post("/desk/1/pay").status_code == 409
        assert client.get("/payments.csv").text.endswith("Atelier <Aubry>,7,1189.00,EUR\r\n")


def test_chat_relay(tmp_path: Path) -> None:
    with deployed("chat-relay", tmp_path, ROOMS="lobby, kitchen") as (service, client):
        assert "Come in" in client.get("/").text
        assert client.post("/enter", data={"name": "Ana", "key": "a guess"}).status_code == 403
        assert client.get("/rooms/lobby/events").status_code == 401
        assert client.post("/enter", data={"name": "Ana", "key": KEY}).headers["Location"] == "/rooms/lobby"
        assert client.get("/rooms/cellar").status_code == 404
        with (
            httpx.Client(base_url=service.url, cookies=client.cookies, timeout=20) as listener,
            listener.stream("GET", "/rooms/lobby/events") as events,
        ):
            lines = events.iter_lines()
            assert next(lines) == "event: pulse"
            assert client.post("/rooms/lobby", data={"words": "Hello <all>"}).status_code == 303
            heard = next(line for line in lines if line.startswith("data: {"))
            assert '"name": "Ana", "words": "Hello <all>"' in heard
        assert "Hello &lt;all&gt;" in client.get("/rooms/lobby").text
        assert "Hello" not in client.get("/rooms/kitchen").text
        assert client.post("/rooms/lobby", data={"words": " "}).status_code == 422


@contextmanager
def answering(status: int) -> Iterator[str]:
    """A server whose every answer has that status, and its address."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def test_each_recipe_has_a_test_of_what_it_does() -> None:
    assert {f"test_{name.replace('-', '_')}" for name in FOLDERS} <= globals().keys() | vars(test_agent_recipes).keys()
