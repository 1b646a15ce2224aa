"""A call to a provider: its attempts, its three timeouts, and its error messages.

The timeouts are: the time to connect; the time without content, for which keep-alive events do not count; the whole call with
its retries. A failed attempt is retried only if no content has arrived, because an answer that has begun is billed.
"""

from __future__ import annotations

from language.models.conversation import Model, ModelFault, TokenUsage, estimated_tokens
from language.models.event_lines import TooLong
from language.models.settings import RETRIES, TOTAL
from language.models.wire import Malformed, ProviderError, detail_of, with_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from language.host import Host
    from language.models.conversation import ModelReply, ModelRequest, OnChunk
    from language.models.settings import ModelSettings
    from language.models.wire import Answer, Wire
    from language.runtime.context import Context

    Headers = list[tuple[str, str]]
    #: Called with status and headers. The function that it returns is called with each part of the body, until it returns
    #: ``True``.
    OnHead = Callable[[int, Headers], Callable[[bytes], bool] | None]

    class Transport(Protocol):
        """Reaches one provider."""

        def post(
            self,
            path: str,
            headers: list[tuple[str, bytes]],
            body: bytes,
            connect: float,
            end: Callable[[], float],
            on_head: OnHead,
        ) -> tuple[int, Headers, bytes]:
            """Sends one request and returns status, headers and body. ``connect`` is the timeout for connecting in seconds.
            ``end()`` returns the monotonic time at which to stop waiting for the answer. Raises ``NoAnswer``.
            """


#: The timeout for connecting, in seconds.
CONNECT = 10.0
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
_REPEATED = (408, 409, 429)
#: Seconds to wait for the end of a stream whose answer is complete, so that the connection can be reused.
_TRAILER = 0.25
_SHOWN = 500
#: Error codes for an exhausted credit or quota. Such an error is not retried, unlike a temporary rate limit.
_SPENT_CODES = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error")
_SPENT_WORDS = ("exceeded your current quota", "credit balance", "usage limit", "spend limit", "spending limit")


class NoAnswer(Exception):
    """There is no complete response. ``connected`` is false where no connection was made."""

    def __init__(self, reason: str, *, connected: bool = True) -> None:
        super().__init__(reason)
        self.connected = connected


class _Failed(Exception):
    """An attempt that gave no answer. ``again`` says whether it may be retried, ``wait`` how many seconds the provider asks to
    wait before that.
    """

    def __init__(
        self, reason: str, *, again: bool = False, wait: float | None = None, late: bool = False, help: str = ""
    ) -> None:
        super().__init__(reason)
        self.again = again
        self.wait = wait
        self.late = late
        self.help = help


class WireModel(Model):
    """The model of a provider, reached over ``transport``."""

    def __init__(self, settings: ModelSettings, wire: Wire, transport: Transport) -> None:
        self.provider = settings.provider.name
        self.name = settings.model
        self.longest_answer = settings.max_tokens
        self.takes_background = settings.context
        self.settings = settings
        self._wire = wire
        self._transport = transport

    def named(self, model: str | None) -> str:
        """The name of the model that a request asks for. Raises ``ModelFault`` for one that the settings do not allow."""
        aliases = self.settings.aliases
        if model is None:
            return self.name
        if model in aliases:
            return aliases[model]
        if aliases:
            raise ModelFault(
                f"the model {model!r} is none that this host offers: {', '.join(aliases)}",
                kind="value",
                help="PLATFORM_LLM_MODELS names the models of the host.",
            )
        return model

    def converse(self, request: ModelRequest, on_chunk: OnChunk | None, ctx: Context) -> ModelReply:
        host = ctx.host
        model = self.named(request.model)
        end = host.monotonic() + (request.timeout or TOTAL)
        left = RETRIES if request.retries is None else request.retries
        call = _Call(self, request, model, on_chunk, host, end)
        done = 0
        while True:
            try:
                return call.attempt()
            except _Failed as failed:
                pause = _pause(host, done) if failed.wait is None else failed.wait
                if not failed.again or done >= left or host.monotonic() + pause >= end:
                    raise call.fault(failed) from None
                done += 1
                host.sleep(pause)


