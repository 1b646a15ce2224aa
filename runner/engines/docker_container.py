"""One container: its end, its output, what it takes."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.engines import END_UNKNOWN, GRACE, Exit, Line, Position, Program, Usage
from runner.engines import process_tree as tree
from runner.engines.docker_api import DockerApi, DockerFault
from runner.engines.docker_logs import Reader, StreamBroken, lines_of, newest_of, since
from runner.engines.volumes import MEGABYTE, measure

#: Seconds between two measurements of the volume; one that takes long to measure is measured less often, by this factor.
LOOK_SECONDS, LOOK_FACTOR = 1.0, 20.0
#: Seconds until a daemon that does not answer is asked again.
AGAIN_SECONDS = 1.0
#: How often the output of a program that has ended is asked for again where its newest line is missing.
TRIES = 5
SIGNALLED = 128


class Container:
    """A start of the engine ``docker``.

    Arguments:
        volume: where the daemon keeps the files of the volume; ``None`` for a program that has none, or has it in the
            container's memory, which is bounded.
        forget: called when it has been removed.
    """

    def __init__(
        self,
        api: DockerApi,
        program: Program,
        container: str,
        volume: Path | None,
        forget: Callable[[], object],
        *,
        paused: bool,
    ) -> None:
        self.program = program
        self.paused = paused
        self._api = api
        self._path = f"/containers/{container}"
        self._volume = volume
        self._forget = forget
        self._reason = ""
        self._volume_bytes = 0
        self._cpu_seconds = 0.0
        self._first: int | None = None
        #: the runner has no more use for its output
        self._unwanted = False
        self._watching = asyncio.create_task(self._watch())
        self._ended = asyncio.create_task(self._end())

    async def _inspect(self) -> dict[str, Any]:
        found: dict[str, Any] = await self._api.ask("GET", f"{self._path}/json")
        return found

    async def _end(self) -> Exit:
        """Waits for the end, over restarts of the daemon."""
        while True:
            try:
                await self._api.ask("POST", f"{self._path}/wait", seconds=None)
                state = (await self._inspect())["State"]
                if state["Status"] in ("exited", "dead"):
                    break
            except DockerFault as fault:
                if fault.status == 404:
                    self._watching.cancel()
                    return Exit(None, self._reason or "killed")
            await asyncio.sleep(AGAIN_SECONDS)
        self._watching.cancel()
        code = int(state["ExitCode"])
        reason = self._reason
        if not reason and code != 0:
            reason = "memory" if state["OOMKilled"] else "killed" if code == SIGNALLED + signal.SIGKILL else ""
        if reason == "memory" and await self._is_full():
            reason = "disk"  # under control groups v1 what waits to be written counts as memory
        return Exit(code, reason)

    async def _is_full(self) -> bool:
        """Whether the volume holds more than it may. Not known, it does not."""
        with suppress(DockerFault, OSError):
            self._volume_bytes = await self._measured()
        return self._volume_bytes > self.program.disk_mb * MEGABYTE

    async def _watch(self) -> None:
        """Ends the program where its volume is full."""
        while True:
            began = time.monotonic()
            with suppress(DockerFault, OSError):  # the daemon is away, or the runner has no descriptor left: it looks again
                if await self._is_full():
                    await self.end("disk")
            await asyncio.sleep(max(LOOK_SECONDS, (time.monotonic() - began) * LOOK_FACTOR))

    async def _measured(self) -> int:
        volume = self._volume
        if volume is None:
            return 0
        if not os.access(volume, os.R_OK | os.X_OK):  # the daemon is asked, which measures all volumes for it
            told = await self._api.ask("GET", "/system/df", type="volume")
            sizes = {volume["Name"]: volume["UsageData"]["Size"] for volume in told.get("Volumes") or ()}
            return int(sizes.get(volume.parent.name, 0))
        if self._first is None:
            self._first = int((await self._inspect())["State"]["Pid"])
        first = self._first
        return await asyncio.to_thread(lambda: measure(volume, tree.descendants(first) if first else ()))

    async def end(self, reason: str) -> None:
        """SIGKILL to everything in it, for a reason; the first one counts."""
        self._reason = self._reason or reason
        await self._signal("SIGKILL")

    async def _signal(self, name: str) -> None:
        if self.paused:
            await self.resume()
        try:
            await self._api.ask("POST", f"{self._path}/kill", signal=name)
        except DockerFault as fault:
            if fault.status not in (404, 409):  # it is gone, or has ended
                raise

    async def wait(self) -> Exit:
        return await asyncio.shield(self._ended)

    async def stop(self, grace: float = GRACE) -> Exit:
        if self._ended.done():
            return self._ended.result()
        self._reason = self._reason or "stopped"
        await self._signal("SIGTERM")
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                return await self.wait()
        await self._signal("SIGKILL")
        return await self.wait()

    async def pause(self) -> None:
        await self._api.ask("POST", f"{self._path}/pause")
        self.paused = True

    async def resume(self) -> None:
        try:
            await self._api.ask("POST", f"{self._path}/unpause")
        except DockerFault as fault:
            if fault.status not in (404, 409) and "not paused" not in fault.reason:
                raise
        self.paused = False

    async def lines(self, after: Position | None) -> AsyncIterator[tuple[Position, Line]]:
        position, reader, left = after, Reader(after), TRIES
        while True:
            over = self._ended.done()
            try:
                query = {"stdout": "1", "stderr": "1", "timestamps": "1", "follow": "0" if over else "1"}
                async with self._api.stream(f"{self._path}/logs", since=since(position), **query) as pieces:
                    async for place, line in lines_of(pieces, reader):
                        yield place, line
                if over:
                    whole = await self._newest() <= reader.newest
                    if whole or left <= 0:
                        for found in reader.rest():
                            yield found
                        if not whole:
                            yield reader.place, _end_unknown()
                        return
                    left -= 1
                    await asyncio.sleep(AGAIN_SECONDS)
            except DockerFault as fault:
                if fault.status == 404:  # somebody has removed it, and its output with it
                    if not self._unwanted:
                        yield reader.place, _end_unknown()
                    return
                await asyncio.sleep(AGAIN_SECONDS)
            except StreamBroken:  # the daemon has put away a file under its own reader: who printed that much loses lines of it
                await asyncio.sleep(AGAIN_SECONDS)
            position = reader.place
            reader = Reader(position, reader)
            # A stream ends with the program, with the daemon, or when the daemon begins a new file: look what is left.
            state = {}
            with suppress(DockerFault):
                state = (await self._inspect())["State"]
            if state.get("Status") in ("exited", "dead"):
                await self.wait()

    async def _newest(self) -> int:
        """When the newest line was printed that the daemon keeps: a stream may end before it, and the daemon says nothing."""
        async with self._api.stream(f"{self._path}/logs", stdout="1", stderr="1", timestamps="1", tail="1") as pieces:
            return await newest_of(pieces)

    async def usage(self) -> Usage:
        memory = 0
        if not self._ended.done():
            with suppress(DockerFault):
                told = await self._api.ask("GET", f"{self._path}/stats?one-shot=1&stream=0")
                used = told.get("memory_stats") or {}
                spare = used.get("stats") or {}
                memory = max(
                    0, int(used.get("usage", 0)) - int(spare.get("total_inactive_file", spare.get("inactive_file", 0)))
                )
                self._cpu_seconds = max(self._cpu_seconds, int(told["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9)
        return Usage(memory // MEGABYTE, self._cpu_seconds, self._volume_bytes // MEGABYTE)

    async def remove(self) -> None:
        self._reason, self._unwanted = self._reason or "killed", True
        try:
            await self._api.ask("DELETE", self._path, force="1")
        except DockerFault as fault:
            if fault.status not in (404, 409):
                raise
        await self.wait()
        await self.leave()

    async def leave(self) -> None:
        """Stops following the container, which keeps running."""
        for task in (self._watching, self._ended):
            task.cancel()
        await asyncio.gather(self._watching, self._ended, return_exceptions=True)
        self._forget()


def _end_unknown() -> Line:
    return Line(time.time_ns() // 1_000_000, "system", END_UNKNOWN)
