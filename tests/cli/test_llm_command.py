"""``lang llm status``: what is configured and where it comes from, whether the model answers, and never a key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from language.cli.main import main
from tests.models.provider_peer import KEY, Turn, error, serving


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MINIMAX_API_KEY", "DEEPSEEK_API_KEY", "PLATFORM_LLM_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def status(capfd: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str, str]:
    code = main(["llm", "status", *flags])
    said = capfd.readouterr()
    assert KEY not in said.out + said.err
    return code, said.out, said.err


def test_each_setting_has_its_source(place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    (place / ".env").write_text(f"ANTHROPIC_API_KEY={KEY}\nPLATFORM_LLM_MODELS=small=claude-haiku-4-5\n")
    monkeypatch.setenv("PLATFORM_LLM_TIMEOUT", "12.5")
    monkeypatch.setenv("PLATFORM_LLM_BUDGET", "1000")
    code, out, err = status(capfd)
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "provider anthropic (.env)" in lines and "timeout 12.5 s (environ)" in lines and "budget 1000 (environ)" in lines
    assert "key ANTHROPIC_API_KEY is set (.env)" in lines and "model small claude-haiku-4-5" in lines
    assert "base https://api.anthropic.com (default)" in lines
    code, out, _ = status(capfd, "--json")
    told: dict[str, Any] = json.loads(out)
    assert code == 0 and told["key"] == {"name": "ANTHROPIC_API_KEY", "present": True, "source": ".env"}
    assert told["model"] == {"value": "claude-haiku-4-5", "source": ".env"} and told["models"] == {"small": "claude-haiku-4-5"}


def test_without_a_model_it_says_what_is_missing(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, err = status(capfd)
    assert (code, out) == (1, "") and "set PLATFORM_LLM_PROVIDER and its key" in err
    assert "The providers are anthropic, openai, minimax, deepseek, ollama and mock, which answers from a script" in err
    monkeypatch.setenv("PLATFORM_LLM_PROVIDER", "openai")
    code, out, _ = status(capfd, "--json")
    assert code == 1
    assert json.loads(out) == {"available": False, "problem": "the provider openai has no key: set OPENAI_API_KEY"}


def test_it_asks_the_model(place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    peer = serving("anthropic", [Turn(("ok",)), error("anthropic", "401 Unauthorized", f"invalid x-api-key {KEY}")])
    with peer.server:
        for name, value in peer.settings.items():
            monkeypatch.setenv(name, value)
        code, out, _ = status(capfd, "--try")
        assert code == 0 and "yes: m-1, 11 + 5 tokens" in out
        code, _, err = status(capfd, "--try")
        assert code == 1 and "invalid x-api-key [redacted]" in err and "Check the key in ANTHROPIC_API_KEY" in err
    assert len(peer.bodies) == 2


def test_what_is_asked_wrongly_is_told(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["llm"]) == 2
    assert "usage: lang llm status" in capfd.readouterr().err
    assert main(["llm", "status", "--force"]) == 2


def test_a_program_that_is_served_declares_the_model(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = place / "p.lang"
    program.write_text('print(reason about "x")\n')
    assert main(["serve", str(program)]) == 1
    assert "Capability not granted: llm" in capfd.readouterr().err
    program.write_text('require llm\nprint(reason about "x")\nexit(0)\n')
    main(["serve", str(program)])
    said = capfd.readouterr()
    assert "[reasoning about: x]" in said.out and "Capability not granted" not in said.err


def test_a_flag_names_the_provider_before_the_environment(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (place / "a.lang").write_text('print(reason about "tides")\n', encoding="utf-8")
    monkeypatch.setenv("PLATFORM_LLM_PROVIDER", "anthropic")
    assert main(["run", "--provider", "mock", "a.lang"]) == 0
    assert capfd.readouterr().out == "[mock:reason]\n"
    assert main(["run", "--provider", "nobody", "a.lang"]) == 2
    assert "--provider must be one of anthropic, openai, " in capfd.readouterr().err
