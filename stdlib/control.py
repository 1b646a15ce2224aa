"""Retries and limits for a task: ``retry``, ``time_limit``, ``llm_limit``."""

from __future__ import annotations

from language.errors import RuntimeFault, Uncatchable
from language.registry import Family
from language.runtime.calls import callback
from language.values import is_callable, type_of
from language.values.operators import is_decimal
from stdlib.options import option_map, whole_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.runtime.context import Context

family = Family("control", "Control")

_MOST_TIMES = 1000
_LONGEST_PAUSE = 3600.0
_LONGEST_LIMIT = 7 * 86400.0
_MOST_TOKENS = 10**15


@family.builtin("retry(task, opts?)", capability="time", context=True)
def retry(ctx: Context, task: Any, opts: Any = None) -> Any:
    """The result of `task()`, which is called again after an error; the last error is raised. A task with a parameter gets the
    number of the attempt, from 1.

    `opts` is a map of:

    - `times`: attempts in all, 1 to 1000 (3)
    - `wait`: seconds before the second attempt, 0 to 3600 (1)
    - `factor`: what each further wait is multiplied with, 1 to 100 (2)
    - `longest`: the longest wait in seconds, 0 to 3600 (60)
    - `spread`: whether each wait is shortened at random (jitter), to no less than half, so that many programs do not try again
      at the same moment (`true`)
    - `when`: a task that gets the text of an error and says whether to try again (always)

    `retry(() => fetch_json(url), {"times": 5, "when": (e) => contains(e, "503")})`
    """
    if not is_callable(task):
        raise RuntimeFault(f"retry expects a task, got {type_of(task)}", kind="type")
    options = option_map("retry", opts, ("times", "wait", "factor", "longest", "spread", "when"))
    times = whole_option("retry", options, "times", 3, 1, _MOST_TIMES)
    pause = _number("retry", options, "wait", 1.0, 0.0, _LONGEST_PAUSE)
    factor = _number("retry", options, "factor", 2.0, 1.0, 100.0)
    longest = _number("retry", options, "longest", 60.0, 0.0, _LONGEST_PAUSE)
    spread = options.get("spread")
    wanted: Callable[..., Any] | None = None if "when" not in options else callback(options["when"], 1)
    run = callback(task, 1)
    for attempt in range(1, times + 1):
        try:
            return run(attempt)
        except Exception as failure:
            if attempt == times or (wanted is not None and not wanted(_text(failure))):
                raise
        seconds = min(pause, longest)
        pause = min(pause * factor, _LONGEST_PAUSE)
        if seconds > 0:
            ctx.check("time", None)
            ctx.host.sleep(seconds if spread is not None and not spread else seconds * _share(ctx))
    raise AssertionError("the last attempt returns or raises")


@family.builtin("llm_limit(tokens, task)", context=True)
def llm_limit(ctx: Context, tokens: Any, task: Any) -> Any:
    """The result of `task()`, in which calls of the model may use at most `tokens` tokens together; a further call is the
    error `llm budget exceeded: used ... of ... tokens`.

    Agents and workers that the task starts count too. Limits may be nested; the one with the fewest tokens left applies, and
    the limit of the process applies too. Each call reserves the tokens that it may use before it is made.

    `llm_limit(20000, () => tool_loop(prompt, tools))`
    """
    if not is_callable(task):
        raise RuntimeFault(f"llm_limit expects a task, got {type_of(task)}", kind="type")
    if type(tokens) is not int or not 0 <= tokens <= _MOST_TOKENS:
        raise RuntimeFault(f"llm_limit expects a whole number of tokens from 0 to {_MOST_TOKENS}", kind="type")
    from language.models.budget import Usage

    before = ctx.llm_limits
    try:
        ctx.llm_limits = (*before, Usage(tokens, help="llm_limit sets the limit of this task: give it more, or ask less."))
        return callback(task, 0)()
    finally:
        ctx.llm_limits = before


@family.builtin("time_limit(secs, task)", context=True)
def time_limit(ctx: Context, secs: Any, task: Any) -> Any:
    """The result of `task()`, if it ends within `secs` seconds (more than 0, at most seven days; fractions count). Otherwise it
    is stopped where it is, and the error is `time_limit: not done within 2 seconds`.

    What the task has done until then stays done. It is stopped while it computes or waits: for the network, a process, a
    person, a lock, `sleep`.

    `time_limit(2.5, () => fetch(url))`
    """
    if not is_callable(task):
        raise RuntimeFault(f"time_limit expects a task, got {type_of(task)}", kind="type")
    seconds = _seconds(secs)
    if seconds is None or not 0 < seconds <= _LONGEST_LIMIT:
        shown = "" if seconds is None else f" from more than 0 to {_LONGEST_LIMIT:.0f}"
        raise RuntimeFault(f"time_limit expects a number of seconds{shown}, got {type_of(secs)}", kind="type")
    from language.runtime.threads import WorkerEnded, run_until

    run = callback(task, 0)
    results: list[Any] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            results.append(run())
        except (Exception, Uncatchable) as failure:
            # Raised again in the caller's thread, where `recover`, loops and limits handle it.
            failures.append(failure)

    try:
        run_until(work, seconds)
    except RuntimeFault:
        raise _no_threads() from None
    if results:
        return results[0]
    if failures and not isinstance(failures[0], WorkerEnded):
        raise failures[0]
    raise RuntimeFault(f"time_limit: not done within {_shown(seconds)}", kind="timeout")


def _no_threads() -> RuntimeFault:
    from stdlib.native_only import native_only

    return native_only("time_limit", "this build has no threads")


def _text(failure: Exception) -> str:
    from language.runtime.intrinsics import caught

    trace, context = failure.__traceback__, failure.__context__
    try:
        return caught(failure)
    finally:
        failure.__traceback__, failure.__context__ = trace, context


def _share(ctx: Context) -> float:
    """A random number from 0.5 to 1."""
    return 0.5 + int.from_bytes(ctx.host.random_bytes(2), "big") / 131070


def _seconds(value: Any) -> float | None:
    if is_decimal(value):
        return float(value.to_float())
    if type(value) is float:
        return value
    return float(value) if type(value) is int and value.bit_length() < 64 else None


def _number(builtin: str, options: dict[str, Any], name: str, default: float, least: float, most: float) -> float:
    """A numeric option within its bounds. Raises ``RuntimeFault`` that names the option."""
    if name not in options:
        return default
    number = _seconds(options[name])
    if number is None or not least <= number <= most:
        raise RuntimeFault(
            f'{builtin}: option "{name}" must be a number from {least:g} to {most:g}, got {type_of(options[name])}'
        )
    return number


def _shown(seconds: float) -> str:
    return f"{seconds:g} second" + ("" if seconds == 1 else "s")
