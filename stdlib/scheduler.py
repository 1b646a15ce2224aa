"""Jobs at fixed delays and at times of day."""

from __future__ import annotations

from types import FunctionType

from language.errors import FILE_MARK, ExitProgram, InternalError, LanguageError, LimitExceeded, RuntimeFault
from language.registry import Family
from language.values import is_callable, to_bool, type_of
from language.values.display import display, number_text
from language.values.operators import is_decimal, to_float
from stdlib.native_only import native_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.runtime.context import Context
    from language.runtime.jobs import Scheduler
    from language.values import Bool

family = Family("scheduler", "Scheduled jobs")


@family.builtin("cron_every(when, task, options?)", profile="native", context=True, names_tasks=True)
def cron_every(ctx: Context, when: Any, task: Any, options: Any = None) -> str:
    """Runs a task repeatedly and gives the name of the job, which is that of the task.

    `when` is a number of seconds from the end of one run to the start of the next, or a time of the wall clock as five fields
    `minute hour day month weekday`: `*`, `5`, `1-5`, `*/15`, `8-18/2`, several with commas, `jan`..`dec`, `sun`..`sat`; or
    `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. If day and weekday are both restricted, one of them suffices.
    `{"tz": "America/Santiago"}` or `{"tz": "+02:00"}` sets the time zone (UTC without it). When clocks are set forward, a
    skipped time runs right after the gap; when they are set back, a time that occurs twice runs once. A job with `*` in minute
    or hour follows real time.

    The task is one defined at top level, or its name as text, without required parameters. A job never overlaps itself; times
    that pass while it runs are skipped. Every run has its own copy of the program's variables. A failed run is logged, and the
    job continues. Registering a name again replaces the job. Under `lang run` jobs end with the program, under `lang serve`
    they begin once the port is bound, under `lang test` they are registered and never run.

    `cron_every(300, refresh)`; `cron_every("30 8 * * mon-fri", report, {"tz": "Europe/Berlin"})`
    """
    scheduler = _scheduler(ctx, "cron_every")
    from language.runtime.jobs import Job

    seconds = _seconds(when)
    if seconds is None:
        if type(when) is not str:
            raise RuntimeFault(
                f"cron_every: the first argument is a number of seconds or an expression, got {type_of(when)}", kind="type"
            )
        from language.calendar.cron_expression import parse

        try:
            expression = parse(when)
        except ValueError as error:
            raise RuntimeFault(f"cron_every: {error}") from None
        zone = _zone(options)
        found = _task(ctx, "cron_every", task)
        job = Job(
            _name(found),
            when,
            _runner(ctx, found),
            lambda now: float(expression.next_after(now, zone)),
            first=float(expression.next_after(ctx.host.now(), zone)),
            tz=zone.name,
        )
    else:
        if options is not None:
            raise RuntimeFault("cron_every: options go with an expression, not with an interval")
        if not 0 < seconds < float("inf"):
            raise RuntimeFault(f"cron_every: the interval must be more than 0 seconds, got {display(when)}")
        found = _task(ctx, "cron_every", task)
        job = Job(
            _name(found),
            f"every {number_text(seconds)}s",
            _runner(ctx, found),
            lambda now: now + seconds,
            first=ctx.host.now() + seconds,
            interval=seconds,
        )
    scheduler.add(job)
    return job.name


@family.builtin("cron_after(seconds, task)", profile="native", context=True, names_tasks=True)
def cron_after(ctx: Context, seconds: Any, task: Any) -> str:
    """Runs a task once, `seconds` (at least 0) from now, and gives the name of the job; see `cron_every`.

    `cron_after(60, remind)`
    """
    scheduler = _scheduler(ctx, "cron_after")
    from language.runtime.jobs import Job

    delay = _seconds(seconds)
    if delay is None:
        raise RuntimeFault(f"cron_after: the first argument is a number of seconds, got {_got(seconds)}")
    if not 0 <= delay < float("inf"):
        raise RuntimeFault(f"cron_after: the delay must be 0 seconds or more, got {display(seconds)}")
    found = _task(ctx, "cron_after", task)
    job = Job(
        _name(found),
        f"after {number_text(delay)}s",
        _runner(ctx, found),
        lambda now: None,
        first=ctx.host.now() + delay,
        repeating=False,
    )
    scheduler.add(job)
    return job.name


@family.builtin("cron_cancel(name)", profile="native", context=True)
def cron_cancel(ctx: Context, name: Any) -> Bool:
    """Removes a job, given by its name or its task. Gives whether it was active. A run that has begun is not
    interrupted.
    """
    scheduler = _scheduler(ctx, "cron_cancel")
    return to_bool(scheduler.cancel(_name(name) if type(name) is FunctionType else display(name)))


@family.builtin("cron_list()", profile="native", context=True)
def cron_list(ctx: Context) -> list[Any]:
    """The jobs in the order of their registration, each `{name, schedule, interval, repeating, active, run_count, errors,
    next_run, tz}`: `interval` in seconds for a fixed delay, `next_run` in Unix seconds, `nothing` while it runs and when it is
    over, `tz` for expressions. `run_count` counts the runs that succeeded.
    """
    return [
        {
            "name": job.name,
            "schedule": job.schedule,
            "interval": job.interval,
            "repeating": to_bool(job.repeating),
            "active": to_bool(job.active),
            "run_count": job.run_count,
            "errors": job.errors,
            "next_run": job.next_run,
            "tz": job.tz,
        }
        for job in _scheduler(ctx, "cron_list").jobs
    ]


