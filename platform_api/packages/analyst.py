"""Has packages analysed in processes of their own: one at a time an account, few at a time in all."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from platform_api.packages.analysis import PROCESSOR_SECONDS, TOO_MUCH, Request
from platform_api.packages.analysis_process import ANALYSIS
from platform_api.packages.package import Inspection, PackageFile
from platform_api.refusals import Refusal

#: Analyses at a time, of all accounts together.
_AT_A_TIME = 4
#: Analyses of one account that may wait.
_WAITING = 8
#: Processor time, memory, patience.
_TOO_MUCH_SIGNALS = (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM)


class Analyst:
    """Gives inspections. One for the service."""

    def __init__(self) -> None:
        self._accounts: dict[str, tuple[asyncio.Lock, list[None]]] = {}
        self._places = asyncio.Semaphore(_AT_A_TIME)

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
            entry: the entry file; ``None`` leaves it to the manifest and to the names of the files.
            kind: ``web``, ``worker`` or ``job``; ``None`` leaves it to the manifest and to the program.
            source: a text that takes the place of the entry file.

        Errors: ``validation`` with ``details.errors`` for a program with faults, and for one that takes too long or too much
        memory to analyse; ``rate_limited`` when too many analyses of the account wait.
        """
        lock, waiting = self._accounts.setdefault(account_id, (asyncio.Lock(), []))
        if len(waiting) >= _WAITING:
            raise Refusal(
                "rate_limited", "Other packages of this account are still being analysed.", retry_after=PROCESSOR_SECONDS
            )
        waiting.append(None)
        try:
            async with lock, self._places:
                request = Request({file.path: file.content for file in files}, entry, kind, source)
                return await asyncio.to_thread(_analyse, request)
        finally:
            waiting.pop()
            if not waiting:
                self._accounts.pop(account_id, None)


def _analyse(request: Request) -> Inspection:
    code, answer = ANALYSIS.ask(msgspec.msgpack.encode(request))
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
