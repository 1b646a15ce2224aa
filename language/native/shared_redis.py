"""The shared store of several worker processes in a Redis database whose keys under ``lang:`` belong to this service.

Each process has one connection and does one operation at a time. A cancelled operation leaves the connection in the middle
of a reply, so the next operation opens a new connection.
"""

from __future__ import annotations

import os
import time
from weakref import WeakSet

from language.host.databases import CONNECT_SECONDS
from language.locks import Lock
from language.native.shared_redis_events import RedisEvents
from language.shared.gate_board import DECIDED, GateRecord, objection
from language.shared.store import StoreFailure
from language.shared.value_form import from_text, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    Answer = TypeVar("Answer")
    Word = str | bytes | int | float
    Say = Callable[..., Any]

_ANSWER_SECONDS = 20.0
#: How many seconds a gate is kept after its deadline, so that the waiting process can read its answer.
_KEPT_SECONDS = 60

_BUCKET = """
local known = redis.call('HMGET', KEYS[1], 'tokens', 'seen')
local now, amount, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens = amount
if known[1] then
  tokens = tonumber(known[1])
  local elapsed = now - tonumber(known[2])
  if elapsed > 0 then tokens = tokens + elapsed * amount / window end
  if tokens > amount then tokens = amount end
end
local left = tokens - 1
if left < 0 and left > -1e-9 then left = 0 end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', left >= 0 and left or left + 1), 'seen', ARGV[1])
redis.call('PEXPIRE', KEYS[1], math.floor(2000 * window))
return string.format('%.17g', left)
"""
_PENDING = """
local found = {}
for _, number in ipairs(redis.call('ZRANGE', 'lang:gates', 0, -1)) do
  local fields = redis.call('HMGET', 'lang:gate:' .. number, unpack(ARGV))
  if fields[1] then found[#found + 1] = {number, fields} else redis.call('ZREM', 'lang:gates', number) end
end
return found
"""
_TAKE = """
local answer = redis.call('HMGET', KEYS[1], 'owner', 'decision', 'value')
redis.call('DEL', KEYS[1])
redis.call('ZREM', 'lang:gates', ARGV[1])
if answer[1] then redis.call('SREM', 'lang:answered:' .. answer[1], ARGV[1]) end
return answer
"""
_FIELDS = ("kind", "message", "options", "digest", "expires_at", "deadline", "decision", "value")


def create(url: str) -> RedisStore:
    """The store at ``redis://...`` or ``rediss://...``; removes what it held. Raises ``StoreFailure``."""
    store = RedisStore(url)
    store.empty()
    return store


class RedisStore:
    """A :class:`~language.shared.store.SharedStore` over a Redis server. Methods raise ``StoreFailure``."""

    def __init__(self, url: str) -> None:
        self._server = _Server(url)
        self.state = RedisState(self._server)
        self.gates = RedisBoard(self._server)
        self.events = RedisEvents(self._server)

    def empty(self) -> None:
        """Removes what an earlier run of the service left."""

        def act(say: Say) -> None:
            cursor = b"0"
            while True:
                cursor, keys = say("SCAN", cursor, "MATCH", "lang:*", "COUNT", 1000)
                if keys:
                    say("DEL", *keys)
                if cursor == b"0":
                    break
            say("SET", "lang:boot", os.urandom(3).hex())

        self._server.turn(act)

    def buckets(self, name: str, amount: float, window: float) -> RedisBuckets:
        return RedisBuckets(self._server, name, amount, window)

    def close(self) -> None:
        self._server.close()


