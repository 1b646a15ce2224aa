"""The events of several worker processes, in the Redis database of their shared store."""

from __future__ import annotations

import json
import os

from language.native.shared_sqlite_events import is_alive
from language.shared.event_board import MOST_SUBSCRIPTIONS, Event, Overflowed, QueueBounds, TooMany, fits
from language.shared.value_form import from_text, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Server(Protocol):
        """The server of the store, as far as it is used here."""

        def say(self, *words: str | bytes | int | float) -> Any: ...


_SUBSCRIPTIONS = "lang:subscriptions"
#: Appends an event to the queues of the subscriptions that still exist. A queue is a list; its size in bytes is a separate key.
_PUBLISH = """
local count = 0
for at = 2, #ARGV, 4 do
  local id, most, bytes, drops = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
  local queue, about = 'lang:events:' .. id, 'lang:events-of:' .. id
  if redis.call('HEXISTS', KEYS[1], id) == 1 and redis.call('HGET', about, 'overflowed') == false then
    count = count + 1
    local length = redis.call('RPUSH', queue, ARGV[1])
    local size = redis.call('HINCRBY', about, 'bytes', #ARGV[1])
    while length > most or size > bytes do
      if drops == '0' then
        redis.call('DEL', queue)
        redis.call('HSET', about, 'overflowed', 1)
        break
      end
      size = redis.call('HINCRBY', about, 'bytes', -#redis.call('LPOP', queue))
      redis.call('HINCRBY', about, 'dropped', 1)
      length = length - 1
    end
  end
end
return count
"""
_TAKE = """
local queue, about = 'lang:events:' .. ARGV[1], 'lang:events-of:' .. ARGV[1]
if redis.call('HGET', about, 'overflowed') then return {'overflowed'} end
local event = redis.call('LPOP', queue)
if not event then return false end
redis.call('HINCRBY', about, 'bytes', -#event)
local dropped = redis.call('HGET', about, 'dropped') or '0'
redis.call('HDEL', about, 'dropped')
return {event, dropped}
"""


class RedisEvents:
    """The :class:`~language.shared.event_board.EventBoard` over a Redis server."""

    shared = True

    def __init__(self, server: Server) -> None:
        self._server = server

    def subscribe(self, topics: list[str], bounds: QueueBounds) -> str:
        known = self._known()
        for identifier, fields in known.items():
            if not is_alive(fields["owner"]):
                self.unsubscribe(identifier)
        if len(known) >= MOST_SUBSCRIPTIONS and int(self._server.say("HLEN", _SUBSCRIPTIONS)) >= MOST_SUBSCRIPTIONS:
            raise TooMany
        identifier = str(self._server.say("INCR", "lang:subscriptions-count"))
        fields = {
            "owner": os.getpid(),
            "topics": topics,
            "most_events": bounds.most_events,
            "most_bytes": bounds.most_bytes,
            "drops": int(bounds.drops),
        }
        self._server.say("HSET", _SUBSCRIPTIONS, identifier, json.dumps(fields))
        return identifier

    def publish(self, topic: str, value: Any, size: int) -> int:
        event = json.dumps([topic, to_text(value)])
        receivers: list[str | int] = []
        for identifier, fields in self._known().items():
            if fits(topic, fields["topics"]):
                receivers += [identifier, fields["most_events"], fields["most_bytes"], fields["drops"]]
        return int(self._server.say("EVAL", _PUBLISH, 1, _SUBSCRIPTIONS, event, *receivers)) if receivers else 0

    def take(self, identifier: str) -> Event | None:
        found = self._server.say("EVAL", _TAKE, 0, identifier)
        if found is None:
            return None
        if len(found) == 1:
            raise Overflowed
        topic, text = json.loads(found[0])
        return Event(topic, from_text(text), int(found[1]))

    def has_event(self, identifier: str) -> bool:
        queue, about = f"lang:events:{identifier}", f"lang:events-of:{identifier}"
        return bool(self._server.say("LLEN", queue)) or self._server.say("HGET", about, "overflowed") is not None

    def unsubscribe(self, identifier: str) -> None:
        self._server.say("HDEL", _SUBSCRIPTIONS, identifier)
        self._server.say("DEL", f"lang:events:{identifier}", f"lang:events-of:{identifier}")

    def topics(self) -> list[str]:
        return sorted({topic for fields in self._known().values() for topic in fields["topics"]})

    def _known(self) -> dict[str, dict[str, Any]]:
        words = self._server.say("HGETALL", _SUBSCRIPTIONS)
        pairs = words.items() if isinstance(words, dict) else zip(words[::2], words[1::2])
        return {identifier.decode(): json.loads(fields) for identifier, fields in pairs}