@family.builtin("cron_status()", profile="native", context=True)
def cron_status(ctx: Context) -> str:
    """The jobs as text for people, one per line."""
    from stdlib.time_format import format_time

    jobs = _scheduler(ctx, "cron_status").jobs
    if not jobs:
        return "No scheduled tasks."
    lines = [f"Scheduled Tasks ({len(jobs)}):"]
    for job in jobs:
        state = "active" if job.active else "done"
        when = "once" if not job.repeating else job.schedule if job.tz is None else f"at '{job.schedule}' ({job.tz})"
        due = job.next_run
        moment = f"next {format_time(due)}" if due is not None else "running" if job.active else "over"
        lines.append(f"  [{state}] {job.name}: {when}, {moment}, runs: {job.run_count}, errors: {job.errors}")
    return "\n".join(lines)


def scheduler_of(ctx: Context) -> Scheduler:
    """The scheduler of the program's jobs. A server starts and stops them. In a run each starts at once, and all stop at its
    end.
    """
    from language.runtime.jobs import Scheduler

    root = ctx.root

    def make() -> Scheduler:
        made = Scheduler(root.host.now)
        if root.mode not in ("serve", "test"):
            made.start()
        root.lifetime.at_end(made.stop)
        return made

    return root.services.scheduler(make)


# ---- parts -------------------------------------------------------------------------------------------------------------


def _scheduler(ctx: Context, builtin: str) -> Scheduler:
    if not ctx.host.runs_jobs:
        raise native_only(builtin, "this build has no scheduler threads")
    return scheduler_of(ctx)


def _seconds(value: Any) -> float | None:
    """A number, or a text that writes one; ``None`` for anything else."""
    if type(value) is int or type(value) is float:
        return to_float(value)
    if is_decimal(value):
        return value.to_float()  # type: ignore[no-any-return]
    if type(value) is str:
        from language.values.numerals import clean_number

        cleaned = clean_number(value.strip())
        return None if cleaned is None else float(cleaned)
    return None


def _got(value: Any) -> str:
    return display(value) if type(value) is str else type_of(value)


def _zone(options: Any) -> Any:
    from language.calendar.zones import UTC, zone_of
    from stdlib.options import option_map

    name = option_map("cron_every", options, ("tz",)).get("tz")
    if name is None:
        return UTC
    if type(name) is not str:
        raise RuntimeFault(f'cron_every: option "tz" must be text, got {type_of(name)}', kind="type")
    return zone_of(name)


def _task(ctx: Context, builtin: str, task: Any) -> FunctionType:
    """The task that is given, itself or by name. Raises ``RuntimeFault`` for one that cannot be a job."""
    found = _named(ctx, task) if type(task) is str else task
    if found is None:
        raise RuntimeFault(f'{builtin}: unknown task "{task}"', kind="name")
    if not is_callable(found):
        raise RuntimeFault(
            f"{builtin}: a job is a task defined at top level, or its name as text, got {type_of(found)}", kind="type"
        )
    code = getattr(found, "__code__", None)
    if (
        type(found) is not FunctionType
        or code is None
        or FILE_MARK not in found.__globals__
        or code.co_name.startswith(("<lambda>", "type:", "variant:"))
        or code.co_qualname.count("<locals>") > 1
    ):
        raise RuntimeFault(f"{builtin}: a job is a task defined at top level: not a lambda, a builtin or a task inside a task")
    if code.co_argcount > len(found.__defaults__ or ()):
        raise RuntimeFault(f"{builtin}: task '{_name(found)}' has required parameters: a job is called without arguments")
    return found


def _named(ctx: Context, name: str) -> Any:
    cell = None if ctx.instance is None else ctx.instance.globals.get(name)
    try:
        value = None if cell is None else cell.cell_contents
    except ValueError:
        return None  # not bound yet
    return value if type(value) is FunctionType else None


def _name(task: FunctionType) -> str:
    from language.runtime.calls import source_name

    return source_name(task.__code__.co_name)


def _runner(ctx: Context, task: FunctionType) -> Callable[[], bool]:
    """Runs the task once, isolated, and returns whether it succeeded.

    It has the program's capabilities, within the sandbox of the current block.
    """
    root = ctx.root
    name = _name(task)
    registered = ctx.capabilities.fork(f"cron:{name}")

    def run() -> bool:
        from language.runtime.calls import callback
        from language.runtime.context import Lifetime
        from language.runtime.isolation import isolate

        job = root.fork()
        job.capabilities = registered.fork(f"cron:{name}")
        job.capabilities.grants = list(root.capabilities.grants)
        job.lifetime = Lifetime()
        job.lines = root.lines
        try:
            instance = root.instance
            assert instance is not None
            instance.guarded(callback(isolate(task, job), 0))
        except (LanguageError, LimitExceeded, InternalError) as failure:
            from language.console_text import one_line

            message = failure.message if isinstance(failure, LanguageError) else str(failure)
            root.host.write_notice(f"[serve] [cron] job '{name}' failed: {one_line(message)}")
            return False
        except ExitProgram:
            root.host.write_notice(f"[serve] [cron] job '{name}' failed: exit() cannot be called in a job")
            return False
        finally:
            job.lifetime.end()
        return True

    return run
