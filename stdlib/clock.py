"""The clock: what reads it or waits on it. Gate: ``time``."""

from __future__ import annotations

from language.registry import Family
from language.values.operators import is_decimal, to_float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("clock", "Clock")

_LONGEST_SLEEP = 3600.0


@family.builtin("now()", capability="time", context=True, result="num")
def now(ctx: Context) -> float:
    """The present moment as unix time: seconds since 1970-01-01T00:00:00Z, a float with its fraction.

    `format_time(now())` shows it.
    """
    ctx.check("time", None)
    return float(ctx.host.now())


@family.builtin("sleep(secs)", capability="time", context=True)
def sleep(ctx: Context, secs: Any) -> None:
    """Waits for `secs` seconds, at least 0 and at most 3600; a value that is not a number counts as 0. The result is `nothing`.

    A shutdown, a time limit or the stop of an agent ends the wait.
    """
    ctx.check("time", None)
    seconds = 0.0
    if type(secs) is int or type(secs) is float:
        seconds = to_float(secs)
    elif is_decimal(secs):
        seconds = secs.to_float()
    # A NaN fails this comparison and does not wait.
    if seconds > 0:
        ctx.host.sleep(min(seconds, _LONGEST_SLEEP))
