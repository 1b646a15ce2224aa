"""Builds the language model that the settings of a native host name."""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.host import Host
    from language.models.attempts import WireModel
    from language.models.conversation import Model
    from language.models.mock import MockModel
    from language.models.settings import ModelSettings
    from language.native.model_tape import Tape


def model_for(host: Host, tape: Tape | None, most: Callable[[], int]) -> tuple[Model | None]:
    """The model of a native host, wrapped by its tape if there is one. ``most`` gives the largest answer in bytes."""

    def build() -> Model | None:
        return configured_model(host, most())

    return (build() if tape is None else tape.model_of(build),)


def configured_model(host: Host, most: int) -> Model | None:
    """The model that the settings of the host name; ``None`` where they name none.

    ``most`` is the largest answer in bytes. Raises ``RuntimeFault`` for an invalid script of the mock.
    """
    named = host.setting("PLATFORM_LLM_PROVIDER")
    if named is not None and named[0] == "mock":
        script = host.setting("PLATFORM_LLM_MOCK")
        return read_mock("" if script is None else script[0])
    settings = configured_settings(host)
    if isinstance(settings, str):
        if named is not None:
            host.warn(settings)
        return None
    return model_of(settings, most)


def configured_settings(host: Host) -> ModelSettings | str:
    """The settings of the provider, or the reason why there is none."""
    from language.models.settings import read_settings

    return read_settings(host.setting, lambda name: host.setting(name, secret=True), host.warn)


def model_of(settings: ModelSettings, most: int) -> WireModel:
    """The model with these settings."""
    from language.models.anthropic import Anthropic
    from language.models.attempts import WireModel
    from language.models.ollama import Ollama
    from language.models.openai_chat import Chat
    from language.models.openai_responses import Responses
    from language.native.http import NativeHttp
    from language.native.model_transport import ModelTransport

    kind = {"anthropic": Anthropic, "responses": Responses, "chat": Chat, "ollama": Ollama}[settings.wire]
    provider = settings.provider
    # A server other than the provider's own is asked for JSON in the older way, which all of them support.
    exact = provider.takes_schema and not (settings.wire == "chat" and settings.base != provider.base)
    http = NativeHttp(most=most, capability="llm")
    transport = ModelTransport(settings.base, http, anywhere=settings.sources["base"] != ".env")
    return WireModel(settings, kind(exact), transport)


def read_mock(path: str) -> MockModel:
    """The mock whose script is the JSON file at this path; without a path every answer is ``[mock:OPERATION]``.

    Raises ``RuntimeFault`` for a file that cannot be read.
    """
    import json

    from language.host.regular_file import open_given
    from language.models.mock import MockModel, scripted

    if not path:
        return MockModel({})
    try:
        with open(open_given(path), encoding="utf-8") as file:
            script = json.load(file)
    except (OSError, ValueError) as error:
        raise RuntimeFault(f"PLATFORM_LLM_MOCK: cannot read {path}: {error}", kind="file") from None
    return scripted(script, path)
