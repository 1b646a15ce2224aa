"""Tells its guard its own process id and then replaces itself by the command of a guarded process (``exec``).

It runs as a script with the standard library only, in the process that becomes the command. So the command never runs without
its guard knowing it. Its arguments are the two descriptors of ``language.native.guard``, the variable ``LC_CTYPE`` of its
environment (``=`` and the value, or nothing), the file to execute, and the command with its arguments.
"""

from __future__ import annotations

import os
import signal
import sys

#: The first byte of the answer. If the command could not be executed, the error number follows.
STARTED = b"."


def main() -> None:
    guard, answer = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(guard, False)
    os.set_inheritable(answer, False)
    if not _told(answer, STARTED):
        os._exit(1)  # the interpreter has ended
    _told(guard, b"%d\n" % os.getpid())
    if sys.argv[3]:  # Python sets this variable if the locale is missing or "C"
        os.putenv("LC_CTYPE", sys.argv[3][1:])
    else:
        os.unsetenv("LC_CTYPE")
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)  # Python ignores these signals, and the command would inherit that
    try:
        os.execv(sys.argv[4], sys.argv[5:])
    except OSError as error:
        _told(answer, b"%d" % (error.errno or 0))
    os._exit(127)


def _told(descriptor: int, data: bytes) -> bool:
    try:
        os.write(descriptor, data)
    except BrokenPipeError:
        return False
    return True


if __name__ == "__main__":
    main()
