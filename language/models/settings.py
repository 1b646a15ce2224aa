"""The settings of the language model: provider, model and limits, and the source of each."""

from __future__ import annotations

from language.models.model_names import ALSO, PROVIDERS, WIRES
from language.settings import number, read_setting, whole_number
from language.values import Secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.models.model_names import Provider

    #: The value of a variable and where it comes from, ``environ`` or ``.env``; ``None`` where it is absent or blank.
    Given = Callable[[str], "tuple[str, str] | None"]

SILENCE = 60.0
TOTAL = 600.0
RETRIES = 2
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class ModelSettings:
    """The settings of one provider. ``sources`` names for each of ``provider``, ``model``, ``base``, ``max_tokens``,
    ``timeout``, ``stream``, ``context`` and ``key`` where it comes from: ``environ``, ``.env`` or ``default``.

    ``silence`` are the seconds without content after which a call ends, ``aliases`` the models by the names that programs may
    use. ``key`` is sealed; it is ``None`` where none is needed. ``context`` says that requests include information about the
    program.
    """

    __slots__ = ("aliases", "base", "context", "key", "max_tokens", "model", "provider", "silence", "sources", "stream", "wire")

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.wire = provider.wire
        self.base = provider.base
        self.model = provider.model
        self.max_tokens = provider.longest_answer
        self.silence = SILENCE
        self.stream = True
        self.context = False
        self.key: Secret | None = None
        self.aliases: dict[str, str] = {}
        self.sources = dict.fromkeys(
            ("provider", "model", "base", "max_tokens", "timeout", "stream", "context", "key"), "default"
        )


def read_settings(given: Given, key: Given, warn: Callable[[str], None]) -> ModelSettings | str:
    """The effective settings, or the reason why there is no provider, with what to do about it.

    ``given`` reads a variable, ``key`` one that holds a key. ``warn`` is called with a line for each invalid value.
    """
    provider, source = _provider(given, key)
    if isinstance(provider, str):
        return provider
    settings = ModelSettings(provider)
    settings.sources["provider"] = source
    _read_key_and_base(settings, given, key, warn)
    if settings.key is None and provider.key is not None and settings.base == provider.base:
        return f"the provider {provider.name} has no key: set {provider.key}"
    wire = given("PLATFORM_LLM_WIRE")
    if wire is not None:
        if wire[0] not in WIRES:
            return f"PLATFORM_LLM_WIRE must be one of {', '.join(WIRES)}, got {wire[0][:100]!r}"
        settings.wire = wire[0]
    elif settings.wire == "responses" and settings.base != provider.base:
        settings.wire = "chat"  # the protocol of servers other than OpenAI's own
    _read_models(settings, given, warn)
    if not settings.model:
        return f"the provider {provider.name} has no model: set PLATFORM_LLM_MODEL"
    _read_limits(settings, given, warn)
    _read_context(settings, given, warn)
    return settings


def _provider(given: Given, key: Given) -> tuple[Provider | str, str]:
    named = given("PLATFORM_LLM_PROVIDER")
    if named is None:
        for provider in PROVIDERS.values():
            if provider.key is not None and (found := key(provider.key)) is not None:
                return provider, found[1]
        known = f"The providers are {', '.join(PROVIDERS)} and mock, which answers from a script and needs no key"
        return f"no LLM provider is configured: set PLATFORM_LLM_PROVIDER and its key. {known}", "default"
    name = ALSO.get(named[0].lower(), named[0].lower())
    found_provider = PROVIDERS.get(name)
    if found_provider is None:
        known = ", ".join((*PROVIDERS, "mock"))
        return f"PLATFORM_LLM_PROVIDER names no known provider, {named[0][:100]!r}: set one of {known}", named[1]
    return found_provider, named[1]


