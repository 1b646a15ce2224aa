"""Schedules the analysis of packages: one at a time for each account, few at a time in all."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from platform_api.forking.client import ForkServer
from platform_api.packages.analysis import PATIENCE, PROCESSOR_SECONDS, TOO_MUCH, Request
from platform_api.packages.package import Inspection, PackageFile
from platform_api.refusals import Refusal
from platform_api.turns import Turns

#: The most simultaneous analyses of all accounts.
_AT_A_TIME = 4
#: The most analyses of one account that run or wait.
_WAITING = 8
_ANALYSIS = ForkServer("platform_api.packages.analysis", PATIENCE)
#: Processor time, memory, patience.
_TOO_MUCH_SIGNALS = (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM)


class Analyst:
    """Gives inspections. One for the service."""

    def __init__(self) -> None:
        refusal = "Other packages of this account are still being analysed."
        self._turns = Turns("analysis", _AT_A_TIME, _WAITING, refusal, PROCESSOR_SECONDS)

    async def analyse(
        self,
        account_id: str,
        files: Sequence[PackageFile],
        entry: str | None,
        kind: str | None,
        source: bytes | None = None,
    ) -> Inspection:
        """What a program declares and needs.

        Args:
            entry: the entry file; ``None`` takes it from the manifest or from the names of the files.
            kind: ``web``, ``worker`` or ``job``; ``None`` takes it from the manifest or from the program.
            source: a text that replaces the entry file.

        Errors: ``validation`` with ``details.errors`` for a program with faults, and for one that takes too long or too much
        memory to analyse; ``rate_limited`` when too many analyses of the account wait.
        """
        request = Request({file.path: file.content for file in files}, entry, kind, source)
        return await self._turns.take(account_id, lambda: _analyse(request))

    def close(self) -> None:
        """Analyses nothing more."""
        self._turns.close()


def _analyse(request: Request) -> Inspection:
    code, answer = _ANALYSIS.ask(msgspec.msgpack.encode(request))
    if code in _TOO_MUCH_SIGNALS or (code and b"MemoryError" in answer[-200:]):
        raise Refusal("validation", TOO_MUCH, field="files")
    if code != 0:
        raise RuntimeError(f"the analysis of a package ended with {code}: {answer[-4000:].decode('utf-8', 'replace')}")
    result: Mapping[str, Any] = json.loads(answer)
    if fault := result.get("fault"):
        errors = fault.get("errors")
        raise Refusal(
            "validation", fault["message"], field=fault.get("field"), details=None if errors is None else {"errors": errors}
        )
    return Inspection.from_json(result["inspection"])
