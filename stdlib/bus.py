"""Publish/subscribe by topic: within a program, and with ``serve --workers`` between its processes."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.locks import Lock
from language.registry import Family
from language.shared.event_board import MOST_SUBSCRIPTIONS, Overflowed, QueueBounds, TooMany
from language.shared.store import StoreFailure
from language.values import TRUE, Secret, type_of
from stdlib.native_only import native_only
from stdlib.options import option_map, timeout_of, whole_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.runtime.context import Context, Lifetime
    from language.shared.event_board import EventBoard
    from language.values import Bool

family = Family("bus", "Events")

_SECONDS = 30.0
_MOST_EVENTS = 1024
_MOST_BYTES = 16 * 1024 * 1024
_MOST_TOPICS = 1000
_LONGEST_TOPIC = 1000
_ON_FULL = ("drop_oldest", "error")


_lock = Lock()
_open: dict[Lifetime, set[Subscription]] = {}


class Subscription:
    """The value of ``bus_subscribe``."""

    __slots__ = ("_ctx", "board", "closed", "identifier", "topics")

    language_type = "subscription"

    def __init__(self, ctx: Context, board: EventBoard, topics: list[str]) -> None:
        self._ctx = ctx
        self.board = board
        self.topics = topics
        self.identifier = ""
        self.closed = False

    def display(self) -> str:
        return f"subscription({', '.join(self.topics)})"

    def belongs_to(self, ctx: Context) -> bool:
        return self._ctx is ctx

    def end(self) -> None:
        """Ends the subscription. Idempotent. Raises ``StoreFailure``."""
        if not self.closed:
            self.board.unsubscribe(self.identifier)
            self.closed = True
        with _lock:
            _open.get(self._ctx.lifetime, set()).discard(self)


@family.builtin("bus_subscribe(topic, opts?)", profile="native", context=True)
def bus_subscribe(ctx: Context, topic: Any, opts: Any = None) -> Subscription:
    """Subscribes to a topic or to a list of topics: events that `bus_publish` sends to one of them from now on are queued for
    `bus_recv`. In a topic `*` stands for any run of characters, `?` for one.

    `opts` is a map of:

    - `max_events`, `max_bytes`: the limits of the queue (1024 events; 16 MiB)
    - `on_full`: `"drop_oldest"` (unless given) removes the oldest events beyond that, `"error"` ends the subscription: the next
      `bus_recv` is an error

    A subscription ends with `bus_unsubscribe`, and at the end of the run, handler, job or agent that made it. It cannot be used
    in another one or in a worker. A program has at most 1,000 subscriptions.

    `let orders be bus_subscribe("order.*")`
    """
    _need_threads(ctx, "bus_subscribe")
    topics = topic if type(topic) is list else [topic]
    if not 1 <= len(topics) <= _MOST_TOPICS:
        raise RuntimeFault(f"bus_subscribe: the topics must be 1 to {_MOST_TOPICS}")
    names = [_topic("bus_subscribe", name) for name in topics]
    options = option_map("bus_subscribe", opts, ("max_events", "max_bytes", "on_full"))
    on_full = options.get("on_full", "drop_oldest")
    if type(on_full) is not str or on_full not in _ON_FULL:
        raise RuntimeFault(f'bus_subscribe: option "on_full" must be one of {", ".join(_ON_FULL)}')
    bounds = QueueBounds(
        whole_option("bus_subscribe", options, "max_events", _MOST_EVENTS, 1, 1_000_000),
        whole_option("bus_subscribe", options, "max_bytes", _MOST_BYTES, 1, 1 << 30),
        on_full == "drop_oldest",
    )
    made = Subscription(ctx, ctx.services.events, names)
    try:
        made.identifier = made.board.subscribe(names, bounds)
    except TooMany:
        raise RuntimeFault(
            f"bus_subscribe: there are {MOST_SUBSCRIPTIONS} subscriptions, which is as many as there can be: end some with "
            "bus_unsubscribe",
            kind="resources",
        ) from None
    lifetime = ctx.lifetime
    with _lock:
        if lifetime not in _open:
            lifetime.at_end(lambda: _end_all(lifetime))
        _open.setdefault(lifetime, set()).add(made)
    return made


@family.builtin("bus_publish(topic, data?)", profile="native", context=True)
def bus_publish(ctx: Context, topic: Any, data: Any = None) -> int:
    """Sends a copy of `data` to every subscription with a matching topic, and gives their number. It never waits.

    A secret is sent as `"[redacted]"`, with a warning; a task cannot be sent. Later subscriptions do not receive the event.
    With `serve --workers` it reaches the subscriptions of all worker processes.

    `bus_publish("order.paid", {"id": 7})`
    """
    from language.agents.copies import size_of
    from stdlib.state import storable

    _need_threads(ctx, "bus_publish")
    name = _topic("bus_publish", topic)
    if "*" in name or "?" in name:
        raise RuntimeFault("bus_publish: the topic cannot hold * or ?: these stand for other characters where one subscribes")
    value = storable(ctx, "bus_publish", data)
    return ctx.services.events.publish(name, value, size_of(value) + len(name))


@family.builtin("bus_recv(subscription, timeout?)", profile="native", context=True)
def bus_recv(ctx: Context, subscription: Any, timeout: Any = None) -> dict[str, Any] | None:
    """The next event of a subscription, as `{topic, data, dropped}`; `nothing` when none arrives within `timeout` seconds (30;
    0 checks once). `dropped` is the number of events before it that were removed because the queue was full.

    `let event be bus_recv(orders, 5)`
    """
    _need_threads(ctx, "bus_recv")
    made = checked(ctx, "bus_recv", subscription)
    seconds = timeout_of("bus_recv", timeout, _SECONDS)
    try:
        event = made.board.take(made.identifier)
        if event is None and seconds:
            until(ctx, seconds, lambda: made.board.has_event(made.identifier), made)
            event = made.board.take(made.identifier)
    except Overflowed:
        made.end()
        raise RuntimeFault(
            f"bus_recv: {made.display()} has ended, because more events waited than it allows: take them sooner, or subscribe "
            'with {"on_full": "drop_oldest"}',
            kind="resources",
        ) from None
    return None if event is None else {"topic": event.topic, "data": event.value, "dropped": event.dropped}


@family.builtin("bus_unsubscribe(subscription)", profile="native", context=True)
def bus_unsubscribe(ctx: Context, subscription: Any) -> Bool:
    """Ends a subscription and gives `true`; ending it twice is not an error."""
    _need_threads(ctx, "bus_unsubscribe")
    _belonging(ctx, "bus_unsubscribe", subscription).end()
    return TRUE


@family.builtin("bus_topics()", profile="native", context=True)
def bus_topics(ctx: Context) -> list[str]:
    """The topics with subscriptions, each once, sorted; those with `*` and `?` as they were given."""
    _need_threads(ctx, "bus_topics")
    return ctx.services.events.topics()


def _need_threads(ctx: Context, builtin: str) -> None:
    """Raises ``RuntimeFault`` in a build without threads, where nobody can receive while another one sends, before anything
    else is checked.
    """
    if not ctx.host.runs_jobs:
        raise native_only(builtin, "this build has no agent threads")


def _end_all(lifetime: Lifetime) -> None:
    """Ends all subscriptions of a run. A cancellation can interrupt it anywhere, so a subscription is removed only after it has
    ended.
    """
    while True:
        with _lock:
            left = next(iter(_open.get(lifetime, ())), None)
            if left is None:
                _open.pop(lifetime, None)
                return
        try:
            left.end()
        except StoreFailure:  # the store is gone, or it removes the subscriptions of ended processes itself
            with _lock:
                _open.get(lifetime, set()).discard(left)


def checked(ctx: Context, builtin: str, subscription: Any) -> Subscription:
    """The open subscription that was given to ``builtin``. Raises ``RuntimeFault``."""
    found = _belonging(ctx, builtin, subscription)
    if found.closed:
        raise RuntimeFault(f"{builtin}: {found.display()} has ended")
    return found


def until(ctx: Context, seconds: float, ready: Callable[[], bool], *subscriptions: Subscription) -> None:
    """Waits until ``ready()`` is true, at most ``seconds``. Events of this process wake it; for those of other processes it
    polls.
    """
    with ctx.host.bell() as bell:
        sets = [board.bells(s.identifier) for s in subscriptions if (board := _local(s.board)) is not None]
        try:
            for rung in sets:
                rung.add(bell.ring)
            end = ctx.host.monotonic() + seconds
            while not ready() and (left := end - ctx.host.monotonic()) > 0:
                bell.wait((), left)
        finally:
            for rung in sets:
                rung.discard(bell.ring)


def _local(board: EventBoard) -> Any:
    return None if board.shared else board


def _belonging(ctx: Context, builtin: str, subscription: Any) -> Subscription:
    if type(subscription) is not Subscription:
        raise RuntimeFault(f"{builtin} expects a subscription, got {type_of(subscription)}", kind="type")
    if not subscription.belongs_to(ctx):
        raise RuntimeFault(f"{builtin}: a subscription does not cross into workers, agents or handlers: subscribe there")
    return subscription


def _topic(builtin: str, topic: Any) -> str:
    if type(topic) is Secret or type(topic) is not str:
        raise RuntimeFault(f"{builtin}: a topic is a text, got {type_of(topic)}", kind="type")
    if not 1 <= len(topic) <= _LONGEST_TOPIC:
        raise RuntimeFault(f"{builtin}: a topic has 1 to {_LONGEST_TOPIC} characters")
    return topic
