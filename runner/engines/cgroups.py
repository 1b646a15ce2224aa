"""Control groups: what the kernel counts and limits for all processes of a start together.

Version 1 has a tree of folders for each controller, version 2 one for all of them. A runner that may not make groups has none;
the process engine then limits what it can by other means and says so.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from runner.engines import MOST_PROCESSES

ROOT = Path("/sys/fs/cgroup")
MEGABYTE = 1024 * 1024
#: A second of the processors' time each second: one processor. In microseconds, of each period.
CPU_PERIOD = 100_000
#: Processes of a start that are bubblewrap's own.
OWN_PROCESSES = 4
_SECONDS_TO_END = 5.0


class Group:
    """The group of one start: the folders of it, by controller (one folder several times under version 2)."""

    def __init__(self, folders: dict[str, Path], version: int) -> None:
        self._folders = folders
        self._version = version
        self.members = sorted({str(folder / "cgroup.procs") for folder in folders.values()})

    def processes(self) -> list[int]:
        """The process ids in it."""
        return [int(line) for line in _read(Path(self.members[0])).split()]

    def memory(self) -> int:
        """Bytes in use; what the kernel would give back for the asking is not counted."""
        folder = self._folders["memory"]
        used = "memory.usage_in_bytes" if self._version == 1 else "memory.current"
        spare = "total_inactive_file" if self._version == 1 else "inactive_file"
        return max(0, int(_read(folder / used) or 0) - _field(folder / "memory.stat", spare))

    def cpu_seconds(self) -> float:
        if self._version == 1:
            return int(_read(self._folders["cpuacct"] / "cpuacct.usage") or 0) / 1e9
        return _field(self._folders["cpu"] / "cpu.stat", "usage_usec") / 1e6

    def out_of_memory(self) -> bool:
        """Whether the kernel has ended a process because the group was at its limit."""
        file = "memory.oom_control" if self._version == 1 else "memory.events"
        return _field(self._folders["memory"] / file, "oom_kill") > 0

    def freeze(self, frozen: bool) -> None:
        """Stops or continues all processes. Returns when they stand still. Raises ``OSError``."""
        folder = self._folders["freezer"]
        if self._version == 1:
            wanted = "FROZEN" if frozen else "THAWED"
            deadline = time.monotonic() + _SECONDS_TO_END
            while _read(folder / "freezer.state").strip() != wanted:
                if time.monotonic() > deadline:
                    raise OSError("the processes could not be frozen")
                (folder / "freezer.state").write_text(wanted, encoding="ascii")
                time.sleep(0.002)
            return
        (folder / "cgroup.freeze").write_text("1" if frozen else "0", encoding="ascii")
        deadline = time.monotonic() + _SECONDS_TO_END
        while _field(folder / "cgroup.events", "frozen") != int(frozen):
            if time.monotonic() > deadline:
                raise OSError("the processes could not be frozen")
            time.sleep(0.002)

    def remove(self) -> None:
        """Removes the group once its processes are gone; what is left is removed at the next start of the runner."""
        for folder in set(self._folders.values()):
            deadline = time.monotonic() + _SECONDS_TO_END
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > deadline:
                        break
                    time.sleep(0.005)


class Groups:
    """Makes groups for the starts of one runner.

    Arguments:
        folder: of the runner; two runners of a machine keep apart by it.
        wanted: without it none are made, as where they cannot be.

    Attributes:
        available: groups can be made, with limits for memory, processes and processor time.
    """

    CONTROLLERS = ("memory", "pids", "cpu", "cpuacct", "freezer")

    def __init__(self, folder: Path, *, wanted: bool = True) -> None:
        self._name = "lang-" + hashlib.sha256(bytes(folder.resolve())).hexdigest()[:12]
        self._version = 2 if (ROOT / "cgroup.controllers").exists() else 1
        self._bases: dict[str, Path] = {}
        try:
            self._bases = dict(self._made()) if wanted else {}
        except OSError:
            self._bases = {}
        self.available = set(self._bases) == set(self.CONTROLLERS)
        if self.available:
            self._sweep()

    def _made(self) -> Iterator[tuple[str, Path]]:
        if self._version == 1:
            for controller in self.CONTROLLERS:
                # Groups are made below the runner's own group: a container shows its own part of the tree as the whole.
                base = ROOT / controller / self._name
                base.mkdir(exist_ok=True)
                yield controller, base
            return
        # Only a group without processes can hand controllers down; the outermost one is free of that rule.
        base = ROOT / self._name
        _delegate(ROOT)
        base.mkdir(exist_ok=True)
        _delegate(base)
        handed = set(_read(base / "cgroup.subtree_control").split())
        for controller in self.CONTROLLERS:
            if controller in ("cpuacct", "freezer") or controller in handed:
                yield controller, base

    def _sweep(self) -> None:
        """Removes what runners before this one have left. A group in use stays."""
        for base in set(self._bases.values()):
            for folder in base.iterdir():
                if folder.is_dir():
                    with suppress(OSError):
                        folder.rmdir()

    def make(self, start: str, memory_mb: int) -> Group:
        """The group of a start, with its limits. Raises ``OSError``."""
        if not all(base.is_dir() for base in self._bases.values()):
            self._bases = dict(self._made())  # something else has removed the folders
        folders = {controller: base / start for controller, base in self._bases.items()}
        for folder in set(folders.values()):
            folder.mkdir(exist_ok=True)
        limit = str(memory_mb * MEGABYTE)
        memory, pids, cpu = folders["memory"], folders["pids"], folders["cpu"]
        (pids / "pids.max").write_text(str(MOST_PROCESSES + OWN_PROCESSES), encoding="ascii")
        if self._version == 1:
            (memory / "memory.limit_in_bytes").write_text(limit, encoding="ascii")
            if (memory / "memory.memsw.limit_in_bytes").exists():
                (memory / "memory.memsw.limit_in_bytes").write_text(limit, encoding="ascii")
            (cpu / "cpu.cfs_period_us").write_text(str(CPU_PERIOD), encoding="ascii")
            (cpu / "cpu.cfs_quota_us").write_text(str(CPU_PERIOD), encoding="ascii")
        else:
            (memory / "memory.max").write_text(limit, encoding="ascii")
            if (memory / "memory.swap.max").exists():
                (memory / "memory.swap.max").write_text("0", encoding="ascii")
            (memory / "memory.oom.group").write_text("1", encoding="ascii")
            (cpu / "cpu.max").write_text(f"{CPU_PERIOD} {CPU_PERIOD}", encoding="ascii")
        return Group(folders, self._version)

    def close(self) -> None:
        """Removes the folders of this runner where they are empty."""
        for base in set(self._bases.values()):
            with suppress(OSError):
                base.rmdir()


def _delegate(folder: Path) -> None:
    (folder / "cgroup.subtree_control").write_text("+memory +pids +cpu", encoding="ascii")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


def _field(path: Path, name: str) -> int:
    for line in _read(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return 0
