"""Schedules: a cron expression in UTC, its next time, and its meaning in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from language.calendar.cron_expression import CronExpression, parse
from language.calendar.gregorian import MONTHS, WEEKDAYS

#: The most times of a day that are listed one by one.
MOST_TIMES = 6


class _Universal:
    """The time zone UTC."""

    def offset(self, moment: int) -> int:
        return 0

    def moment(self, shown: int) -> int:
        return shown


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a job runs: five cron fields in UTC, or ``@hourly``, ``@daily``, ``@weekly``, ``@monthly`` or ``@yearly``.

    ``text`` is the schedule as it was given, without spaces around it. Made by :meth:`parse`.
    """

    text: str
    _expression: CronExpression = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Parses a schedule.

        The fields are minute, hour, day, month and weekday (0 to 7 or names, 0 and 7 are Sunday). Each is ``*``, a number, a
        range ``1-5``, one with a step ``*/15`` or ``8-18/2``, or several of them separated by commas. Where day and weekday
        are both restricted, a day need match only one of them. Raises ``ValueError`` with a sentence for anything else and
        for a schedule that never holds (``0 0 30 2 *``); ``TypeError`` for a value that is no text.
        """
        if not isinstance(text, str):
            raise TypeError(f"a schedule is text, not {type(text).__name__}")
        given = text.strip()
        return cls(given, parse(given))

    def next(self, after: datetime) -> datetime:
        """The first whole minute after ``after`` at which the schedule holds, in UTC.

        ``after`` must have a time zone, else ``ValueError``. There is always one within eight years. Raises
        ``OverflowError`` where it lies beyond the year 9999.
        """
        if after.tzinfo is None:
            raise ValueError("the time needs a time zone: datetime.now(UTC)")
        return datetime.fromtimestamp(self._expression.next_after(after.timestamp(), _Universal()), UTC)

    @property
    def means(self) -> str:
        """The schedule as an English sentence: ``At 08:30 UTC, Monday to Friday.``"""
        return sentence(self._expression)


def sentence(expression: CronExpression) -> str:
    """The meaning of an expression as a sentence."""
    when, clock = _times(expression)
    days = _days(expression)
    parts = [when + " UTC" if clock or days else when, *days]
    return ", ".join(parts)[0].upper() + ", ".join(parts)[1:] + "."


def _times(expression: CronExpression) -> tuple[str, bool]:
    """The times of a day in words, and whether they depend on the hour."""
    minutes, hours = sorted(expression.minutes), sorted(expression.hours)
    whole = len(hours) == 24
    if len(minutes) * len(hours) <= MOST_TIMES:
        return "at " + _listed([f"{hour:02}:{minute:02}" for hour in hours for minute in minutes]), True
    step = 60 // len(minutes)
    if len(minutes) == 60:
        often = "every minute"
    elif len(minutes) > 1 and minutes == list(range(0, 60, step)):
        often = f"every {step} minutes"
    elif minutes == [0] and whole:
        return "every hour, on the hour", False
    else:
        often = f"at {_counted('minute', minutes)} of every hour" if whole else f"at {_counted('minute', minutes)}"
    if whole:
        return often, False
    between = 24 // len(hours)
    if hours == list(range(0, 24, between)):
        return f"{often} of every {_ordinal(between)} hour from 00:00", True
    return f"{often} of {_counted('hour', hours)}", True


def _days(expression: CronExpression) -> list[str]:
    by_day, by_weekday = len(expression.days) < 31, len(expression.weekdays) < 7
    parts = []
    # In words, weeks begin on Monday.
    named = _runs([(weekday - 1) % 7 for weekday in expression.weekdays], lambda number: WEEKDAYS[number])
    if by_day:
        on = f"on {_counted('day', sorted(expression.days))} of the month"
        parts.append(f"{on} and on every {named}" if by_weekday else on)
    elif by_weekday:
        parts.append(named)
    if len(expression.months) < 12:
        parts.append("in " + _runs(expression.months, lambda number: MONTHS[number - 1]))
    return parts


def _counted(noun: str, numbers: list[int]) -> str:
    return f"{noun}{'s' if len(numbers) > 1 else ''} {_runs(numbers, str)}"


def _runs(numbers: Iterable[int], name: Callable[[int], str]) -> str:
    """Numbers by their names; three or more consecutive ones as ``first to last``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = []
    for run in runs:
        said += [f"{name(run[0])} to {name(run[-1])}"] if len(run) > 2 else [name(number) for number in run]
    return _listed(said)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _ordinal(number: int) -> str:
    return f"{number}{ {2: 'nd', 3: 'rd'}.get(number, 'th') }"
