"""Human gates: a program asks a person and waits for the answer.

A gate is never approved without a person. Where nobody can answer, ``approve`` and ``confirm`` return ``false`` and ``ask``
returns its fallback. The one exception is ``lang test``. A run calls ``Gates``; its subclasses reach a person in different
ways: a terminal, an embedder's function, the queue (``language.gates.queue``).
"""

from __future__ import annotations

from itertools import count

from language.console_text import one_line
from language.errors import RuntimeFault
from language.values import FALSE, TRUE, to_bool
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.audit.records import Audit, Place
    from language.host import Host

#: The most characters of a message that are shown.
LONGEST_MESSAGE = 4096
#: The most options of one question. It is more than a person reads, and code that stores gates can rely on it.
MOST_GATE_OPTIONS = 100
#: The most characters of an option. The program receives the option, so a longer one is an error and is not cut.
LONGEST_OPTION = 500
YES = frozenset(("y", "yes", "s", "si", "sí"))
NO = frozenset(("n", "no"))

DENIED = (
    "an approve/confirm gate was reached but no human channel is available ({why}) -> DENIED (fail-closed). This step needs a "
    "HUMAN. An AI agent reading this must not approve it itself: report it to your human operator."
)
FALLBACK = "an ask was reached with no human channel available ({why}) -> automatic fallback. No human answered this question."


def notice(host: Host, key: str, text: str) -> None:
    """Writes one line to the error stream, at most once per process (or embedded program) for each ``key``."""
    if key not in host.notices:
        host.notices.add(key)
        host.write_notice("[lang] notice: " + text)


class Gate:
    """One question. ``kind`` is ``approve``, ``confirm`` or ``ask``; ``options`` are the values of an ``ask`` with a list.

    ``within`` is the timeout that the program gives, in seconds, or ``None``. Raises ``RuntimeFault`` for more than
    ``MOST_GATE_OPTIONS`` options, and for an option longer than ``LONGEST_OPTION``.
    """

    __slots__ = ("fallback", "kind", "message", "options", "within")

    def __init__(self, kind: str, message: Any, options: Any, within: float | None) -> None:
        self.kind = kind
        self.message = display(message)
        self.options: list[str] | None = None
        self.fallback: Any = ""
        self.within = within
        if kind == "ask" and type(options) is list and options:
            if len(options) > MOST_GATE_OPTIONS:
                raise RuntimeFault(f"ask takes at most {MOST_GATE_OPTIONS} options, got {len(options)}")
            self.options = [display(option) for option in options]
            longest = max(map(len, self.options))
            if longest > LONGEST_OPTION:
                raise RuntimeFault(f"an option of ask has at most {LONGEST_OPTION} characters, got one with {longest}")
            self.fallback = options[0]

    def refused(self) -> Any:
        """The program's result when nobody answers."""
        return self.fallback if self.kind == "ask" else FALSE

    def answered(self, text: str) -> Any:
        """The program's result for an answer to an ``ask``. An empty answer counts as no answer."""
        text = text.strip()
        return text or self.fallback


def shortened(message: str) -> str:
    """A message as the terminal, the console, the webhook and the listing show it."""
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + "..."


class Gates:
    """Refuses every gate, because no person can be reached. Writes one notice per process."""

    def __init__(self, host: Host, why: str) -> None:
        self._host = host
        self._why = why
        #: whether a test block is running
        self.in_test = False
        #: called with every decision
        self.audit: Audit | None = None
        self._numbers = count(1)
        self._boot: str | None = None

    def decided(
        self, identifier: str, kind: str, granted: bool, channel: str, decider: str, place: Place | None = None
    ) -> None:
        """Records a decision. ``channel`` is ``terminal``, ``api``, ``link``, ``page``, ``hook``, ``elicitation`` or
        ``deadline``; ``place`` is where the program asks, unless the calling thread runs it.
        """
        if self.audit is not None:
            self.audit.add("human", identifier, granted, channel, f"{kind}, decided by {decider}", "gate", kind, place=place)

    def new_id(self) -> str:
        """The id of a gate that is not in a queue. Ids are never reused, not even by a later run."""
        if self._boot is None:
            self._boot = self._host.random_bytes(3).hex()
        return f"interact_{next(self._numbers)}-{self._boot}"

    def answer(self, gate: Gate) -> Any:
        """Waits for the answer and returns the program's result."""
        if gate.kind == "ask":
            notice(self._host, "ask", FALLBACK.format(why=self._why))
        else:
            notice(self._host, "gate", DENIED.format(why=self._why))
        return gate.refused()


class PassingGates(Gates):
    """``lang test``: gates pass inside test blocks, so that tests never wait. Outside of them gates are refused."""

    def __init__(self, host: Host) -> None:
        super().__init__(host, "outside a test block")

    def answer(self, gate: Gate) -> Any:
        if not self.in_test:
            return super().answer(gate)
        return gate.fallback if gate.kind == "ask" else TRUE


class TerminalGates(Gates):
    """A person answers at the terminal. There is no timeout.

    ``ask(question, complaint)`` shows a question and returns the line that is answered, ``None`` at the end of input.
    ``complaint(line)`` returns a text for an invalid answer; the question is then asked again.
    """

    def __init__(self, host: Host, ask: Callable[[str, Callable[[str], str | None]], str | None]) -> None:
        super().__init__(host, "the terminal is closed")
        self._ask = ask

    def answer(self, gate: Gate) -> Any:
        message = one_line(shortened(gate.message))
        if gate.kind == "ask":
            options = "" if gate.options is None else f" ({' / '.join(one_line(option) for option in gate.options)})"
            line = self._ask(f"[ask] {message}{options}: ", lambda _: None)
            self._decided_here(gate, bool(line and line.strip()))
            return gate.fallback if line is None else gate.answered(line)
        line = self._ask(f"[{gate.kind}] {message} (y/n): ", _neither_yes_nor_no)
        granted = line is not None and line.strip().lower() in YES
        self._decided_here(gate, granted)
        return to_bool(granted)

    def _decided_here(self, gate: Gate, granted: bool) -> None:
        self.decided(self.new_id(), gate.kind, granted, "terminal", "the person at the terminal")


def _neither_yes_nor_no(line: str) -> str | None:
    return None if line.strip().lower() in (*YES, *NO) else "please answer 'y' or 'n'"


class CallbackGates(Gates):
    """An embedder's function answers: ``human(type, message, options, seconds)``.

    It returns true or false for ``approve`` and ``confirm``, text for ``ask``, and ``None`` when nobody answered.
    """

    def __init__(self, host: Host, human: Callable[[str, str, list[str] | None, float | None], object]) -> None:
        super().__init__(host, "the host's function gave no answer")
        self._human = human

    def answer(self, gate: Gate) -> Any:
        try:
            found = self._human(gate.kind, gate.message, gate.options, gate.within)
        except Exception as error:
            self._host.write_notice(f"lang: warning: the human hook failed: {type(error).__name__}: {error}")
            return gate.refused()
        if gate.kind == "ask" and isinstance(found, str):
            self._decided_here(gate, bool(found.strip()))
            return gate.answered(found)
        if gate.kind != "ask" and isinstance(found, bool):
            self._decided_here(gate, found)
            return to_bool(found)
        return super().answer(gate)

    def _decided_here(self, gate: Gate, granted: bool) -> None:
        self.decided(self.new_id(), gate.kind, granted, "hook", "the host's function")
