"""Writes the output of the command: UTF-8 with LF on the standard descriptors, whatever the locale, without a buffer."""

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


#: The most bytes held back while a question waits at the terminal; further writes block.
_MOST_KEPT = 1024 * 1024
_POLL_SECONDS = 0.05


class OutputLost(Uncatchable):
    """Standard output cannot be written: its reader has gone away (``closed``), or ``reason`` says why.

    A program cannot catch it; otherwise a program that writes in a loop would never end.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.closed = isinstance(error, BrokenPipeError)
        self.reason = error.strerror


class CommandHost(NativeHost):
    """The host of a program that the command runs: a lost standard output ends the program, a lost error stream does not."""

    #: the provider of the model that a flag names, before environment and ``.env``
    provider: str | None = None

    def setting(self, name: str, *, secret: bool = False) -> tuple[str, str] | None:
        if name == "PLATFORM_LLM_PROVIDER" and self.provider is not None:
            return self.provider, "--provider"
        return super().setting(name, secret=secret)

    def replace_env_file(self, env_file: Mapping[str, str] | None) -> None:
        """Replaces the variables of the ``.env`` file."""
        self._env_file = env_file

    def write_line(self, line: str) -> None:
        out(line)

    def write_error_line(self, line: str) -> None:
        _err(line)

    def write_prompt(self, text: str) -> None:
        write_bytes(text.encode("utf-8", "replace"))

    def read_line(self) -> str | None:
        return None if sys.stdin is None else super().read_line()  # None: standard input was closed at startup


class OutputHold:
    """Holds back what this process writes to its standard descriptors while a question waits at the terminal."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: list[tuple[int, bytes]] = []
        self._size = 0
        self.active = False

    def begin(self) -> None:
        """Starts to hold output back. Must not be called again before :meth:`end`."""
        self.active = True

    def keep(self, descriptor: int, data: bytes) -> bool:
        """Holds ``data`` back; returns false if it must be written now. Blocks while too much is held back."""
        while self.active:
            with self._lock:
                if self.active and self._size < _MOST_KEPT:
                    self._kept.append((descriptor, data))
                    self._size += len(data)
                    return True
            sleep(_POLL_SECONDS)
        return False

    def end(self) -> None:
        """Writes what was held back, in order. Raises ``OutputLost``."""
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
    """As :func:`out`, with control characters made visible: for reports that quote foreign texts."""
    from language.console_text import visible

    out(visible(text))


def say_line(text: str) -> None:
    """As :func:`say`, and the text stays one line even if names in it contain line ends."""
    from language.console_text import one_line

    out(one_line(text))


def say_json(value: object) -> None:
    """Writes a value as one line of JSON, with control characters escaped. Raises ``OutputLost``."""
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
    """Writes a line of the command to standard error, with control characters made visible.

    Failures are ignored, because there is no other place to report them.
    """
    if not text.isprintable():
        from language.console_text import visible

        text = visible(text)
    _err(text)


def say_rendered(text: str) -> None:
    """As :func:`err`, for text whose control characters are already escaped and that may contain our own colours."""
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
    """Writes all of ``data``. Waits where another process made the shared descriptor non-blocking. Raises ``OSError``."""
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
    """Opens the null device for each closed standard stream.

    Otherwise the first file that the program opens would become its standard output and receive what it prints.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # The system assigns the lowest free descriptor. That is the closed one, because those below it are open by now.
            os.open(os.devnull, os.O_RDWR)
