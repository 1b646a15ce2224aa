"""The terminal at the standard descriptors of this process."""

from __future__ import annotations

import os
import selectors
from contextlib import suppress
from time import monotonic, sleep

from language.host.terminal import UserTerminal, key_length
from language.locks import InterruptibleLock
from language.waits import POLLING_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BLOCK = 1024
#: Seconds to wait after ESC for the rest of an escape sequence; after that it was the ESC key alone.
_ESCAPE_SECONDS = 0.05


class NativeTerminal(UserTerminal):
    """``keys`` is false if keys cannot be read from standard input, because the program itself was read from it."""

    def __init__(self, *, keys: bool) -> None:
        self._keys = keys
        self._rest = b""
        self._turn = InterruptibleLock()
        #: whether a question wants the terminal or has it
        self._asking = False
        #: the terminal mode before the first key; ``None`` while the mode is unchanged
        self._before: list[Any] | None = None

    def size(self) -> tuple[int, int] | None:
        try:
            found = os.get_terminal_size(1)
        except OSError:
            return None
        return found.columns, found.lines

    @property
    def shows(self) -> bool:
        return _is_terminal(1) and os.environ.get("TERM", "dumb") != "dumb"

    @property
    def colours(self) -> bool:
        return self.shows and not os.environ.get("NO_COLOR")

    @property
    def has_keys(self) -> bool:
        return self._keys and _is_terminal(0)

    def key(self, seconds: float) -> bytes | None:
        end = monotonic() + seconds
        while True:
            with self._turn:
                found = None if self._asking else self._key(end)
            if found is not None or monotonic() >= end:
                return found
            sleep(POLLING_INTERVAL)  # lets the thread that asks a question continue

    def without_keys(self, ask: Callable[[], str | None]) -> str | None:
        try:
            self._asking = True
            with self._turn:
                self.release()
                return ask()
        finally:
            self._asking = False

    def _key(self, end: float) -> bytes | None:
        from termios import ECHO, ICANON, TCSADRAIN, VMIN, VTIME, tcgetattr, tcsetattr

        now: list[Any] = tcgetattr(0)
        if now[3] & (ECHO | ICANON):  # at the first key, and after a shell has restored the mode (Ctrl-Z)
            if self._before is None:
                self._before = now
                self._release_at_end()
            # Signal characters stay enabled: Ctrl-C still ends the program.
            raw = [*now[:3], now[3] & ~(ECHO | ICANON), *now[4:6], [*now[6]]]
            raw[6][VMIN], raw[6][VTIME] = 1, 0
            tcsetattr(0, TCSADRAIN, raw)
        return self._read(end)

    def release(self) -> None:
        if self._before is None:
            return
        from termios import TCSADRAIN, tcsetattr
        from termios import error as TerminalError

        before, self._before = self._before, None
        with suppress(TerminalError):  # the terminal is gone
            tcsetattr(0, TCSADRAIN, before)

    def _release_at_end(self) -> None:
        """Releases the terminal before SIGTERM ends the process, which by default runs no exit handlers. An existing signal
        handler is kept.
        """
        import signal

        def end(number: int, frame: object) -> None:
            self.release()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            with suppress(ValueError):  # not in the main thread
                signal.signal(signal.SIGTERM, end)

    def _read(self, end: float) -> bytes | None:
        with selectors.DefaultSelector() as selector:
            selector.register(0, selectors.EVENT_READ)
            while not self._asking:
                length = key_length(self._rest)
                if not length and self._rest:  # the rest of an escape sequence arrives at once; otherwise it is the ESC key
                    if not selector.select(_ESCAPE_SECONDS):
                        length = 1 if self._rest[0] == 0x1B else len(self._rest)
                elif not length:
                    left = end - monotonic()
                    if not selector.select(max(min(left, POLLING_INTERVAL), 0.0)):
                        if left <= 0:
                            return None
                        continue
                if length:
                    key, self._rest = self._rest[:length], self._rest[length:]
                    return key
                data = os.read(0, _BLOCK)
                if not data:
                    return b""
                self._rest += data
        return None


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False
