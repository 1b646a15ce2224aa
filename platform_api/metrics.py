"""Metrics in the text format of Prometheus: requests of this process, and numbers from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import func, select

from platform_api.moments import MINUTE, now
from platform_api.store.tables import deploys, gates, projects, runners, runs

if TYPE_CHECKING:
    from sqlalchemy import Connection

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
#: A runner polls every 20 seconds.
_RUNNER_IS_THERE = MINUTE


def stored_figures(connection: Connection) -> dict[tuple[str, str], int]:
    """The number of runners, deploys, runs and gates of each status."""
    found: dict[tuple[str, str], int] = {}
    for table, name in ((projects, "projects"), (deploys, "deploys"), (runs, "runs"), (gates, "gates")):
        status = projects.c.desired if table is projects else table.c.status
        grouped = select(status, func.count()).group_by(status)
        if table is deploys:
            grouped = grouped.where(status.in_(("queued", "starting", "needs_review")))
        elif table is runs:
            grouped = grouped.where(status.in_(("queued", "running")))
        elif table is gates:
            grouped = grouped.where(status == "pending")
        found.update(((name, str(row[0])), int(row[1])) for row in connection.execute(grouped))
    there = runners.c.seen_at > now() - _RUNNER_IS_THERE
    found["runners", "there"] = int(connection.execute(select(func.count()).select_from(runners).where(there)).scalar_one())
    return found


class Metrics:
    """The figures of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "platform_requests_total", "Answered requests.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "platform_request_seconds", "Time to the end of an answer.", ["method", "route"], registry=self._registry
        )
        self._under_way = Gauge("platform_requests_under_way", "Requests and open streams.", registry=self._registry)
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._stored = Gauge("platform_stored", "What stands in the store.", ["kind", "status"], registry=self._registry)

    def begun(self) -> None:
        """A request has come in."""
        self._under_way.inc()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request that has ``begun`` is over.

        Args:
            route: the template of its path; a path with ids would make a separate series for each.
        """
        self._under_way.dec()
        self.answered_at_once(method, route, status, seconds)

    def answered_at_once(self, method: str, route: str, status: int, seconds: float) -> None:
        """As ``answered``, of a request that was never under way."""
        method = method if method in _METHODS else "other"
        found = self._children.get((method, route, status))
        if found is None:
            found = (self._requests.labels(method, route, str(status)), self._seconds.labels(method, route))
            self._children[method, route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def text(self, stored: dict[tuple[str, str], int]) -> bytes:
        """Everything in Prometheus' text format.

        Args:
            stored: what ``stored_figures`` gave.
        """
        self._stored.clear()
        for (kind, status), number in stored.items():
            self._stored.labels(kind, status).set(number)
        return generate_latest(self._registry)
