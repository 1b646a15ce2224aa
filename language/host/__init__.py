"""The one door to everything outside a program: clock, randomness, environment, streams.

A builtin asks the capability set first, then the host. ``EmbeddedHost`` lends nothing but a clock and randomness; the host that
is the operating system is ``language.native.host.NativeHost``.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock, get_ident

from language.waits import LONGEST_NAP, SLEEPERS_PER_SECOND, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from language.host.databases import Databases
    from language.host.files import Files
    from language.host.http import Http
    from language.host.llm import Llm, Usage
    from language.host.memory import MemoryStore
    from language.host.processes import Processes


_sleepers: dict[int, LockType] = {}


#: Notices that this process has given, each of which it gives once.
_told: set[str] = set()


class Host:
    """What a program may reach, each method one effect. The base class offers nothing; one to derive from is
    :class:`EmbeddedHost`.
    """

    @property
    def notices(self) -> set[str]:
        """The notices given so far: each is given once a process, or once an embedded program."""
        return _told

    @property
    def http(self) -> Http | None:
        """The door to HTTP; ``None`` where there is no way out."""
        return None

    @property
    def files(self) -> Files | None:
        """The door to files; ``None`` where there are none."""
        return None

    @property
    def processes(self) -> Processes | None:
        """The door to child processes; ``None`` where none can be started."""
        return None

    @property
    def databases(self) -> Databases | None:
        """The databases that are open; ``None`` where there are no drivers."""
        return None

    @property
    def llm(self) -> Llm | None:
        """The model that programs may ask; ``None`` where none is configured."""
        return None

    @property
    def llm_usage(self) -> Usage:
        """The tokens used so far."""
        found: Usage | None = self.__dict__.get("_llm_usage")
        if found is None:
            from language.host.llm import Usage, configured_budget

            found = self.__dict__.setdefault("_llm_usage", Usage(configured_budget(self)))
        return found

    @property
    def on_disk(self) -> bool:
        """Whether paths of the program are paths on the disk of this machine, where symbolic links may lead elsewhere."""
        return True

    def memory(self, name: str, program: str) -> MemoryStore:
        """The store of a declared memory; ``program`` is the file beside which it may lie. Raises ``RuntimeFault``."""
        from language.errors import RuntimeFault

        raise RuntimeFault(
            f'memory "{name}" is declared but this host provides no durable storage (wasm profile) — the embedder can offer it '
            "through the `kv` host hook, or run the program with the native `lang` binary",
            kind="unsupported",
        )

    @property
    def runs_jobs(self) -> bool:
        """Whether scheduled jobs can run beside a program."""
        return False

    def write_line(self, line: str) -> None:
        """Writes one line of program output, the line end excluded, and flushes it."""
        raise NotImplementedError

    def write_error_line(self, line: str) -> None:
        """Writes one line to the error stream and flushes it."""
        raise NotImplementedError

    def write_notice(self, text: str) -> None:
        """Writes what the runtime itself has to say to the error stream: nothing quoted in it acts on a terminal."""
        from language.console_text import visible

        self.write_error_line(visible(text))

    def write_prompt(self, text: str) -> None:
        """Writes text without a line end."""
        raise NotImplementedError

    def is_terminal(self) -> bool:
        """Whether a person sits at standard input."""
        return False

    def read_line(self) -> str | None:
        """The next line of standard input without its line end; ``None`` at the end."""
        return None

    def flush(self) -> None:
        """Pushes pending output out."""

    def now(self) -> float:
        """Unix time in seconds."""
        raise NotImplementedError

    def warn(self, text: str) -> None:
        """Writes a warning of the runtime on the error stream."""
        self.write_error_line("lang: warning: " + text)

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps; only differences mean anything."""
        raise NotImplementedError

    def post_webhook(self, url: str, body: bytes, headers: Mapping[str, str]) -> str | None:
        """One attempt to deliver a webhook that the host itself configured; why it failed, or ``None``."""
        return "this host delivers no webhooks"

    def sleep(self, seconds: float) -> None:
        """Waits; a host without a way to wait returns at once."""

    def random_bytes(self, count: int) -> bytes:
        """``count`` bytes of strong randomness. Raises ``RuntimeFault`` where there is none."""
        raise NotImplementedError

    def environ(self, name: str) -> str | None:
        """The value of an environment variable; ``None`` when it is not defined."""
        return None

    def secret_value(self, name: str) -> str | None:
        """The value of a variable that is asked for as a secret; ``None`` when it is not defined."""
        return self.environ(name)

    def append_audit_line(self, log: str, line: str) -> None:
        """Adds lines to an audit log that no program can switch off. Raises ``OSError`` when they are not written."""
        raise OSError("this host keeps no audit log")


def sleep_in_steps(seconds: float) -> None:
    """Waits, and looks up often enough for a limit or the end of a request to get through: no exception reaches a sleeper.

    The more sleep at a time, the less often each looks up; :func:`wake_sleeper` has one look up at once.
    """
    import sys
    import time

    end = time.monotonic() + seconds
    if sys.platform == "wasi":  # one thread, and no lock that could be waited for
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, LONGEST_NAP))
        return
    ident = get_ident()
    alarm = _sleepers[ident] = allocate_lock()
    alarm.acquire()
    try:
        while (left := end - time.monotonic()) > 0:
            nap = max(LONGEST_NAP, len(_sleepers) / SLEEPERS_PER_SECOND)
            interruptible_wait(alarm, min(left, nap), nap)
    finally:
        _sleepers.pop(ident, None)


def wake_sleeper(ident: int) -> None:
    """Has the thread with this identifier look up if it sleeps: after an exception was raised in it."""
    alarm = _sleepers.get(ident)
    if alarm is not None and alarm.locked():
        try:
            alarm.release()
        except RuntimeError:
            return  # somebody else was quicker


class ProcessHost(Host):
    """A host that lends the clock and the randomness of this process, and nothing else."""

    def now(self) -> float:
        import time

        return time.time()

    def monotonic(self) -> float:
        import time

        return time.monotonic()

    def random_bytes(self, count: int) -> bytes:
        from os import urandom

        try:
            return urandom(count)
        except (NotImplementedError, OSError):
            from language.errors import RuntimeFault

            raise RuntimeFault("random: the host provides no entropy", kind="unsupported") from None


class EmbeddedHost(ProcessHost):
    """Nothing of the process is reachable: the environment is the mapping given, output stays with the program's context."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(env or {})
        self._notices: set[str] = set()

    @property
    def notices(self) -> set[str]:
        return self._notices

    @property
    def on_disk(self) -> bool:
        files = self.files
        return files is not None and not files.partial

    def write_line(self, line: str) -> None:
        pass

    def write_error_line(self, line: str) -> None:
        pass

    def write_prompt(self, text: str) -> None:
        pass

    def environ(self, name: str) -> str | None:
        return self._env.get(name)
