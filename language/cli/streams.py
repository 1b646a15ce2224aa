"""What the tool itself says: UTF-8 with LF on the standard descriptors, whatever the locale; each call is written at once."""

from __future__ import annotations

import os
import sys
from time import sleep

from language.errors import Uncatchable
from language.locks import Lock
from language.native.host import NativeHost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


#: Bytes kept while a question stands at the terminal; whoever writes more waits.
_MOST_KEPT = 1024 * 1024
_NAP_SECONDS = 0.05


class OutputLost(Uncatchable):
    """Standard output cannot be written: its reader has gone away (``closed``), or ``reason`` says why.

    A program cannot catch it: whoever goes on writing to nobody never ends.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.closed = isinstance(error, BrokenPipeError)
        self.reason = error.strerror


class CommandHost(NativeHost):
    """The host of a program run by the command: a lost standard output ends it, a lost error stream does not."""

    def replace_env_file(self, env_file: Mapping[str, str] | None) -> None:
        """The variables of the ``.env`` file have changed."""
        self._env_file = env_file

    def write_line(self, line: str) -> None:
        out(line)

    def write_error_line(self, line: str) -> None:
        _err(line)

    def write_prompt(self, text: str) -> None:
        write_bytes(text.encode("utf-8", "replace"))

    def read_line(self) -> str | None:
        return None if sys.stdin is None else super().read_line()  # None: closed when the process began


class OutputHold:
    """Keeps what this process writes to its standard descriptors while a question stands at the terminal."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: list[tuple[int, bytes]] = []
        self._size = 0
        self.active = False

    def begin(self) -> None:
        """From now on nothing is written. Not to be called a second time before :meth:`end`."""
        self.active = True

    def keep(self, descriptor: int, data: bytes) -> bool:
        """Keeps what was to be written; false where it is to be written now. Waits while too much is kept."""
        while self.active:
            with self._lock:
                if self.active and self._size < _MOST_KEPT:
                    self._kept.append((descriptor, data))
                    self._size += len(data)
                    return True
            sleep(_NAP_SECONDS)
        return False

    def end(self) -> None:
        """Writes what was kept, in its order. Raises ``OutputLost``."""
        with self._lock:
            kept, self._kept, self._size = self._kept, [], 0
            lost: OSError | None = None
            for descriptor, data in kept:
                try:
                    write_all(descriptor, data)
                except OSError as error:
                    lost = error if descriptor == 1 else lost
            self.active = False
        if lost is not None:
            raise OutputLost(lost)


output_hold = OutputHold()


def out(text: str) -> None:
    """Writes one line (or several, joined by line ends) to standard output. Raises ``OutputLost``."""
    write_bytes(encode(text))


def say(text: str) -> None:
    """As :func:`out`, for a report that quotes what others wrote: nothing quoted in it acts on a terminal."""
    from language.console_text import visible

    out(visible(text))


def say_line(text: str) -> None:
    """As :func:`say`, for what stays one line whatever the names in it hold."""
    from language.console_text import one_line

    out(one_line(text))


def say_json(value: object) -> None:
    """One line of JSON to standard output that means the value and acts on no terminal. Raises ``OutputLost``."""
    from json import dumps

    from language.console_text import json_line

    out(json_line(dumps(value, ensure_ascii=False)))


def write_bytes(data: bytes) -> None:
    """Writes bytes to standard output as they are. Raises ``OutputLost``."""
    if output_hold.active and output_hold.keep(1, data):
        return
    try:
        write_all(1, data)
    except OSError as error:
        raise OutputLost(error) from None


def err(text: str) -> None:
    """Writes what the tool itself says to standard error: a line, nothing quoted in it acting on a terminal.

    Nobody can be told when that fails: such a failure is let go.
    """
    if not text.isprintable():
        from language.console_text import visible

        text = visible(text)
    _err(text)


def _err(text: str) -> None:
    data = encode(text)
    if output_hold.active and output_hold.keep(2, data):
        return
    try:
        write_all(2, data)
    except OSError:
        return


def warn(text: str) -> None:
    err("lang: warning: " + text)


def encode(text: str) -> bytes:
    try:
        return (text + "\n").encode()
    except UnicodeEncodeError:
        # A file name that is not UTF-8 arrives with surrogates: its wrong bytes are shown as U+FFFD.
        return (text + "\n").encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of ``data``, waiting where whoever shares the descriptor has made it non-blocking. Raises ``OSError``."""
    while True:
        try:
            written = os.write(descriptor, data)
        except BlockingIOError:
            from select import select

            select([], [descriptor], [])
            continue
        if written == len(data):
            return
        data = data[written:]


def keep_standard_descriptors_open() -> None:
    """Opens the null device in the place of a closed standard stream.

    Else the first file opened by the program would become its standard output and receive what it prints.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is the closed one: those below it are open by now.
            os.open(os.devnull, os.O_RDWR)
