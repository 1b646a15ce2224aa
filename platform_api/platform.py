"""The service without HTTP: its settings and everything that is made of them once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from platform_api.accounts.downloads import Downloads
from platform_api.accounts.housekeeping import prune_accounts
from platform_api.accounts.open_streams import KEPT_EVERY, OpenStreams
from platform_api.accounts.rate_limits import RateLimits
from platform_api.accounts.tokens import Tokens
from platform_api.changes import Changes
from platform_api.environment.keys import load_keys
from platform_api.history.mover import keep_moving
from platform_api.kept_answers import KeptAnswers
from platform_api.metrics import Metrics
from platform_api.notices.sending import keep_sending, put_in_line
from platform_api.packages.analyst import Analyst
from platform_api.packages.storage import prune_packages
from platform_api.plans.plans import load_plans
from platform_api.recipes.mirror import Mirror
from platform_api.records.feed import Feeds
from platform_api.records.pruning import prune
from platform_api.records.watching import Watching
from platform_api.repositories.fetch import Repositories
from platform_api.store.store import Store, open_store
from platform_api.tasks import Tasks
from platform_api.turns import Turns
from platform_api.upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from platform_api.settings import Settings


class Platform:
    """What routes, pages and background tasks share.

    Args:
        settings: what the operator decided.
        store: an open store; ``None`` opens the one of the settings.
    """

    def __init__(self, settings: Settings, store: Store | None = None) -> None:
        self.settings = settings
        self.plans = load_plans(settings.plans)
        self.store = open_store(settings) if store is None else store
        self.metrics = Metrics()
        self.credentials = Tokens(self.store.main, settings.token_days)
        self.kept_answers = KeptAnswers()
        self.limits = RateLimits(self.store.main) if settings.rate_limits else None
        self.changes = Changes(self.store)
        self.keys = load_keys(settings)
        self.analyst = Analyst()
        self.repositories = Repositories(settings.repo_hosts)
        self.recipes = Mirror(self)
        self.open_streams = OpenStreams(self.store.main, limited=settings.rate_limits)
        self.downloads = Downloads(limited=settings.rate_limits)
        self.watching = Watching(self.store.main, settings.token_days)
        self.feeds = Feeds(self.store.records, self.changes)
        self.comparisons = Turns("declared", 2, 8, "Other comparisons of this account are still being made.", 5)
        self.tasks = Tasks()
        self.tasks.add("history", lambda: keep_moving(self.store, self.changes, self._tell), seconds=1)
        self.tasks.add("notices", lambda: keep_sending(self.store, self.changes, self.keys, self.settings), seconds=1)
        self.tasks.add("packages", lambda: self.store.main.write(prune_packages), seconds=3600)
        self.tasks.add("pruning", lambda: asyncio.to_thread(prune, self.store), seconds=60)
        self.tasks.add("accounts", lambda: self.store.main.write(prune_accounts, settings.token_days), seconds=600)
        self.tasks.add("open streams", self.open_streams.keep, seconds=KEPT_EVERY)
        Upkeep(self).add_to_tasks()

    def _tell(self, connection: Connection, rows: Sequence[Row[Any]]) -> None:
        put_in_line(connection, self.settings.base_url, rows)

    def close(self) -> None:
        """Ends every connection of the store."""
        self.analyst.close()
        self.repositories.close()
        self.comparisons.close()
        self.store.close()
