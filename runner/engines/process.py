"""The engine ``process``: each start in a sandbox of bubblewrap, as a child of the runner.

No daemon and no image: a program runs on this machine's system and this interpreter, which it sees read-only. It ends when the
runner ends. Without bubblewrap, or where the system refuses user namespaces, programs run unprotected: ``isolation`` says so,
and they must be an administrator's.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import language
from runner.engines import APP, CACHE, DATA, GRACE, LINK, EngineError, Exit, Line, Position, Program, Running, Usage
from runner.engines import process_tree as tree
from runner.engines.cgroups import Group, Groups
from runner.engines.interpreter import compile_words, environment, own_lang, program_words
from runner.engines.output import Output
from runner.engines.spawn import Inside, Spawned, Spawner, end
from runner.engines.volumes import MEGABYTE, Volumes, give, is_there, measure, nearly_full, readable, remove_tree

#: Seconds for compiling a version, and megabytes for that.
COMPILE_SECONDS, COMPILE_MB = 120.0, 1024
#: Seconds between two looks at memory and volume. A volume that takes long to measure is measured less often, by this factor.
LOOK_SECONDS, LOOK_FACTOR = 1.0, 20.0
#: What a shell and a container engine add to the number of the signal that ended a process.
SIGNALLED = 128


class ProcessEngine:
    """See the module.

    Arguments:
        folder: of the runner.
        words: the command inside, where it is not to be the language's.
        grouped: use control groups, where they can be made.

    Attributes:
        unprotected: why there is no sandbox; ``""`` where there is one.

    Raises:
        EngineError: this is not Linux.
    """

    name = "process"
    outlives_runner = False

    def __init__(self, folder: Path, words: Callable[[Program], Sequence[str]] | None = None, *, grouped: bool = True) -> None:
        if sys.platform != "linux":
            raise EngineError("the engine process needs Linux")
        own = folder / "process"
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.volumes = Volumes(own)
        self.remarks = self.volumes.part_users()  # nothing runs yet: programs end with their runner
        self._scratch = own / "scratch"
        remove_tree(self._scratch)  # what a runner that was killed has left
        self._scratch.mkdir(mode=0o700)
        self._spawner = Spawner(own)
        self._groups = Groups(own, wanted=grouped)
        self._words = words
        self._running: dict[str, RunningProcess] = {}
        self.unprotected = self._spawner.unprotected
        self.version = self._spawner.version

    async def isolation(self) -> Mapping[str, bool]:
        sandboxed, grouped = self._spawner.sandboxed, self._groups.available
        return {
            "sandbox": sandboxed,
            "filesystem": sandboxed,
            "network": sandboxed,
            "system_calls": sandboxed,
            "user": sandboxed and os.geteuid() == 0,
            "processes": grouped or self._spawner.limits_processes,
            "memory": grouped,
            "cpu": grouped,
            "disk": True,
        }

    async def engine_for(self, version: str) -> str:
        return language.version().removeprefix("v")  # there is no other one than this interpreter's

    async def prepare(self, package: Path, entry: str, cache: Path, engine: str = "") -> None:
        if await asyncio.to_thread(nearly_full, self.volumes.folder):
            raise EngineError("less than a tenth of the runner's disk is free: no new version is taken")
        uid = self._user(self.volumes.spare_uid)
        await asyncio.to_thread(_made_anew, cache, uid)
        await asyncio.to_thread(readable, package)
        sandboxed = self._spawner.sandboxed
        variables = environment(True) if sandboxed else _unprotected(cache, cache)
        inside = Inside(
            words=compile_words(own_lang(), entry, APP if sandboxed else str(package)),
            environment=variables,
            read_only={APP: package},
            writable={CACHE: cache},
            uid=uid,
        )
        group = await self._group(f"prepare{time.time_ns()}", COMPILE_MB)
        spawned = await self._spawner.spawn(inside, group)
        try:
            async with asyncio.timeout(COMPILE_SECONDS):
                said, errors = await spawned.process.communicate()
        except TimeoutError:
            raise EngineError(f"the version was not compiled within {COMPILE_SECONDS:.0f} seconds") from None
        finally:
            end(spawned)
            await spawned.process.wait()
            if group is not None:
                await asyncio.to_thread(group.remove)
        if spawned.process.returncode != 0:
            reason = (errors + said).decode("utf-8", "replace").strip()[-500:]
            raise EngineError(f"the version could not be compiled: {reason}")

    def _user(self, uid: int | None) -> int | None:
        """Without a sandbox a program needs the runner's rights to reach the interpreter."""
        return uid if self._spawner.sandboxed and os.geteuid() == 0 else None

    async def _group(self, name: str, memory_mb: int) -> Group | None:
        if not self._groups.available:
            return None
        try:
            return await asyncio.to_thread(self._groups.make, name, memory_mb)
        except OSError as error:
            raise EngineError(f"no control group could be made: {error}") from error

    async def network(self, project: str) -> None:
        """Descriptors reach its programs."""

    async def start(self, program: Program) -> Running:
        if program.start in self._running:
            raise EngineError(f"the start {program.start} runs already")
        try:
            volume, owner = await asyncio.to_thread(self._volume, program)
            uid = self._user(owner)
            await asyncio.to_thread(readable, program.link)
            if program.cache is not None:
                await asyncio.to_thread(give, program.cache, uid)
        except OSError as error:
            raise EngineError(f"the volume, the link or the cache cannot be used: {error}") from error
        group = await self._group(program.start, program.memory_mb)
        try:
            spawned = await self._spawner.spawn(self._inside(program, volume, uid), group)
        except EngineError:
            if group is not None:
                await asyncio.to_thread(group.remove)
            if program.scratch:
                await asyncio.to_thread(remove_tree, volume)
            raise
        running = RunningProcess(program, spawned, group, volume, lambda: self._running.pop(program.start, None))
        self._running[program.start] = running
        return running

    def _volume(self, program: Program) -> tuple[Path, int | None]:
        """The volume of a start, and its owner; ``None``: the runner's user. Raises ``OSError``."""
        if not program.scratch:
            return self.volumes.of(program.project)
        volume, owner = self._scratch / program.start, self.volumes.spare_uid if os.geteuid() == 0 else None
        volume.mkdir(mode=0o700)
        if owner is not None:
            give(volume, owner)
        return volume, owner

    def _inside(self, program: Program, volume: Path, uid: int | None) -> Inside:
        if self._spawner.sandboxed:
            words = program_words(own_lang(), program) if self._words is None else self._words(program)
            variables = environment(program.cache is not None)
        else:
            app, link = str(program.package), str(program.link)
            words = program_words(own_lang(), program, app, link) if self._words is None else self._words(program)
            variables = _unprotected(volume, program.cache)
        read_only = {APP: program.package, LINK: program.link}
        if program.cache is not None:
            read_only[CACHE] = program.cache
        return Inside(
            words=words,
            environment=variables,
            read_only=read_only,
            writable={DATA: volume},
            uid=uid,
            file_mb=program.disk_mb,
        )

    async def adopt(self) -> list[Running]:
        return []

    async def drop_files(self) -> None:
        """Its sandboxes read the runner's folders themselves."""

    async def erase(self, project: str) -> None:
        for running in [running for running in self._running.values() if running.program.project == project]:
            await running.remove()
        try:
            await asyncio.to_thread(self.volumes.erase, project)
            left = is_there(self.volumes.path(project))
        except OSError as error:
            raise EngineError(f"the volume of {project} could not be removed: {error}") from error
        if left:
            raise EngineError(f"the volume of {project} is still there")

    async def close(self) -> None:
        await asyncio.gather(*(running.remove() for running in list(self._running.values())))
        await asyncio.to_thread(self._groups.close)


