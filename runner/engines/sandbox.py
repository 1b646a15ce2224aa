"""The options of bubblewrap for one start: what of the machine a program sees, and what it may not do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.engines import DATA, GID, TMP_MB, UID
from runner.engines.launch import STAGE

MEGABYTE = 1024 * 1024
#: Links into `/usr` on today's systems, folders on older ones.
SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
#: What libraries look for in `/etc`: other libraries, certificates, the time zone, names of kinds of files and services.
SYSTEM_FILES = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "ca-certificates",
    "alternatives", "localtime", "mime.types", "protocols", "services",
)  # fmt: skip
#: Files of the kernel that tell of the whole machine.
MASKED = ("kcore", "keys", "key-users", "timer_list", "sched_debug", "latency_stats", "kallsyms", "modules", "interrupts")
#: Files of the kernel that set something for the whole machine: some of them everybody may open for writing.
KERNEL_SETTINGS = ("sys", "irq", "bus", "fs", "sysrq-trigger")
#: What a program sees as its user and its host: no account and no host name of the machine.
OWN_FILES = {
    "passwd": f"lang:x:{UID}:{GID}:lang:{DATA}:/usr/sbin/nologin\n",
    "group": f"lang:x:{GID}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(slots=True)
class Sources:
    """Where the folders come from that are mounted into a sandbox.

    ``staged``: bubblewrap runs as a user who may not find the way to them; they are listed in ``stage``, and ``launch.py`` puts
    each at ``STAGE/<index>`` before.
    """

    staged: bool
    stage: list[str] = field(default_factory=list)

    def path(self, path: Path) -> str:
        if not self.staged:
            return str(path)
        self.stage.append(str(path))
        return f"{STAGE}/{len(self.stage) - 1}"


def write_own_files(folder: Path) -> None:
    """Makes the files of ``/etc`` that every sandbox shows."""
    folder.mkdir(mode=0o755, exist_ok=True)
    for name, text in OWN_FILES.items():
        (folder / name).write_text(text, encoding="ascii")
        (folder / name).chmod(0o644)


def sandbox_options(
    sources: Sources,
    *,
    own_files: Path,
    read_only: Mapping[str, Path],
    writable: Mapping[str, Path],
    folders: Sequence[Path],
    environment: Mapping[str, str],
    seccomp: int,
    info: int,
) -> list[str]:
    """The options of a sandbox. They are read from a file: a program can read its first process's command line.

    Arguments:
        sources: collects what is to be staged.
        own_files: the folder of ``write_own_files``.
        read_only, writable: where inside a folder is shown, and which one. ``/data`` is the working folder; where no folder is
            shown there, it is one in memory.
        folders: shown read-only where they lie outside, for the interpreter.
        seccomp, info: descriptors that bubblewrap reads the filter from and writes its JSON to.
    """
    made = [
        "--unshare-all", "--unshare-user", "--uid", str(UID), "--gid", str(GID), "--hostname", "lang",
        "--cap-drop", "ALL", "--disable-userns", "--new-session", "--die-with-parent", "--clearenv",
        "--seccomp", str(seccomp), "--info-fd", str(info),
        "--ro-bind", "/usr", "/usr",
    ]  # fmt: skip
    for name in SYSTEM_FOLDERS:
        path = Path("/") / name
        if path.is_symlink():
            made += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            made += ["--ro-bind", str(path), str(path)]
    for name in SYSTEM_FILES:
        made += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in OWN_FILES:
        made += ["--ro-bind", sources.path(own_files / name), f"/etc/{name}"]
    made += ["--proc", "/proc"]
    for name in KERNEL_SETTINGS:
        made += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for name in MASKED:
        if os.path.exists(f"/proc/{name}"):
            made += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    # Folders in memory that are nobody's: without a bound or writable they would be a disk without a limit.
    made += ["--dev", "/dev", "--remount-ro", "/dev"]
    made += ["--perms", "1777", "--size", str(TMP_MB * MEGABYTE), "--tmpfs", "/dev/shm"]
    made += ["--perms", "1777", "--size", str(TMP_MB * MEGABYTE), "--tmpfs", "/tmp"]
    for folder in folders:
        made += ["--ro-bind", sources.path(folder), str(folder)]
    if DATA not in writable:
        made += ["--size", str(MEGABYTE), "--tmpfs", DATA]
    for place, folder in read_only.items():
        made += ["--ro-bind", sources.path(folder), place]
    for place, folder in writable.items():
        made += ["--bind", sources.path(folder), place]
    made += ["--remount-ro", "/", "--chdir", DATA]
    for name, value in environment.items():
        made += ["--setenv", name, value]
    return made
