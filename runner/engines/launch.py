"""Becomes the sandbox of a program: started by ``process.py`` as a script, it prepares its own process and executes bubblewrap.

It runs with Python's own library alone and reads one JSON object from standard input:

``parent``: the runner's process id; when the runner is gone this process ends. ``groups``: files of control groups to enter.
``limits``: pairs of a resource's name and its limit. ``uid``: the user of the machine to become, ``null``: as it is.
``stage``: folders that this user could not find the way to; each is mounted, for this process alone, at ``STAGE/<index>``.
``words``: the command to execute.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys

STAGE = "/tmp"
_NEW_MOUNTS, _BIND, _RECURSIVE, _SLAVE, _NO_SETUID, _NO_DEVICES = 0x20000, 4096, 16384, 1 << 19, 2, 4
_DIE_WITH_PARENT, _NO_NEW_PRIVILEGES = 1, 38


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _stage(library: ctypes.CDLL, folders: list[str]) -> None:
    """Mounts the folders where the program's user can reach them. They are opened first: some lie below ``STAGE``."""
    _checked(library.unshare(_NEW_MOUNTS), "a mount namespace")
    _checked(library.mount(b"none", b"/", None, _RECURSIVE | _SLAVE, None), "mounts of its own")
    opened = [os.open(folder, os.O_PATH) for folder in folders]
    _checked(library.mount(b"stage", STAGE.encode(), b"tmpfs", _NO_SETUID | _NO_DEVICES, b"mode=0755,size=64k"), STAGE)
    for index, descriptor in enumerate(opened):
        target = f"{STAGE}/{index}"
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            os.mkdir(target, 0o755)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        source = f"/proc/self/fd/{descriptor}".encode()
        _checked(library.mount(source, target.encode(), None, _BIND, None), folders[index])
        os.close(descriptor)


def main() -> None:
    with open(0, encoding="utf-8", closefd=False) as given:
        asked = json.load(given)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    library = ctypes.CDLL(None, use_errno=True)
    for path in asked["groups"]:
        with open(path, "w", encoding="ascii") as group:
            group.write("0")  # this process
    if asked["stage"]:
        _stage(library, asked["stage"])
    for name, limit in asked["limits"]:
        number = getattr(resource, name)
        highest = resource.getrlimit(number)[1]
        most = limit if highest == resource.RLIM_INFINITY else min(limit, highest)
        resource.setrlimit(number, (most, most))
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write("500")  # when the machine is out of memory, a program goes before what serves all of them
    except OSError:
        pass  # a container may forbid it
    os.umask(0o077)
    uid = asked["uid"]
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    library.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)  # behind the change of user, which takes it back
    if os.getppid() != asked["parent"]:
        os._exit(1)
    library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    os.execv(asked["words"][0], asked["words"])


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"the sandbox could not be started: {error}\n")
        sys.exit(125)
