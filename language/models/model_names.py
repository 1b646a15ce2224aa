"""The providers: the base URL and protocol of each, and its default model.

Names of models are in this module only.
"""

from __future__ import annotations


class Provider:
    """One provider. ``key`` is the variable with its API key, ``None`` if it needs none. ``longest_answer`` is the most tokens
    of an answer unless the settings say otherwise; reasoning counts among them.

    ``takes_schema`` says whether it makes a model follow a JSON Schema; else the schema is part of the instructions.
    """

    __slots__ = ("base", "key", "longest_answer", "model", "name", "takes_schema", "wire")

    def __init__(
        self, name: str, wire: str, base: str, key: str | None, model: str, longest_answer: int, *, takes_schema: bool = True
    ) -> None:
        self.name = name
        self.wire = wire
        self.base = base
        self.key = key
        self.model = model
        self.longest_answer = longest_answer
        self.takes_schema = takes_schema


#: If the settings name no provider, the first one in this order whose key is set is used.
PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-sonnet-4-6", 16_384),
        Provider("openai", "responses", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4o", 16_384),
        Provider(
            *("minimax", "anthropic", "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", "MiniMax-M3", 8_192),
            takes_schema=False,
        ),
        Provider(
            *("deepseek", "chat", "https://api.deepseek.com", "DEEPSEEK_API_KEY", "deepseek-chat", 8_192), takes_schema=False
        ),
        Provider("ollama", "ollama", "http://127.0.0.1:11434", None, "", 4_096),
    )
}
#: Other names of providers.
ALSO = {"claude": "anthropic", "gpt": "openai"}
WIRES = ("anthropic", "responses", "chat", "ollama")
