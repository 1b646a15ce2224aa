"""How long a program's thread waits before it looks up."""

from __future__ import annotations

#: Seconds: how long at a time a program's thread waits where no exception reaches it.
LONGEST_NAP = 0.05
