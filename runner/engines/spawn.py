"""Starts processes for the process engine: in a sandbox where this machine lets bubblewrap make one."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.engines import MOST_PROCESSES, EngineError
from runner.engines import launch as launch_module
from runner.engines import process_tree as tree
from runner.engines.cgroups import OWN_PROCESSES, Group
from runner.engines.interpreter import environment, own_folders, own_lang
from runner.engines.sandbox import Sources, sandbox_options, write_own_files
from runner.engines.seccomp import seccomp_filter
from runner.engines.volumes import MEGABYTE

#: Seconds for a sandbox to be ready.
START_SECONDS = 30.0
#: Files that a program may hold open.
OPEN_FILES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What is started, and what it finds there.

    Attributes:
        words: the command.
        read_only, writable: where inside a folder is shown, and which one.
        uid: the user of the machine that it runs as; ``None``: the runner's.
        file_mb: no file that it writes becomes larger.
    """

    words: Sequence[str]
    environment: Mapping[str, str]
    read_only: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, Path] = field(default_factory=dict)
    uid: int | None = None
    file_mb: int = 64


@dataclass(frozen=True, slots=True)
class Spawned:
    """``process`` is bubblewrap's outer one, or the program where there is no sandbox; ``first`` is the process 1 inside."""

    process: asyncio.subprocess.Process
    first: int | None


class Spawner:
    """Arguments: ``folder`` of the engine.

    Attributes:
        sandboxed: sandboxes can be made.
        unprotected: why not.
        limits_processes: the number of processes of a sandbox is limited without a control group too.
        version: of bubblewrap.
    """

    def __init__(self, folder: Path) -> None:
        self._own_files = folder / "etc"
        self._bubblewrap = shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin") or ""
        self._limiter = shutil.which("prlimit", path="/usr/bin:/bin")
        self._filter = b""
        self._folders: list[Path] = []
        self.unprotected = ""
        self.unprotected = self._reason()
        self.sandboxed = not self.unprotected
        self.limits_processes = self.sandboxed and self._limiter is not None
        self.version = "none"
        if self.sandboxed:
            done = subprocess.run([self._bubblewrap, "--version"], capture_output=True, text=True, check=False)
            self.version = done.stdout.strip()

    def _reason(self) -> str:
        if not self._bubblewrap:
            return "bubblewrap is not installed (Debian: apt-get install bubblewrap)"
        try:
            self._filter = seccomp_filter(platform.machine())
        except KeyError:
            return f"there is no list of system calls for {platform.machine()}"
        write_own_files(self._own_files)
        self._folders = own_folders()
        failed = self._tried()
        return f"bubblewrap cannot make a sandbox here: {failed}" if failed else ""

    def _tried(self) -> str:
        """Runs the language once in a sandbox; what went wrong."""
        inside = Inside(words=[*own_lang(), "--version"], environment=environment(False))
        read, write = os.pipe()
        asked, kept = self._asked(inside, None, write)
        try:
            done = subprocess.run(
                _launcher(),
                input=json.dumps(asked),
                capture_output=True,
                text=True,
                pass_fds=kept,
                timeout=60,
                env={},
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "it does not answer"
        finally:
            _close(read, *kept)
        return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]

    def _asked(self, inside: Inside, group: Group | None, info: int) -> tuple[dict[str, object], list[int]]:
        """What ``launch.py`` is told, and the descriptors that it inherits, to be closed afterwards."""
        kept = [info]
        words = list(inside.words)
        stage: list[str] = []
        if not self.unprotected:
            if group is None and self._limiter is not None:
                # Inside of the namespace of users: outside of it the processes of all sandboxes of a user would count together.
                words = [self._limiter, f"--nproc={MOST_PROCESSES + OWN_PROCESSES}", "--", *words]
            filtered = _file("seccomp", self._filter)
            kept.append(filtered)
            sources = Sources(staged=os.geteuid() == 0)
            options = sandbox_options(
                sources,
                own_files=self._own_files,
                read_only=inside.read_only,
                writable=inside.writable,
                folders=self._folders,
                environment=inside.environment,
                seccomp=filtered,
                info=info,
            )
            stage = sources.stage
            told = _file("options", b"".join(os.fsencode(option) + b"\0" for option in options))
            kept.append(told)
            words = [self._bubblewrap, "--args", str(told), "--", *words]
        limits = [("RLIMIT_FSIZE", inside.file_mb * MEGABYTE), ("RLIMIT_CORE", 0), ("RLIMIT_NOFILE", OPEN_FILES)]
        groups = [] if group is None else group.members
        asked = {"parent": os.getpid(), "groups": groups, "limits": limits, "uid": inside.uid, "stage": stage, "words": words}
        return asked, kept

    async def spawn(self, inside: Inside, group: Group | None = None) -> Spawned:
        """Starts it; its standard output and error are pipes. Raises ``EngineError`` where no sandbox could be made."""
        read, write = os.pipe()
        asked, kept = self._asked(inside, group, write)
        environ = {} if self.sandboxed else dict(inside.environment)
        folder = None if self.sandboxed else next(iter(inside.writable.values()), None)
        try:
            # In the loop's own thread: the kernel takes the end of the thread that started a child for the end of its parent.
            process = await asyncio.create_subprocess_exec(
                *_launcher(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=kept,
                env=environ,
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            _close(read)
            raise EngineError(f"no process could be started: {error}") from error
        finally:
            _close(*kept)
        try:
            assert process.stdin is not None
            with_input = process.stdin
            with_input.write(json.dumps(asked).encode())
            with_input.close()
            if not self.sandboxed:
                return Spawned(process, None)
            told = await _whole(read)
            if told:
                return Spawned(process, int(json.loads(told)["child-pid"]))
        except BaseException:
            _end(process, None)
            raise
        finally:
            _close(read)
        _end(process, None)
        assert process.stderr is not None
        said = (await process.stderr.read()).decode("utf-8", "replace").strip()
        await process.wait()
        raise EngineError(f"the sandbox could not be started: {said[-500:] or 'it gave no reason'}")


def end(spawned: Spawned) -> None:
    """SIGKILL to everything: where the process 1 of a namespace ends, the kernel ends all others in it."""
    _end(spawned.process, spawned.first)


def _end(process: asyncio.subprocess.Process, first: int | None) -> None:
    if process.returncode is not None:
        return
    if first is not None and first in tree.children(process.pid):
        tree.send(first, signal.SIGKILL)
        return
    for found in reversed(tree.descendants(process.pid)):
        tree.send(found, signal.SIGKILL)


def _launcher() -> list[str]:
    return [sys.executable, "-I", "-S", str(Path(launch_module.__file__))]


def _file(name: str, content: bytes) -> int:
    """A file in memory, to be read by whoever inherits its descriptor."""
    descriptor = os.memfd_create(name, 0)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


async def _whole(descriptor: int) -> bytes:
    """What is written to a pipe until it is closed; nothing where that takes too long."""
    reader = asyncio.StreamReader()
    pipe = os.fdopen(os.dup(descriptor), "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        return await asyncio.wait_for(reader.read(), START_SECONDS)
    except TimeoutError:
        return b""
    finally:
        transport.close()


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
