"""The recipes whose programs ask a model: deployed with the answers of ``mock.json`` in place of one, their gates decided."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import httpx
import pytest

from tests.examples.deployed_recipes import (
    KEY,
    RECIPES,
    decide,
    deployed,
    job,
    signed_in,
    while_a_gate_waits,
)
from tests.examples.running_services import lang

AGENTS = sorted(path.parent.name for path in RECIPES.glob("*/mock.json"))


def script_of(name: str) -> dict[str, str]:
    """The variables by which a recipe is answered from its own script; none for one that asks no model."""
    script = RECIPES / name / "mock.json"
    return {"PLATFORM_LLM_PROVIDER": "mock", "PLATFORM_LLM_MOCK": str(script)} if script.exists() else {}


def test_research_agent(tmp_path: Path) -> None:
    with deployed("research-agent", tmp_path, **script_of("research-agent")) as (service, client):
        assert "Nothing is published yet." in client.get("/").text
        assert client.post("/desk/questions", data={"question": "How great is the tidal range?"}).status_code == 401
        signed_in(client)
        assert client.post("/desk/notes", data={"title": "Empty", "words": " "}).status_code == 422
        for title, words in (
            ("The <harbour>", "Twelve berths."),
            ("Tides", "At full and new moon the range is greatest: 4.2 metres."),
        ):
            assert client.post("/desk/notes", data={"title": title, "words": words}).status_code == 303
        assert "The &lt;harbour&gt;" in client.get("/desk").text
        question = {"question": "How great is the tidal range?"}
        for number, (decision, told) in enumerate((("no", "the report waits as a draft"), ("yes", "At most 4.2 metres.")), 1):
            page = while_a_gate_waits(
                service,
                lambda: client.post("/desk/questions", data=question, timeout=60),
                f'[tool publish] Publish this draft?: {{\\"draft\\": {number}}}',
                decision,
            )
            assert told in page.text
        assert client.get("/reports/1").status_code == 200
        with httpx.Client(base_url=service.url, timeout=20) as stranger:
            assert stranger.get("/reports/1").status_code == 404
            assert stranger.get("/reports/2").status_code == 200
            assert stranger.get("/").text.count("The tidal range") == 1
            refused = stranger.post("/questions", content=" ", headers={"Authorization": f"Bearer {KEY}"})
            assert (refused.status_code, "1 to 2000 characters" in refused.text) == (422, True)


def test_mailbox_triage(tmp_path: Path) -> None:
    shutil.copytree(RECIPES / "mailbox-triage" / "mailbox", tmp_path / "mailbox")
    with job("mailbox-triage", tmp_path, **script_of("mailbox-triage")) as (service, process):
        decide(service, "ana@example.com", "yes")
        decide(service, "prizes@example.net", "no")
        assert process.wait(60) == 0
    printed = [line for line in service.log.splitlines() if line.startswith("0")]
    assert printed == ["01-order.txt: sorted and answered", "02-prize.txt: sorted, not answered"]
    marks = [json.loads(line) for line in (tmp_path / "sorted.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(mark["name"], mark["into"]) for mark in marks] == [("01-order.txt", "urgent"), ("02-prize.txt", "spam")]
    assert [path.name for path in (tmp_path / "outbox").iterdir()] == ["01-order.txt"]
    with job("mailbox-triage", tmp_path, **script_of("mailbox-triage")) as (service, process):
        assert process.wait(60) == 0
        assert not [line for line in service.log.splitlines() if line.startswith("0")]


def test_writer_reviewer(tmp_path: Path) -> None:
    with deployed("writer-reviewer", tmp_path, **script_of("writer-reviewer")) as (_, client):
        assert client.post("/texts", content="a sentence about the tides").status_code == 401
        program = {"Authorization": f"Bearer {KEY}"}
        made = client.post("/texts", content="a sentence about the tides", headers=program).json()
        assert (made["accepted"], [entry["accepted"] for entry in made["rounds"]]) == (True, [True, False])
        assert client.get("/texts/1", headers=program).json() == made
        assert client.get("/texts/1").status_code == 401
        signed_in(client)
        page = client.get(client.post("/desk", data={"wish": "a text that nobody likes"}).headers["Location"]).text
        assert "not accepted" in page
        assert page.count("all of it") == 3
        assert client.post("/desk", data={"wish": " "}).status_code == 422
        assert "a sentence about the tides" in client.get("/desk").text


def test_stock_keeper(tmp_path: Path) -> None:
    """Beside the recipe whose tools it uses, both as they are deployed."""
    for folder in ("shop", "no", "yes"):
        (tmp_path / folder).mkdir()
    with deployed("mcp-tools", tmp_path / "shop") as (_, shop):

        def told(tool: str, **arguments: object) -> str:
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
            reply = shop.post("/mcp", json=message, headers={"Authorization": f"Bearer {KEY}"})
            return str(reply.json()["result"]["content"][0]["text"])

        told("add_product", name="Green tea")
        told("move_stock", product=1, change=10, why="delivery")
        told("move_stock", product=1, change=-7, why="sold")
        address = f"{shop.base_url}/mcp"
        for decision, count, words in (
            ("no", 3, "Nothing is ordered: nobody agreed."),
            ("yes", 10, "Seven of Green tea are ordered."),
        ):
            with job("stock-keeper", tmp_path / decision, TOOLS_URL=address, **script_of("stock-keeper")) as (service, process):
                decide(service, "[tool move_stock] Order this delivery?", decision)
                assert process.wait(60) == 0, service.log
            assert words in service.log
            assert f'"count": {count}' in told("search", words="tea")


@pytest.mark.parametrize("name", [name for name in AGENTS if not (RECIPES / name / "door.lang").exists()])
def test_a_job_without_a_model_says_what_to_set(name: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no model is configured: set the key of a provider"):
        lang(tmp_path, "run", str(RECIPES / name / "main.lang"))


@pytest.mark.parametrize("name", [name for name in AGENTS if (RECIPES / name / "door.lang").exists()])
def test_a_service_without_a_model_says_what_to_set(name: str, tmp_path: Path) -> None:
    with deployed(name, tmp_path, ANTHROPIC_API_KEY="") as (_, client):
        assert "No model is configured: set the key of a provider" in signed_in(client).get("/desk").text