class _Server:
    """The connection of this process."""

    def __init__(self, url: str) -> None:
        try:
            import redis
        except ImportError:
            raise StoreFailure("the package redis is not installed: pip install 'ceiling-lang[redis]'") from None
        self._redis: Any = redis
        try:
            options: dict[str, Any] = self._redis.connection.parse_url(url)
        except ValueError as error:
            raise StoreFailure(error) from None
        kind: Any = options.pop("connection_class", redis.Connection)
        self._make: Callable[[], Any] = lambda: kind(
            **{"socket_connect_timeout": CONNECT_SECONDS, "socket_timeout": _ANSWER_SECONDS, **options, "protocol": 2}
        )
        #: called in every process that is forked from this one
        self.beginnings: list[Callable[[], None]] = []
        self.begin()
        _servers.add(self)

    def begin(self) -> None:
        """Marks the connection as not open in this process."""
        self._lock = Lock()
        self._connection: Any = None
        self._midway = False

    def begin_anew(self) -> None:
        self.begin()
        for begin in self.beginnings:
            begin()

    def say(self, *words: Word) -> Any:
        """Sends one command and returns its reply."""
        return self.turn(lambda say: say(*words))

    def turn(self, act: Callable[[Say], Answer]) -> Answer:
        """Runs several commands without another command of this process between them."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._make()
                if self._midway:
                    self._connection.disconnect()
                self._midway = True
                answer = act(self._exchange)
            except (self._redis.RedisError, OSError) as error:
                raise StoreFailure(error) from None
            self._midway = False
            return answer

    def transact(self, key: str, act: Callable[[Say], tuple[Answer, list[tuple[Word, ...]]]]) -> Answer:
        """Reads the value under ``key``, lets ``act`` say what to write, and repeats both when the value changed in between."""

        def attempt(say: Say) -> Answer:
            while True:
                say("WATCH", key)
                answer, commands = act(say)
                if not commands:
                    say("UNWATCH")
                    return answer
                if _all_or_none(say, commands) is not None:
                    return answer

        return self.turn(attempt)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.disconnect()
                self._connection = None

    def _exchange(self, *words: Word) -> Any:
        self._connection.send_command(*words)
        return self._connection.read_response()


_servers: WeakSet[_Server] = WeakSet()


def _in_child() -> None:
    for server in list(_servers):
        server.begin_anew()


os.register_at_fork(after_in_child=_in_child)


def _all_or_none(say: Say, commands: Sequence[tuple[Word, ...]]) -> Any:
    """Runs commands in one transaction; ``None`` when a watched key has changed and nothing was done."""
    say("MULTI")
    for command in commands:
        say(*command)
    return say("EXEC")


class RedisState:
    """The ``state_*`` values."""

    __slots__ = ("_server",)

    def __init__(self, server: _Server) -> None:
        self._server = server

    def get(self, name: str, default: Any = None) -> Any:
        found = self._server.say("GET", _value_key(name))
        return default if found is None else from_text(found.decode())

    def __setitem__(self, name: str, value: Any) -> None:
        text = to_text(value)
        self._server.turn(lambda say: _all_or_none(say, self._stored(say, name, text)))

    def pop(self, name: str, default: Any = None) -> Any:
        commands = [("GET", _value_key(name)), ("DEL", _value_key(name)), ("ZREM", "lang:order", name)]
        found = self._server.turn(lambda say: _all_or_none(say, commands))[0]
        return default if found is None else from_text(found.decode())

    def copy(self) -> dict[str, Any]:
        def act(say: Say) -> list[tuple[bytes, bytes | None]]:
            names = say("ZRANGE", "lang:order", 0, -1)
            return list(zip(names, say("MGET", *(b"lang:state:" + name for name in names)))) if names else []

        return {name.decode(): from_text(text.decode()) for name, text in self._server.turn(act) if text is not None}

    def change(self, name: str, new: Callable[[Any], Any]) -> Any:
        def act(say: Say) -> tuple[Any, list[tuple[Word, ...]]]:
            known = say("GET", _value_key(name))
            value = new(None if known is None else from_text(known.decode()))
            return value, self._stored(say, name, to_text(value))

        return self._server.transact(_value_key(name), act)

    def _stored(self, say: Say, name: str, text: str) -> list[tuple[Word, ...]]:
        return [("SET", _value_key(name), text), ("ZADD", "lang:order", "NX", say("INCR", "lang:number"), name)]


def _value_key(name: str) -> str:
    return f"lang:state:{name}"


class RedisBuckets:
    """The token buckets of one limit. A bucket expires after two windows without use; the server's ``maxmemory`` limits their
    number.
    """

    __slots__ = ("_amount", "_name", "_server", "_window")

    def __init__(self, server: _Server, name: str, amount: float, window: float) -> None:
        self._server = server
        self._name = name
        self._amount = amount
        self._window = window

    def take(self, key: str) -> float:
        place = f"lang:bucket:{len(self._name)}:{self._name}:{key}"
        now = repr(time.monotonic())  # monotonic time is the same for all processes of a service, which run on one machine
        return float(self._server.say("EVAL", _BUCKET, 1, place, now, repr(self._amount), repr(self._window)))


class RedisBoard:
    """The pending gates of all processes."""

    shared = True

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._known_boot = ""

    def after_fork(self, begin: Callable[[], None]) -> None:
        self._server.beginnings.append(begin)

    def open(self, record: GateRecord) -> str:
        import json

        fields: list[Word] = ["owner", os.getpid(), "kind", record.kind, "message", record.message, "digest", record.digest]
        fields += ["expires_at", record.expires_at, "deadline", repr(record.deadline)]
        if record.options is not None:
            fields += ["options", json.dumps(record.options)]
        left = max(0, int(record.deadline - time.monotonic())) + _KEPT_SECONDS
        boot = self._boot

        def act(say: Say) -> None:
            number: int = say("INCR", "lang:gates:count")
            record.id = f"interact_{number}-{boot}"
            key = _gate_key(number)
            _all_or_none(say, [("HSET", key, *fields), ("EXPIRE", key, left), ("ZADD", "lang:gates", number, number)])

        self._server.turn(act)
        return record.id

    def look(self, identifier: str) -> GateRecord | None:
        number = self._number_in(identifier)
        return _record_of(self._server.say("HMGET", _gate_key(number), *_FIELDS), identifier) if number else None

    def pending(self, now: float) -> list[GateRecord]:
        boot = self._boot
        found = self._server.say("EVAL", _PENDING, 0, *_FIELDS)
        records = [_record_of(fields, f"interact_{number.decode()}-{boot}") for number, fields in found]
        return [record for record in records if record is not None and record.answer is None and record.deadline > now]

    def decide(self, identifier: str, digest: bytes, decision: bool | None, value: str | None, now: Callable[[], float]) -> str:
        number = self._number_in(identifier)
        key = _gate_key(number)

        def act(say: Say) -> tuple[str, list[tuple[Word, ...]]]:
            owner, *fields = say("HMGET", key, "owner", *_FIELDS)
            record = _record_of(fields, identifier)
            outcome = objection(record, digest, decision, value, now())
            if outcome is not DECIDED or record is None:
                return outcome, []
            answer: tuple[Word, Word] = ("value", value or "") if record.kind == "ask" else ("decision", int(decision is True))
            return outcome, [("HSET", key, *answer), ("SADD", f"lang:answered:{owner.decode()}", number)]

        return self._server.transact(key, act)

    def take(self, identifier: str) -> bool | str | None:
        number = self._number_in(identifier)
        _, decision, value = self._server.say("EVAL", _TAKE, 1, _gate_key(number), number)
        return _answer_of(decision, value)

    def answered(self) -> list[str]:
        numbers = self._server.say("SMEMBERS", f"lang:answered:{os.getpid()}")
        return [f"interact_{number.decode()}-{self._boot}" for number in numbers]

    @property
    def _boot(self) -> str:
        """A text that makes the ids of this run of the service different from those of other runs."""
        if not self._known_boot:
            found = self._server.say("GET", "lang:boot")
            if found is None:
                raise StoreFailure("it was emptied by somebody else")
            self._known_boot = found.decode()
        return self._known_boot

    def _number_in(self, identifier: str) -> int:
        """The number of a gate in its id; 0, which no gate has, for any other text."""
        digits = identifier.removeprefix("interact_").partition("-")[0]
        number = int(digits) if len(digits) < 19 and digits.isascii() and digits.isdigit() else 0
        return number if identifier == f"interact_{number}-{self._boot}" else 0


def _gate_key(number: int) -> str:
    return f"lang:gate:{number}"


def _record_of(fields: Any, identifier: str) -> GateRecord | None:
    import json

    kind, message, options, digest, expires_at, deadline, decision, value = fields
    if kind is None:
        return None
    return GateRecord(
        kind.decode(),
        message.decode(),
        None if options is None else json.loads(options),
        digest,
        int(expires_at),
        float(deadline),
        identifier=identifier,
        answer=_answer_of(decision, value),
    )


def _answer_of(decision: bytes | None, value: bytes | None) -> bool | str | None:
    if decision is not None:
        return decision == b"1"
    return None if value is None else value.decode()
