"""The host: a program's only access to everything outside, such as clock, randomness, environment and streams.

A builtin checks the capability first and then calls the host. ``EmbeddedHost`` provides only a clock and randomness.
``language.native.host.NativeHost`` provides the operating system.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock, get_ident

from language.waits import POLLING_INTERVAL, SLEEPER_POLLS_PER_SECOND, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from language.host.databases import Databases
    from language.host.files import Files
    from language.host.http import Http
    from language.host.memory import MemoryStore
    from language.host.processes import Processes
    from language.host.terminal import UserTerminal
    from language.models.budget import Usage
    from language.models.conversation import Model


_sleepers: dict[int, LockType] = {}


class Bell:
    """Wakes one waiting thread from others. Use it in a ``with`` statement.

    Several rings before a wait count as one. This class ignores descriptors; that of ``language.native.bell`` waits for them
    too.
    """

    def __init__(self) -> None:
        self._rung = allocate_lock()
        self._rung.acquire()

    def ring(self) -> None:
        """Ends the current wait, or the next one. Any thread may call it, even when nobody waits any more."""
        try:
            self._rung.release()
        except RuntimeError:
            return  # it has been rung already

    def wait(self, descriptors: Iterable[int], seconds: float) -> None:
        """Waits until the bell is rung or a descriptor is readable, for at most ``seconds`` and at most one polling interval,
        so that a cancellation can be delivered. The caller must check itself whether its condition holds.
        """
        interruptible_wait(self._rung, min(seconds, POLLING_INTERVAL))

    def close(self) -> None:
        """Called when nobody waits any more."""

    def __enter__(self) -> Bell:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


#: The notices that this process has written; each is written once.
_told: set[str] = set()


class Host:
    """Everything that a program can reach, one method for each effect. The base class provides nothing; derive from
    :class:`EmbeddedHost`.
    """

    #: whether a platform runs the program: it derives the ceiling from the deployed `require` lines, and stores the variables
    #: and secrets
    deployed = False

    @property
    def notices(self) -> set[str]:
        """The notices written so far. Each is written once per process, or once per embedded program."""
        return _told

    @property
    def http(self) -> Http | None:
        """Access to HTTP; ``None`` where there is none."""
        return None

    @property
    def files(self) -> Files | None:
        """Access to files; ``None`` where there are none."""
        return None

    @property
    def processes(self) -> Processes | None:
        """Access to child processes; ``None`` where none can be started."""
        return None

    @property
    def terminal(self) -> UserTerminal | None:
        """The terminal of the person who runs the program; ``None`` on hosts without any."""
        return None

    @property
    def databases(self) -> Databases | None:
        """The open databases; ``None`` where there are no drivers."""
        return None

    @property
    def llm(self) -> Model | None:
        """The language model that programs may call; ``None`` where none is configured."""
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
    def llm_identities(self) -> Mapping[str, Usage]:
        """The tokens used by those users of a service who have a limit, by their ids."""
        found: Mapping[str, Usage] | None = self.__dict__.get("_llm_identities")
        if found is None:
            from language.host.llm import configured_identity_budgets

            found = self.__dict__.setdefault("_llm_identities", configured_identity_budgets(self))
        return found

    @property
    def on_disk(self) -> bool:
        """Whether the program's paths are those of this machine's file system, which may contain symbolic links."""
        return True

    def memory(self, name: str, program: str) -> MemoryStore:
        """The store of a declared memory. ``program`` is the program's file; the store may lie in its folder. Raises
        ``RuntimeFault``.
        """
        from language.errors import RuntimeFault

        hook = "the embedder can offer it through the `kv` host hook, or " if self.takes_hooks else ""
        raise RuntimeFault(
            f'memory "{name}" is declared but this host provides no durable storage (wasm profile) — {hook}run the program '
            "with the native `lang` binary",
            kind="unsupported",
        )

    @property
    def takes_hooks(self) -> bool:
        """Whether an embedder can provide hooks for what this host does not have."""
        return True

    @property
    def runs_jobs(self) -> bool:
        """Whether scheduled jobs can run beside a program."""
        return False

    def write_line(self, line: str) -> None:
        """Writes one line of program output, given without its line end, and flushes it."""
        raise NotImplementedError

    def write_error_line(self, line: str) -> None:
        """Writes one line to the error stream and flushes it."""
        raise NotImplementedError

    def write_notice(self, text: str) -> None:
        """Writes a message of the runtime itself to the error stream, with control characters escaped."""
        from language.console_text import visible

        self.write_error_line(visible(text))

    def write_prompt(self, text: str) -> None:
        """Writes text without a line end."""
        raise NotImplementedError

    def is_terminal(self) -> bool:
        """Whether standard input is a terminal."""
        return False

    def read_line(self) -> str | None:
        """The next line of standard input without its line end; ``None`` at the end."""
        return None

    def flush(self) -> None:
        """Flushes buffered output."""

    def now(self) -> float:
        """Unix time in seconds."""
        raise NotImplementedError

    def warn(self, text: str) -> None:
        """Writes a warning of the runtime to the error stream."""
        self.write_error_line("lang: warning: " + text)

    def monotonic(self) -> float:
        """Seconds of a monotonic clock; only differences are meaningful."""
        raise NotImplementedError

    def post_webhook(self, url: str, body: bytes, headers: Mapping[str, str]) -> str | None:
        """Makes one attempt to deliver a webhook that the host itself configured. Returns ``None``, or the reason of the
        failure.
        """
        return "this host delivers no webhooks"

    def sleep(self, seconds: float) -> None:
        """Sleeps; a host that cannot sleep returns at once."""

    def bell(self) -> Bell:
        """A new bell to wait for; together with descriptors if the host has any."""
        return Bell()

    def random_bytes(self, count: int) -> bytes:
        """``count`` bytes of strong randomness. Raises ``RuntimeFault`` where there is none."""
        raise NotImplementedError

    def environ(self, name: str) -> str | None:
        """The value of an environment variable; ``None`` when it is not defined."""
        return None

    def secret_value(self, name: str) -> str | None:
        """The value of an environment variable that is requested as a secret; ``None`` when it is not defined."""
        return self.environ(name)

    def setting(self, name: str, *, secret: bool = False) -> tuple[str, str] | None:
        """The value of a setting of the runtime and where it comes from, ``environ`` or ``.env``; ``None`` where it is not
        defined or blank. ``secret`` is for keys.
        """
        value = (self.secret_value(name) if secret else self.environ(name)) or ""
        return (value.strip(), "environ") if value.strip() else None

    def append_audit_line(self, log: str, line: str) -> None:
        """Appends lines to an audit log that no program can switch off. Raises ``OSError`` when they are not written."""
        raise OSError("this host keeps no audit log")


def sleep_in_steps(seconds: float) -> None:
    """Sleeps in intervals, so that a cancellation can be delivered: a blocked thread receives no exception.

    The more threads sleep, the longer the intervals. :func:`wake_sleeper` ends the current interval of one thread at once.
    """
    import sys
    import time

    end = time.monotonic() + seconds
    if sys.platform == "wasi":  # a single thread, so there are no other threads to wake it
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, POLLING_INTERVAL))
        return
    ident = get_ident()
    alarm = _sleepers[ident] = allocate_lock()
    alarm.acquire()
    try:
        while (left := end - time.monotonic()) > 0:
            interval = max(POLLING_INTERVAL, len(_sleepers) / SLEEPER_POLLS_PER_SECOND)
            interruptible_wait(alarm, min(left, interval), interval)
    finally:
        _sleepers.pop(ident, None)


def wake_sleeper(ident: int) -> None:
    """Wakes the thread with this identifier if it sleeps. Called after an exception was raised in that thread."""
    alarm = _sleepers.get(ident)
    if alarm is not None and alarm.locked():
        try:
            alarm.release()
        except RuntimeError:
            return  # another thread released it first


class ProcessHost(Host):
    """A host with the clock and the randomness of this process, and nothing else."""

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
    """A host without access to the process. Its environment is the given mapping; output is collected by the program's
    context.
    """

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
