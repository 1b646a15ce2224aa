"""The four LLM operations: what is asked, what comes back without a provider, how ``decide`` keeps inside its options.

The host lends the model (``Host.llm``); here are the exact prompts, the placeholders and the account of tokens.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.regular_file import open_given
from language.locks import Lock
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.host import Host
    from language.runtime.context import Context

NO_PROVIDER = "no LLM provider is configured: LLM operations answer with placeholders. Set PLATFORM_LLM_PROVIDER and its key."
NOT_INSIDE = "a `decide` was answered with none of its options twice: the raw answer is given"
#: Trimmed from the ends of an answer before it is compared with the options.
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" + "¿¡«»“”‘’"


class Answer:
    """What a model said. ``failed`` marks a text of ours or of the provider's about an error: it is given as it is."""

    __slots__ = ("failed", "text", "tokens")

    def __init__(self, text: str, tokens: int = 0, *, failed: bool = False) -> None:
        self.text = text
        self.tokens = tokens
        self.failed = failed


class Llm:
    """A model that a host lends. ``retries`` says whether a ``decide`` may ask a second time."""

    retries = True

    def answer(self, operation: str, prompt: str, options: list[str] | None = None) -> Answer:
        """Asks once. ``options`` are those of a ``decide``, for providers that can be held to them. Does not raise."""
        raise NotImplementedError


class HookedLlm(Llm):
    """The function of an embedder: ``llm(op, prompt)`` gives text, ``{"content", "tokens"}`` or ``{"error"}``."""

    retries = False

    def __init__(self, hook: Callable[[str, str], object]) -> None:
        self._hook = hook

    def answer(self, operation: str, prompt: str, options: list[str] | None = None) -> Answer:
        try:
            given = self._hook(operation, prompt)
        except Exception as error:
            return Answer(f"[llm error: {type(error).__name__}: {error}]", failed=True)
        if given is None:
            return Answer(f"[llm: the host returned no answer for {operation}]", failed=True)
        if isinstance(given, str):
            return Answer(given)
        if isinstance(given, dict):
            if given.get("error") is not None:
                return Answer(f"[llm error: {given['error']}]", failed=True)
            content, tokens = given.get("content"), given.get("tokens", 0)
            if isinstance(content, str):
                counted = type(tokens) is int or (type(tokens) is float and tokens.is_integer())
                return Answer(content, int(tokens) if counted and tokens > 0 else 0)
        return Answer(f"[llm error: the llm hook answered {type(given).__name__}, not text]", failed=True)


class Usage:
    """Tokens used so far, by all workers of a process (or of an embedded program), and the budget over them."""

    __slots__ = ("_lock", "budget", "used")

    def __init__(self, budget: int | None = None) -> None:

        self._lock = Lock()
        self.used = 0
        self.budget = budget

    def add(self, tokens: int) -> None:
        with self._lock:
            self.used += tokens

    @property
    def refusal(self) -> str | None:
        """The answer in place of a call that the budget does not allow."""
        if self.budget is None or self.used < self.budget:
            return None
        return f"[llm budget exceeded: used {self.used} of {self.budget} tokens]"


def configured_budget(host: Host) -> int | None:
    """``PLATFORM_LLM_BUDGET``; a value that is no positive integer is a warning and no budget."""
    from language.settings import read_setting, whole_number

    name = "PLATFORM_LLM_BUDGET"
    return read_setting(name, host.environ(name), whole_number(1, 10**15), "a positive integer", None, host.warn, "no budget")


def operation(context: Context, name: str) -> Callable[..., str]:
    """The operation of that name for a program; the capability is asked for before anything is evaluated."""
    context.capabilities.check_operation("llm", "llm operation")
    run = _OPERATIONS[name]
    return lambda *operands: run(context, *operands)


# ---- the operations ----------------------------------------------------------------------------------------------------


def _reason(context: Context, subject: Any, name: str | None, value: Any) -> str:
    shown = display(subject)
    prompt = shown if name is None else f"Reason about: {shown} (context: {name}={display(value)})"
    return _ask(context, "reason", prompt, f"[reasoning about: {shown}]").text


def _analyze(context: Context, data: Any, objective: str) -> str:
    return _ask(context, "analyze", f"Analyze for {objective}: {display(data)}", f"[analysis of: {objective}]").text


