"""The examples of agents run offline with the mock: what they print, what they leave behind, what a person is asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import language
from language.compiler.compilation import compile_source
from language.gates import CallbackGates
from language.runtime.context import Context
from language.runtime.instance import Instance
from tests.web_server import WebServer, reply

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A copy of the examples as the working folder."""
    folder = tmp_path / "agents"
    shutil.copytree(EXAMPLES, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PLATFORM_LLM_PROVIDER", "mock")
    return folder


@pytest.fixture
def ran(place, monkeypatch):
    """Runs a program with its script. ``agrees`` decides on what a person is asked."""

    def run(name, *arguments, agrees):
        monkeypatch.setenv("PLATFORM_LLM_MOCK", f"mock/{name}.json")
        asked = []

        def human(kind, message, options, seconds):
            asked.append(message)
            return agrees(message)

        host = language.NativeHost()
        context = Context(host, collect=True, arguments=arguments)
        context.gates = CallbackGates(host, human)
        source = (place / f"{name}.lang").read_text()
        try:
            Instance(compile_source(source, f"{name}.lang").named(f"{name}.lang"), host, context=context).run()
        except language.errors.ExitProgram as ended:
            assert ended.code == 0
        finally:
            context.lifetime.end()
        return context.collected, asked

    return run


@pytest.mark.parametrize("agrees", [True, False])
def test_a_report_is_published_once_a_person_agrees(ran, place, agrees) -> None:
    printed, asked = ran("research", "How great is the tidal range?", agrees=lambda message: agrees)
    assert asked == ['[tool publish] publish this report: {"name": "tides", "text": "The range is 4.2 metres at most."}']
    end = "published" if agrees else "not published"
    assert printed == [f"At most 4.2 metres; the report is {end}.", "from tides.md, 4 steps"]
    assert (place / "reports" / "tides.md").exists() is agrees


def test_letters_are_sorted_and_no_order_in_one_sends_another(ran, place) -> None:
    printed, asked = ran("triage", agrees=lambda message: "ana@example.com" in message)
    assert printed == ["01-order.txt: sorted and answered", "02-prize.txt: sorted, not answered"]
    assert [message.partition(":")[0] for message in asked] == [
        "[tool answer] act outside, after text from outside was read"
    ] * 2
    labels = [json.loads(line) for line in (place / "sorted.jsonl").read_text().splitlines()]
    assert [label["into"] for label in labels] == ["urgent", "spam"]
    assert [path.name for path in (place / "outbox").iterdir()] == ["01-order.txt"]


def test_a_reviewer_sends_a_text_back_once(ran) -> None:
    printed, asked = ran("editorial", "the tides", agrees=lambda message: False)
    assert printed == ["In our harbour the sea rises and falls twice a day.", "accepted after 2 reviews"]
    assert asked == []


@pytest.mark.parametrize("agrees", [True, False])
def test_another_service_is_used_through_its_tools(ran, place, monkeypatch, agrees) -> None:
    shelf = (place / "shelf.lang").read_text()

    def answer(request):
        asked = {"method": request.method, "path": request.target, "headers": request.headers, "body": request.body.decode()}
        given = language.handle(shelf, asked)
        return reply(given["body"], "Content-Type: application/json", status=f"{given['status']} OK")

    with WebServer(answer) as server:
        monkeypatch.setenv("SHELF_URL", f"{server.url}/mcp")
        printed, asked = ran("through_server", "Reserve a lamp for Ana", agrees=lambda message: agrees)
    assert printed == ["A lamp is reserved for Ana." if agrees else "Nothing is reserved."]
    expected = '[tool reserve] act outside, after text from outside was read: {"name": "lamp", "who": "Ana"}'
    assert asked == [expected]


@pytest.mark.parametrize("name", ["research", "triage", "editorial", "through_server", "shelf"])
def test_the_check_finds_nothing(place, name) -> None:
    manifest = language.inspect((place / f"{name}.lang").read_text())
    assert (manifest.errors, manifest.warnings) == ((), ())