class RunningProcess:
    """A start of this engine."""

    def __init__(
        self, program: Program, spawned: Spawned, group: Group | None, volume: Path, forget: Callable[[], object]
    ) -> None:
        self.program = program
        self.paused = False
        self._spawned = spawned
        self._group = group
        self._volume = volume
        self._forget = forget
        self._reason = ""
        self._used = Usage(0, 0.0, 0)
        self._volume_bytes = 0
        self._output = Output(2)
        process = spawned.process
        assert process.stdout is not None and process.stderr is not None
        self._pipes = [
            asyncio.create_task(self._output.follow(process.stdout, "out")),
            asyncio.create_task(self._output.follow(process.stderr, "err")),
        ]
        self._watching = asyncio.create_task(self._watch())
        self._ended = asyncio.create_task(self._end())

    def _processes(self) -> list[int]:
        return tree.descendants(self._spawned.process.pid) if self._group is None else self._group.processes()

    async def _watch(self) -> None:
        """Ends the program where it has taken more than it may."""
        measured = 0.0
        pause = 0.0
        while True:
            if time.monotonic() - measured >= pause:
                began = time.monotonic()
                with suppress(OSError):  # the runner has no descriptor left, say: it looks again
                    self._volume_bytes = await asyncio.to_thread(lambda: measure(self._volume, self._processes()))
                measured = time.monotonic()
                pause = (measured - began) * LOOK_FACTOR
            if self._volume_bytes > self.program.disk_mb * MEGABYTE:
                self._kill("disk")
            if await asyncio.to_thread(self._over_memory):
                self._kill("memory")
            await asyncio.sleep(LOOK_SECONDS)

    def _over_memory(self) -> bool:
        if self._group is not None:
            return self._group.out_of_memory()
        return tree.memory(self._processes()) > self.program.memory_mb * MEGABYTE

    def _kill(self, reason: str) -> None:
        self._reason = self._reason or reason
        end(self._spawned)
        if self.paused:
            with suppress(OSError):  # it has ended already, and its group is gone
                self._thaw()

    async def _end(self) -> Exit:
        code = await self._spawned.process.wait()
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)
        memory = False
        if self._group is not None:
            memory = self._group.out_of_memory()
            cpu = self._group.cpu_seconds()
            self._used = Usage(0, cpu, self._volume_bytes // MEGABYTE)
            for process in self._group.processes():
                tree.send(process, signal.SIGKILL)
            await asyncio.to_thread(self._group.remove)
        if code < 0:
            code = SIGNALLED - code
        reason = self._reason
        if not reason and code != 0:
            reason = "memory" if memory else "killed" if code == SIGNALLED + signal.SIGKILL else ""
        if reason == "memory":
            with suppress(OSError):
                self._volume_bytes = await asyncio.to_thread(lambda: measure(self._volume, ()))
            if self._volume_bytes > self.program.disk_mb * MEGABYTE:
                reason = "disk"  # under control groups v1 what waits to be written counts as memory
        return Exit(code, reason)

    async def wait(self) -> Exit:
        return await asyncio.shield(self._ended)

    async def stop(self, grace: float = GRACE) -> Exit:
        if self._ended.done():
            return self._ended.result()
        self._reason = self._reason or "stopped"
        if self.paused:
            await self.resume()
        main = self._spawned.process.pid
        if self._spawned.first is not None:
            main = tree.second_of_namespace(self._spawned.first) or 0
        if main:
            tree.send(main, signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    return await self.wait()
        self._kill("stopped")
        return await self.wait()

    async def pause(self) -> None:
        try:
            await asyncio.to_thread(self._freeze)
        except OSError as error:
            raise EngineError(f"the program could not be paused: {error}") from error
        self.paused = True

    def _freeze(self) -> None:
        if self._group is not None:
            self._group.freeze(True)
            return
        stopped: set[int] = set()
        while new := set(tree.descendants(self._spawned.process.pid)) - stopped:  # until none was started meanwhile
            for process in new:
                tree.send(process, signal.SIGSTOP)
            stopped |= new

    async def resume(self) -> None:
        try:
            await asyncio.to_thread(self._thaw)
        except OSError as error:
            raise EngineError(f"the program could not be continued: {error}") from error

    def _thaw(self) -> None:
        if self._group is not None:
            self._group.freeze(False)
        else:
            for process in tree.descendants(self._spawned.process.pid):
                tree.send(process, signal.SIGCONT)
        self.paused = False

    def lines(self, after: Position | None) -> AsyncIterator[tuple[Position, Line]]:
        return self._output.lines(after)

    async def usage(self) -> Usage:
        if not self._ended.done():
            self._used = await asyncio.to_thread(self._usage)
        return self._used

    def _usage(self) -> Usage:
        disk = self._volume_bytes // MEGABYTE
        if self._group is not None:
            return Usage(self._group.memory() // MEGABYTE, self._group.cpu_seconds(), disk)
        processes = self._processes()
        return Usage(tree.memory(processes) // MEGABYTE, tree.cpu_seconds(processes), disk)

    async def remove(self) -> None:
        self._kill("killed")
        await self.wait()
        for task in self._pipes:
            task.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)
        if self.program.scratch:
            try:
                await asyncio.to_thread(remove_tree, self._volume)
            except OSError as error:
                raise EngineError(f"its volume could not be removed: {error}") from error
        self._forget()


def _unprotected(home: Path, cache: Path | None) -> dict[str, str]:
    """The environment where no sandbox shows the folders at their usual places."""
    places = {"HOME": str(home)} if cache is None else {"HOME": str(home), "XDG_CACHE_HOME": str(cache)}
    return {**environment(cache is not None), **places}


def _made_anew(folder: Path, uid: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    if uid is not None:
        os.chown(folder, uid, uid)
