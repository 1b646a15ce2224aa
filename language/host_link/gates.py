"""The gates of a program under a runner: queued, reported over the link, decided there or by the routes of a service."""

from __future__ import annotations

from language.console_text import one_line
from language.gates.queue import DEFAULT_SECONDS, GateQueue
from language.host_link.messages import GateAsked, GateEnded
from language.shared.gate_board import DECIDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from language.host import Host
    from language.host_link.client import HostLink
    from language.shared.gate_board import GateRecord
    from language.shared.store import GateBoard


class LinkedGates(GateQueue):
    """A gate queue whose tokens are sent to the runner only; the line on the console contains none."""

    def __init__(
        self,
        link: HostLink,
        host: Host,
        settings: Mapping[str, str],
        *,
        seconds: float = DEFAULT_SECONDS,
        board: GateBoard | None = None,
        program: str = "",
    ) -> None:
        super().__init__(host, settings, seconds=seconds, board=board, program=program)
        self._link = link
        #: the page of the platform where people decide these gates; empty where there is none
        self.approvals_url = ""
        link.on_decide = self._decide_over_link

    def page(self, record: GateRecord, token: str) -> str:
        """The URL of the gate on the platform's page, where people sign in. It contains no token, because tokens are for the
        runner only. Empty if the runner names no such page.
        """
        return f"{self.approvals_url}#gate-{record.id}" if self.approvals_url else ""

    def _announce(self, record: GateRecord, token: str) -> None:
        seconds = self.seconds_left(record)
        left = int(-(-seconds // 1))
        message = one_line(record.message)
        self._host.write_error_line(f'[lang] approval pending {record.id} "{message}" (expires in {left}s)')
        options = None if record.options is None else tuple(record.options)
        asked = GateAsked(record.id, record.kind, record.message, record.expires_at, token, options, int(1000 * seconds))
        self._link.gate_asked(asked)

    def _ended(self, identifier: str, outcome: str, channel: str, value: str | None) -> None:
        self._link.gate_ended(GateEnded(identifier, outcome, channel, value))

    def _decide_over_link(self, gate: str, token: str, decision: bool | None, value: str | None) -> str:
        outcome = self.decide(gate, token, decision=decision, value=value, channel="api", decider="the platform")
        return "" if outcome == DECIDED else outcome