def _read_key_and_base(settings: ModelSettings, given: Given, key: Given, warn: Callable[[str], None]) -> None:
    provider = settings.provider
    found = key(provider.key) if provider.key is not None else None
    base = given("PLATFORM_LLM_BASE_URL")
    if base is not None and place_of(base[0]) is None:
        warn(f"PLATFORM_LLM_BASE_URL must be an http or https URL without credentials: using {provider.base}")
        base = None
    if base is not None and base[1] == ".env" and (found is None or found[1] != ".env"):
        # A .env file, which may come with a program or be written by it, must not send the operator's API key to another
        # server.
        place = place_of(base[0])
        if place is not None and place[0] in _LOOPBACK:
            found = None
        else:
            warn(f"PLATFORM_LLM_BASE_URL from .env is used only with a key from .env: using {provider.base}")
            base = None
    if base is not None:
        settings.base, settings.sources["base"] = base[0].rstrip("/"), base[1]
    if found is not None and provider.key is not None:
        settings.key, settings.sources["key"] = Secret(found[0], (provider.key,)), found[1]


def _read_models(settings: ModelSettings, given: Given, warn: Callable[[str], None]) -> None:
    aliases = given("PLATFORM_LLM_MODELS")
    for part in () if aliases is None else aliases[0].split(","):
        name, equals, model = (piece.strip() for piece in part.partition("="))
        if name and equals and model:
            settings.aliases[name] = model
        elif part.strip():
            warn(f"PLATFORM_LLM_MODELS must be like small=NAME,large=NAME, got {part.strip()[:100]!r}: it is left out")
    model_given = given("PLATFORM_LLM_MODEL")
    if model_given is not None:
        settings.model, settings.sources["model"] = model_given
    elif settings.aliases:
        settings.model = next(iter(settings.aliases.values()))
        settings.sources["model"] = aliases[1] if aliases is not None else "default"
    settings.model = settings.aliases.get(settings.model, settings.model)


def _read_limits(settings: ModelSettings, given: Given, warn: Callable[[str], None]) -> None:
    def text(name: str, what: str) -> str | None:
        found = given(name)
        if found is None:
            return None
        settings.sources[what] = found[1]
        return found[0]

    name = "PLATFORM_LLM_MAX_TOKENS"
    settings.max_tokens = read_setting(
        name, text(name, "max_tokens"), whole_number(1, 10**9), "a positive integer", settings.max_tokens, warn
    )
    name = "PLATFORM_LLM_TIMEOUT"
    settings.silence = read_setting(
        name, text(name, "timeout"), number(above=True), "a positive number of seconds", settings.silence, warn
    )
    settings.stream = (text("PLATFORM_LLM_HTTP_STREAM", "stream") or "1").lower() not in ("0", "false")


def _read_context(settings: ModelSettings, given: Given, warn: Callable[[str], None]) -> None:
    found = given("PLATFORM_LLM_CONTEXT")
    if found is None or found[0] == "0":
        return
    if found[0] != "1":
        warn(f"PLATFORM_LLM_CONTEXT must be 0 or 1, got {found[0][:100]!r}: using 0")
    elif found[1] != "environ":
        # A .env file, which may come with a program or be written by it, must not enable sending information about the program.
        warn(f"PLATFORM_LLM_CONTEXT is read from the environment of the process only, not from {found[1]}: using 0")
    else:
        settings.context, settings.sources["context"] = True, found[1]


def place_of(url: str) -> tuple[str, int, str, bool] | None:
    """Host, port, path and whether it is ``https``, of the base URL of a provider; ``None`` for an invalid one."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if separator != "://" or scheme.lower() not in ("http", "https") or not host or "@" in host:
        return None
    if not url.isascii() or not url.isprintable() or any(sign in url for sign in " ?#\\"):
        return None
    secure = scheme.lower() == "https"
    name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if not colon:
        name, port = host, "443" if secure else "80"
    if not port.isdigit() or len(port) > 5 or not 0 < int(port) < 65536 or not name.strip("[]"):
        return None
    return name.strip("[]").lower(), int(port), (slash + path).rstrip("/"), secure
