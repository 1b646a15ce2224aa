"""The progress of an agent's tasks, kept in its memory, so that a later run can continue where an earlier one stopped.

Gate: ``memory``, as for ``remember``.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host import progress
from language.host.memory import MAIN
from language.registry import Family
from language.values import TRUE, type_of
from language.values.display import quote, raw_text
from stdlib.memory import declared_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.host.memory import MemoryStore
    from language.host.progress import Step
    from language.runtime.context import Context
    from language.values import Bool

family = Family("progress", "Progress")


@family.builtin("create_progress(task, steps)", capability="memory", context=True)
def create_progress(ctx: Context, task: Any, steps: Any) -> str:
    """Begins to track the steps of a task, a list of texts, and gives the name of the task. A task that is already tracked and
    not finished is left unchanged; a finished one starts again.

    `create_progress("sync", ["fetch", "check", "send"])`
    """
    store = declared_store(ctx)
    if type(steps) is not list:
        raise RuntimeFault(f"create_progress: steps must be a list of texts, got {type_of(steps)}", kind="type")
    names: dict[str, None] = {}
    for step in steps:
        name = raw_text(step)
        if name in names:
            raise RuntimeFault(f"create_progress: the step {quote(name)} is there twice: give each step a name of its own")
        names[name] = None
    title = raw_text(task)
    store.create_progress(title, list(names), MAIN, ctx.host.now())
    ctx.services.progress = title
    return title


@family.builtin("start_step(task, step)", capability="memory", context=True)
def start_step(ctx: Context, task: Any, step: Any) -> Bool:
    """Marks a step as begun. Steps may be started in any order and more than once.

    `start_step("sync", "fetch")`
    """
    store = declared_store(ctx)
    now = ctx.host.now()
    _change(ctx, store, task, step, lambda kept: kept.start(now))
    return TRUE


@family.builtin("complete_step(task, step, result?)", capability="memory", context=True)
def complete_step(ctx: Context, task: Any, step: Any, result: Any = None) -> Bool:
    """Marks a step as done, with a result as text.

    `complete_step("sync", "fetch", "12 rows")`
    """
    store = declared_store(ctx)
    now, text = ctx.host.now(), _text(result)
    _change(ctx, store, task, step, lambda kept: kept.complete(now, text))
    return TRUE


@family.builtin("fail_step(task, step, error?)", capability="memory", context=True)
def fail_step(ctx: Context, task: Any, step: Any, error: Any = None) -> Bool:
    """Marks a step as failed, with the error as text. `resume_point` then gives this step.

    `fail_step("sync", "check", "bad row")`
    """
    store = declared_store(ctx)
    now, text = ctx.host.now(), _text(error)
    _change(ctx, store, task, step, lambda kept: kept.fail(now, text))
    return TRUE


@family.builtin("resume_point(task)", capability="memory", context=True)
def resume_point(ctx: Context, task: Any) -> str | None:
    """The step to continue with: the first one that was started or failed, else the first one that was not started; `nothing`
    when the task is finished or not tracked.

    `resume_point("sync")`
    """
    steps = declared_store(ctx).steps(raw_text(task))
    return None if steps is None else progress.resume_point(steps)


@family.builtin("progress_percent(task)", capability="memory", context=True)
def progress_percent(ctx: Context, task: Any) -> int | float:
    """The percentage of steps that are done, 0 to 100; 100 for a task without steps, 0 for one that is not tracked.

    `progress_percent("sync")`
    """
    steps = declared_store(ctx).steps(raw_text(task))
    return 0 if steps is None else progress.percent(steps)


@family.builtin("progress_display(task)", capability="memory", context=True)
def progress_display(ctx: Context, task: Any) -> str:
    """A task and its steps as text, one on each line, with the duration and the result of each.

    `print(progress_display("sync"))`
    """
    store = declared_store(ctx)
    name = raw_text(task)
    steps = store.steps(name)
    return f"No progress for '{name}'" if steps is None else progress.display(name, steps)


# ---- parts -------------------------------------------------------------------------------------------------------------


def _change(ctx: Context, store: MemoryStore, task: Any, step: Any, change: Callable[[Step], None]) -> None:
    title = raw_text(task)
    store.change_step(title, raw_text(step), change)
    ctx.services.progress = title


def _text(value: Any) -> str | None:
    return None if value is None else raw_text(value)
