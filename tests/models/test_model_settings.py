"""Which provider, model, place and key hold, and where each comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from language.models.settings import ModelSettings, place_of, read_settings


def read(environ: Mapping[str, str] | None = None, env_file: Mapping[str, str] | None = None) -> tuple[Any, list[str]]:
    warnings: list[str] = []

    def given(name: str) -> tuple[str, str] | None:
        for values, source in ((environ or {}, "environ"), (env_file or {}, ".env")):
            if values.get(name, "").strip():
                return values[name], source
        return None

    return read_settings(given, given, warnings.append), warnings


def settings(environ: Mapping[str, str] | None = None, env_file: Mapping[str, str] | None = None) -> ModelSettings:
    found, warnings = read(environ, env_file)
    assert isinstance(found, ModelSettings) and warnings == [], (found, warnings)
    return found


def test_the_first_key_that_is_present_selects_its_provider() -> None:
    keys = {"DEEPSEEK_API_KEY": "d", "OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": " "}
    found = settings(keys)
    assert (found.provider.name, found.wire, found.base, found.model) == (
        *("openai", "responses", "https://api.openai.com/v1", "gpt-4o"),
    )
    assert (found.sources["provider"], found.sources["key"], found.sources["model"]) == ("environ", "environ", "default")
    assert settings({}, {"ANTHROPIC_API_KEY": "a"}).sources["provider"] == ".env"
    assert settings({**keys, "PLATFORM_LLM_PROVIDER": "Claude", "ANTHROPIC_API_KEY": "a"}).provider.name == "anthropic"
    assert "no LLM provider is configured" in read({})[0]


def test_a_provider_that_cannot_be_asked_is_none_and_never_another() -> None:
    key = {"OPENAI_API_KEY": "o"}
    assert "names no known provider, 'nobody'" in read({**key, "PLATFORM_LLM_PROVIDER": "nobody"})[0]
    assert read({**key, "PLATFORM_LLM_PROVIDER": "anthropic"})[0] == "the provider anthropic has no key: set ANTHROPIC_API_KEY"
    assert "has no model: set PLATFORM_LLM_MODEL" in read({"PLATFORM_LLM_PROVIDER": "ollama"})[0]
    assert "PLATFORM_LLM_WIRE must be one of" in read({**key, "PLATFORM_LLM_WIRE": "telegraph"})[0]


def test_a_base_url_is_spoken_to_as_servers_of_others_are() -> None:
    own = {"OPENAI_API_KEY": "o", "PLATFORM_LLM_BASE_URL": "http://127.0.0.1:8080/v1/"}
    assert (settings(own).wire, settings(own).base) == ("chat", "http://127.0.0.1:8080/v1")
    assert settings({**own, "PLATFORM_LLM_WIRE": "responses"}).wire == "responses"
    keyless = settings({"PLATFORM_LLM_PROVIDER": "openai", "PLATFORM_LLM_BASE_URL": "http://127.0.0.1:8080/v1"})
    assert (keyless.wire, keyless.key) == ("chat", None)


def test_a_file_beside_the_program_does_not_carry_off_a_key() -> None:
    foreign = {"PLATFORM_LLM_BASE_URL": "https://thief.example"}
    found, warnings = read({"ANTHROPIC_API_KEY": "mine"}, foreign)
    assert found.base == "https://api.anthropic.com" and found.key.plaintext == "mine"
    assert warnings == ["PLATFORM_LLM_BASE_URL from .env is used only with a key from .env: using https://api.anthropic.com"]
    assert settings({}, {**foreign, "ANTHROPIC_API_KEY": "its own"}).base == "https://thief.example"
    here = settings({"OPENAI_API_KEY": "mine"}, {"PLATFORM_LLM_BASE_URL": "http://localhost:8080/v1"})
    assert (here.base, here.key) == ("http://localhost:8080/v1", None), "a server on this machine is asked without the key"
    # A key of .env behind one of the environment is not the one that is used: then the base is not used either.
    found, warnings = read({"ANTHROPIC_API_KEY": "mine"}, {**foreign, "ANTHROPIC_API_KEY": "its own"})
    assert found.base == "https://api.anthropic.com" and len(warnings) == 1


def test_the_host_names_the_models_that_programs_choose_from() -> None:
    given = {"ANTHROPIC_API_KEY": "a", "PLATFORM_LLM_MODELS": "small=claude-haiku-4-5, large = claude-opus-4-8"}
    found = settings(given)
    assert found.aliases == {"small": "claude-haiku-4-5", "large": "claude-opus-4-8"}
    assert (found.model, found.sources["model"]) == ("claude-haiku-4-5", "environ")
    assert settings({**given, "PLATFORM_LLM_MODEL": "large"}).model == "claude-opus-4-8"
    assert "it is left out" in read({**given, "PLATFORM_LLM_MODELS": "small"})[1][0]


def test_limits_that_are_none_are_told_and_left_out() -> None:
    found, warnings = read(
        {
            "ANTHROPIC_API_KEY": "a",
            "PLATFORM_LLM_MAX_TOKENS": "0",
            "PLATFORM_LLM_TIMEOUT": "-1",
            "PLATFORM_LLM_HTTP_STREAM": "false",
        }
    )
    assert (found.max_tokens, found.silence, found.stream) == (16_384, 60.0, False)
    assert [line.partition(" ")[0] for line in warnings] == ["PLATFORM_LLM_MAX_TOKENS", "PLATFORM_LLM_TIMEOUT"]


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://api.example", ("api.example", 443, "", True)),
        ("HTTP://Example:8080/v1/", ("example", 8080, "/v1", False)),
        ("http://[::1]:11434", ("::1", 11434, "", False)),
        ("http://[::1]", ("::1", 80, "", False)),
        *(
            (url, None)
            for url in ("ftp://x", "x", "http://", "http://a@b", "http://x:0", "http://x:99999", "http://x y", "http://x?q")
        ),
    ],
)
def test_places_of_providers(url: str, place: Any) -> None:
    assert place_of(url) == place