class _Call:
    """One call of a program, with the state that its attempts share."""

    def __init__(
        self, model: WireModel, request: ModelRequest, name: str, on_chunk: OnChunk | None, host: Host, end: float
    ) -> None:
        settings = model.settings
        self._settings = settings
        self._wire = model._wire
        self._transport = model._transport
        self._name = name
        self._on_chunk = on_chunk
        self._host = host
        self._end = end
        self._request = request if settings.provider.takes_schema else with_schema(request)
        self._body = self._wire.body(self._request, name, request.max_tokens or settings.max_tokens, settings.stream)
        self._used = TokenUsage()
        self._last: _Reading | None = None
        self._key = None if settings.key is None else str(settings.key.plaintext)

    def attempt(self) -> ModelReply:
        """The answer. Raises ``_Failed``, and what the program's task raises."""
        while True:
            reading = self._last = _Reading(
                self._wire, self._wire.answer(self._request), self._on_chunk, self._host, self._silence, self._end
            )
            try:
                status, headers, body = self._sent(reading)
                if status == 200:
                    reply = reading.reply(headers, body)
                    if not reply.model:
                        reply.model = self._name
                    return reply
            except Malformed as error:
                raise _Failed(f"malformed answer: {error}") from error
            except ProviderError as error:
                raise self._refused(error, reading.answer.began) from error
            finally:
                self._used += reading.used(self._request)
            detail, code = _error_of(body)
            adapted = self._wire.adapted(self._body, detail) if status in (400, 422) else None
            if adapted is None:
                raise self._rejected(status, headers, detail, code)
            self._body = adapted

    @property
    def _silence(self) -> float:
        return self._settings.silence

    def _sent(self, reading: _Reading) -> tuple[int, Headers, bytes]:
        import json

        headers = [("Content-Type", b"application/json"), ("Accept", b"*/*"), *self._wire.headers(self._key)]
        data = json.dumps(self._body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        try:
            return self._transport.post(
                self._wire.path, headers, data, min(CONNECT, self._silence), reading.deadline, reading.on_head
            )
        except NoAnswer as error:
            if reading.answer.done and reading.streamed:
                return 200, reading.headers, b""  # complete, although the connection was not closed in time
            now = self._host.monotonic()
            if error.connected and now >= self._end:
                raise _Failed("no complete answer in the time for the whole call", late=True) from error
            if error.connected and now >= reading.deadline():
                raise _Failed(f"no content in {self._silence:g} s", late=True) from error
            raise _Failed(str(error), again=not reading.answer.began) from error

    def _rejected(self, status: int, headers: Headers, detail: str, code: str) -> _Failed:
        given = {name.lower(): value for name, value in headers}
        again = (status in _REPEATED or status >= 500) and given.get("x-should-retry") != "false"
        spent = _is_spent(detail, code)
        help = ""
        if spent:
            help = "The account of the provider has no money or quota left: its owner can raise the limit there."
        elif status in (401, 403):
            help = f"Check the key in {self._settings.provider.key or 'the settings'}: `lang llm status --try` asks with it."
        elif status == 404:
            help = f"Check the model {self._name!r} and the base URL: PLATFORM_LLM_MODEL and PLATFORM_LLM_BASE_URL set them."
        return _Failed(
            detail or f"status {status}", again=again and not spent, wait=_retry_after(given, self._host.now()), help=help
        )

    def _refused(self, error: ProviderError, began: bool) -> _Failed:
        passing = error.code in ("overloaded_error", "rate_limit_error", "api_error", "server_error", "rate_limit_exceeded")
        again = passing and not began and not _is_spent(str(error), error.code)
        return _Failed(str(error), again=again)

    def fault(self, failed: _Failed) -> ModelFault:
        """The error for the program. An API key that the provider repeats in its error is removed."""
        reason = " ".join(str(failed).split())
        if self._key:
            reason = reason.replace(self._key, "[redacted]")
        if len(reason) > _SHOWN:
            reason = reason[:_SHOWN] + "…"
        kind: Any = "timeout" if failed.late else "network"
        help = failed.help or "Handle it with try and recover; `lang llm status --try` shows whether the provider answers."
        last = self._last
        return ModelFault(
            f"{self._wire.label} error: {reason}",
            kind=kind,
            help=help,
            used=self._used if self._used.total else None,
            id="" if last is None else last.answer.id,
            first_chunk=None if last is None else last.first_chunk,
        )


class _Reading:
    """Reads the response of one attempt; a stream is read as it arrives."""

    def __init__(self, wire: Wire, answer: Answer, on_chunk: OnChunk | None, host: Host, silence: float, end: float) -> None:
        self.answer = answer
        self.streamed = False
        self.headers: Headers = []
        self._wire = wire
        self._on_chunk = on_chunk
        self._host = host
        self._silence = silence
        self._end = end
        self._heard = self._sent = host.monotonic()
        #: seconds until the first content of a stream
        self.first_chunk: float | None = None
        self._lines = wire.lines()
        self._ended = False

    def deadline(self) -> float:
        """The monotonic time at which to stop waiting for the next content."""
        return min(self._end, self._heard + (_TRAILER if self._ended else self._silence))

    def on_head(self, status: int, headers: Headers) -> Callable[[bytes], bool] | None:
        self.headers = headers
        kind = next((value for name, value in headers if name.lower() == "content-type"), "").partition(";")[0].strip().lower()
        if status != 200 or kind != self._wire.streams:
            return None
        self.streamed = True
        return self._part

    def _part(self, part: bytes) -> bool:
        try:
            self._take(self._lines.add(part))
        except TooLong as error:
            raise Malformed(str(error)) from error
        return False

    def _take(self, events: list[str]) -> None:
        import json

        for text in events:
            if text.strip() == self._wire.end_mark:
                self.answer.done = self._ended = True
                continue
            try:
                data = json.loads(text)
            except ValueError:
                raise Malformed("an event is not JSON") from None
            if not isinstance(data, dict):
                raise Malformed("an event is not a JSON object")
            if data.get("type") == "ping":
                continue
            chunk = self.answer.event(data)
            if self.first_chunk is None and self.answer.began:
                self.first_chunk = self._host.monotonic() - self._sent
            if chunk and self._on_chunk is not None:
                self._on_chunk(chunk)
            self._heard = self._host.monotonic()  # the time of the program's callback does not count
            if self.answer.done and self._wire.end_mark is None:
                self._ended = True

    def used(self, request: ModelRequest) -> TokenUsage:
        """The tokens of the attempt as the provider counted them; an estimate if the answer broke off before the provider
        reported them.
        """
        answer = self.answer
        if answer.done or not answer.began:
            return answer.usage
        about = TokenUsage(estimated_tokens(request), sum(map(len, answer.texts)) // 3)
        return about if about.total > answer.usage.total else answer.usage

    def reply(self, headers: Headers, body: bytes) -> ModelReply:
        """The answer. Raises ``Malformed``, ``ProviderError`` and ``_Failed``."""
        if self.streamed:
            self._take(self._lines.end())
            if not self.answer.done:
                raise _Failed("the answer ended before it was complete", again=not self.answer.began)
            reply = self.answer.reply()
            reply.first_chunk = self.first_chunk
            return reply
        data = _json(body)
        if data is None:
            raise Malformed("it is not a JSON object")
        detail, code = detail_of(data)
        if detail:
            raise ProviderError(detail, code)
        self.answer.whole(data)
        reply = self.answer.reply()
        if self._on_chunk is not None and reply.text:
            self._on_chunk(reply.text)
        return reply


def _json(body: bytes) -> dict[str, Any] | None:
    import json

    try:
        data = json.loads(body)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _error_of(body: bytes) -> tuple[str, str]:
    """Text and code of the error in an error response."""
    data = _json(body)
    if data is None:
        return "", ""
    detail, code = detail_of(data)
    return detail or str(data.get("message") or data.get("detail") or ""), code


def _is_spent(detail: str, code: str) -> bool:
    low = detail.lower()
    return code in _SPENT_CODES or any(word in low for word in _SPENT_WORDS)


def _pause(host: Host, done: int) -> float:
    """Seconds before the next attempt: exponential backoff with random jitter."""
    share = int.from_bytes(host.random_bytes(2), "big") / 65_536
    return min(_FIRST_PAUSE * 2.0**done, _LONGEST_PAUSE) * (1.0 - share / 2)


def _retry_after(headers: dict[str, str], now: float) -> float | None:
    """The seconds after which a provider wants to be asked again; ``None`` where it names none."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if not text:
            continue
        try:
            seconds = float(text) / unit
        except ValueError:
            seconds = _until(text, now)
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _until(text: str, now: float) -> float:
    from email.utils import mktime_tz, parsedate_tz

    date = parsedate_tz(text)
    return -1.0 if date is None else max(mktime_tz(date) - now, 0.0)
