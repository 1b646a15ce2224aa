"""Waiting for several things at once: processes, watches, sockets, subscriptions, signals, timers."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Secret, as_map, type_of
from language.values.operators import is_decimal, to_float
from stdlib.native_only import native_only
from stdlib.options import timeout_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.host import Bell
    from language.runtime.context import Context

family = Family("selection", "Waiting for several things")

_SECONDS = 30.0
_MOST_SOURCES = 1000


class _Source:
    """One of the sources that are waited for.

    ``ready()`` returns whether it has an event; ``descriptors`` become readable when it may have one. ``watch`` and ``leave``
    register and unregister a bell that its other side rings. ``interval`` is the polling interval in seconds, if it has to be
    polled; ``at`` is the time at which a timer ends.
    """

    __slots__ = ("at", "descriptors", "handle", "interval", "kind", "leave", "looked", "name", "ready", "watch")

    def __init__(self, kind: str, handle: Any, ready: Callable[[], bool]) -> None:
        self.kind = kind
        self.handle = handle
        self.ready = ready
        self.name: str | None = None
        self.descriptors: Callable[[], list[int]] = list
        self.watch: Callable[[Bell], None] | None = None
        self.leave: Callable[[Bell], None] | None = None
        self.interval = 0.0
        self.looked = 0.0
        self.at = float("inf")

    def event(self) -> dict[str, Any]:
        found = {"source": self.kind, "handle": self.handle}
        return found if self.name is None else {**found, "name": self.name}


@family.builtin("select(sources, timeout?)", profile="native", context=True)
def select(ctx: Context, sources: Any, timeout: Any = None) -> dict[str, Any] | None:
    """Waits until one of several sources has an event, and gives it as `{source, handle}`; if `sources` is a map, `name` is its
    key. The result is `nothing` when there is no event within `timeout` seconds (30; 0 checks once). The event is not removed:
    call the builtin of the source for that, which then returns at once.

    `sources` is a list or map of:

    - a process of `proc_spawn`: `source` is `process`, the builtin is `proc_recv`
    - a watch of `watch`: `watch`, `watch_next`
    - a socket of a socket route or of `ws_connect`: `socket`, `ws_recv`
    - a subscription of `bus_subscribe`: `bus`, `bus_recv`
    - the name of a channel of signals: `signal`, the statement `wait_for`; another agent may take the signal first
    - a number: `timer`, which ends that many seconds after this call

    If several are ready, it gives the first: put the most important source first. A process needs `exec` and a watch
    `file.read` here as well.

    `let event be select({"job": p, "stop": "stop", "tick": 1}, 60)`
    """
    if not ctx.host.runs_jobs:
        raise native_only("select", "this build has no child processes")
    named = as_map(sources)
    if named is None and type(sources) is not list:
        raise RuntimeFault(f"select expects a list or a map, got {type_of(sources)}", kind="type")
    given = list(sources) if named is None else list(named.values())
    if not 1 <= len(given) <= _MOST_SOURCES:
        raise RuntimeFault(f"select: there must be 1 to {_MOST_SOURCES} sources, got {len(given)}")
    seconds = timeout_of("select", timeout, _SECONDS)
    begun = ctx.host.monotonic()
    waited = [_source(ctx, item, begun) for item in given]
    if named is not None:
        for source, name in zip(waited, named):
            source.name = name
    found = _first(waited, begun)
    if found is None and seconds:
        found = _wait(ctx, waited, begun + seconds)
    return None if found is None else found.event()


def _wait(ctx: Context, waited: list[_Source], end: float) -> _Source | None:
    monotonic = ctx.host.monotonic
    with ctx.host.bell() as bell:
        try:
            for source in waited:
                if source.watch is not None:
                    source.watch(bell)
            while True:
                now = monotonic()
                found = _first(waited, now)
                if found is not None or now >= end:
                    return found
                until = min(end, *(source.at for source in waited))
                for source in waited:
                    if source.interval:
                        until = min(until, source.looked + source.interval)
                bell.wait([one for source in waited for one in source.descriptors()], max(until - now, 0.0))
        finally:
            for source in waited:
                if source.leave is not None:
                    source.leave(bell)


def _first(waited: list[_Source], now: float) -> _Source | None:
    for source in waited:
        if source.interval:
            if source.looked and now - source.looked < source.interval:
                continue
            source.looked = now
        if now >= source.at or source.ready():
            return source
    return None


def _source(ctx: Context, item: Any, now: float) -> _Source:
    kind = type_of(item)
    if type(item) is str:
        return _signal(ctx, item)
    if type(item) is int or type(item) is float or is_decimal(item):
        return _timer(item, now)
    make = _MAKERS.get(kind)
    if make is None or type(item) is Secret:
        raise RuntimeFault(
            f"select: cannot wait for {kind}: give processes, watches, sockets, subscriptions, names of signals, or seconds",
            kind="type",
        )
    return make(ctx, item)


def _timer(item: Any, now: float) -> _Source:
    seconds: float = item.to_float() if is_decimal(item) else to_float(item)
    if not 0 <= seconds < float("inf"):
        raise RuntimeFault("select: a timer must be a number of seconds from 0")
    made = _Source("timer", item, lambda: False)
    made.at = now + seconds
    return made


def _signal(ctx: Context, name: str) -> _Source:
    from language.agents import agents_of

    waits = agents_of(ctx).waits
    made = _Source("signal", name, lambda: waits.is_queued(name))
    made.watch = lambda bell: waits.add_bell(name, bell.ring)
    made.leave = lambda bell: waits.drop_bell(name, bell.ring)
    return made


def _process(ctx: Context, item: Any) -> _Source:
    from stdlib.child_processes import used

    process = used(ctx, "select", item)
    made = _Source("process", item, process.has_event)
    made.descriptors = process.waiting
    return made


def _watch(ctx: Context, item: Any) -> _Source:
    from stdlib.file_watches import looker

    made = _Source("watch", item, looker(ctx, "select", item))
    made.interval = item.interval
    return made


def _socket(ctx: Context, item: Any) -> _Source:
    from stdlib.websockets import usable

    channel = usable(ctx, "select", item).channel
    made = _Source("socket", item, channel.ready)
    made.descriptors = channel.waiting
    made.watch = lambda bell: channel.bells.add(bell.ring)
    made.leave = lambda bell: channel.bells.discard(bell.ring)
    return made


def _subscription(ctx: Context, item: Any) -> _Source:
    from stdlib.bus import checked

    made = checked(ctx, "select", item)
    board: Any = made.board
    source = _Source("bus", item, lambda: board.has_event(made.identifier))
    if not board.shared:
        source.watch = lambda bell: board.bells(made.identifier).add(bell.ring)
        source.leave = lambda bell: board.bells(made.identifier).discard(bell.ring)
    return source


_MAKERS: dict[str, Callable[[Context, Any], _Source]] = {
    "process": _process,
    "watch": _watch,
    "socket": _socket,
    "subscription": _subscription,
}