def _generate(context: Context, target: str, has_given: bool, given: Any, name: str | None, value: Any) -> str:
    prompt = f"Generate {target}"
    if has_given:
        prompt += f" given {display(given)}"
    if name is not None:
        prompt += f" with {name}={display(value)}"
    return _ask(context, "generate", prompt, f"[generated: {target}]").text


def _decide(context: Context, choices: Any, given: Any) -> str:
    prompt = f"Decide between {display(choices)} given {display(given)}"
    options = [display(choice) for choice in choices] if type(choices) is list else []
    answer = _ask(context, "decide", prompt, "[decision pending]", options or None)
    llm = context.host.llm
    if not options or answer.failed or llm is None:
        return answer.text
    found = option_in(answer.text, options)
    if found is not None or not llm.retries:
        return answer.text if found is None else found
    again = f"{prompt}\nYour answer '{answer.text}' is not valid. Answer with exactly one of: {', '.join(options)}"
    answer = _ask(context, "decide", again, "[decision pending]", options)
    found = None if answer.failed else option_in(answer.text, options)
    if found is None:
        if not answer.failed:
            _notice(context, "decide", NOT_INSIDE)
        return answer.text
    return found


_OPERATIONS: dict[str, Callable[..., str]] = {"reason": _reason, "analyze": _analyze, "generate": _generate, "decide": _decide}


def _ask(context: Context, name: str, prompt: str, placeholder: str, options: list[str] | None = None) -> Answer:
    host = context.host
    llm = host.llm
    if llm is None:
        _notice(context, "llm", NO_PROVIDER)
        return Answer(placeholder, failed=True)
    usage = host.llm_usage
    refusal = usage.refusal
    if refusal is not None:
        _notice(context, "budget", refusal.strip("[]"))
        return Answer(refusal, failed=True)
    answer = llm.answer(name, prompt, options)
    usage.add(answer.tokens)
    return answer


def option_in(answer: str, options: list[str]) -> str | None:
    """The option that an answer means, as it was written: equal to it when case and punctuation at the ends do not count, else
    the only one that stands in it as whole words; ``None`` when there is none or more than one.
    """
    said = _plain(answer)
    plain = [_plain(option) for option in options]
    for option, text in zip(options, plain):
        if text == said:
            return option
    found = [option for option, text in zip(options, plain) if text and _stands_in(text, said)]
    return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    return text.strip().strip(_PUNCTUATION).strip().lower()


def _stands_in(word: str, text: str) -> bool:
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (start and text[start - 1].isalnum()) and not (end < len(text) and text[end].isalnum()):
            return True
        start = text.find(word, start + 1)
    return False


def _notice(context: Context, key: str, text: str) -> None:
    from language.gates import notice

    notice(context.host, f"llm {key}", text)


def mock_of(path: str) -> Llm:
    """The provider ``mock``: answers from a JSON file ``{"responses": {op: text or [text, ...]}, "tokens": n}``.

    Without a path every answer is ``[mock:op]``. Raises ``RuntimeFault`` for a file that is none.
    """
    import json

    if not path:
        return _Mock({})
    try:
        with open(open_given(path), encoding="utf-8") as file:
            script = json.load(file)
    except (OSError, ValueError) as error:
        raise RuntimeFault(f"PLATFORM_LLM_MOCK: cannot read {path}: {error}", kind="file") from None
    if not isinstance(script, dict) or not isinstance(script.get("responses", {}), dict):
        raise RuntimeFault(
            f'PLATFORM_LLM_MOCK: {path} must hold an object like {{"responses": {{"reason": "..."}}}}', kind="file"
        )
    return _Mock(script)


class _Mock(Llm):
    """Answers in order; the last one of a list repeats."""

    def __init__(self, script: dict[str, Any]) -> None:
        self._responses: dict[str, list[str]] = {
            name: [str(text) for text in (texts if isinstance(texts, list) else [texts])]
            for name, texts in script.get("responses", {}).items()
        }
        tokens = script.get("tokens", 0)
        self._tokens = tokens if type(tokens) is int and tokens > 0 else 0

    def answer(self, operation: str, prompt: str, options: list[str] | None = None) -> Answer:
        texts = self._responses.get(operation)
        if not texts:
            return Answer(f"[mock:{operation}]", self._tokens)
        return Answer(texts.pop(0) if len(texts) > 1 else texts[0], self._tokens)
