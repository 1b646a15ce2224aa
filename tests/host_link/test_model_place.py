"""Where a deployed program may reach its model: read from its variables and secrets as the program itself reads them."""

from __future__ import annotations

import pytest

from language.host_link import model_place


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({}, None),
        ({"ANTHROPIC_API_KEY": "k"}, ("api.anthropic.com", 443)),
        ({"PLATFORM_LLM_PROVIDER": "openai", "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, ("api.openai.com", 443)),
        ({"PLATFORM_LLM_PROVIDER": "openai"}, None),
        (
            {"PLATFORM_LLM_PROVIDER": "openai", "PLATFORM_LLM_BASE_URL": "https://Models.Example:8443/v1"},
            ("models.example", 8443),
        ),
        ({"PLATFORM_LLM_PROVIDER": "ollama", "PLATFORM_LLM_MODEL": "m"}, ("127.0.0.1", 11434)),
        ({"PLATFORM_LLM_PROVIDER": "mock"}, None),
    ],
)
def test_the_place_is_that_of_the_provider_that_the_settings_name(
    settings: dict[str, str], place: tuple[str, int] | None
) -> None:
    assert model_place(settings) == place
