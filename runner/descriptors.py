"""How many descriptors this process may hold: connections of visitors must leave enough for what keeps the programs."""

from __future__ import annotations

import resource
from typing import Final

#: For the spool, the state, engines, links, and what programs connect to.
KEPT_FREE: Final = 512
#: Where the system names no limit.
ENOUGH: Final = 1 << 20


def raise_limit() -> None:
    """Lets this process hold as many as the system allows it. What a service manager grants at first is often 1,024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (ENOUGH if hard == resource.RLIM_INFINITY else hard, hard))


def room_for(each: int) -> int:
    """How many things there may be that take so many descriptors each; a few at least."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(16, ((ENOUGH if soft == resource.RLIM_INFINITY else soft) - KEPT_FREE) // each)
