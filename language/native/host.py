"""The host that gives programs access to the operating system: streams, environment, files, processes, databases, network."""

from __future__ import annotations

from language.host import Bell, ProcessHost, sleep_in_steps
from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from language.host.databases import Databases
    from language.host.files import Files
    from language.host.http import Http
    from language.host.memory import MemoryStore
    from language.host.processes import Processes
    from language.host.terminal import UserTerminal
    from language.models.conversation import Model
    from language.native.model_tape import Tape


class NativeHost(ProcessHost):
    """Standard streams as UTF-8 with LF, the process environment and then the ``.env`` file, files, processes and network."""

    #: The folder with the program's files if that is not the working directory. To be set before files are used.
    package = ""
    #: Records the answers of the model or replays recorded ones. To be set before the model is used.
    model_tape: Tape | None = None

    def __init__(self, env_file: Mapping[str, str] | None = None, *, stdin_taken: bool = False) -> None:
        self._env_file = env_file
        self._stdin_taken = stdin_taken
        self._http: Http | None = None
        self._files: Files | None = None
        self._processes: Processes | None = None
        self._llm: tuple[Model | None] | None = None
        self._llm_lock = Lock()

    def memory(self, name: str, program: str) -> MemoryStore:
        from language.native.memory import SqliteMemory, folder_of

        return SqliteMemory(folder_of(program), name)

    def _reading_limit(self) -> int:
        """The largest body or message that is read, in bytes. An invalid setting gives one warning."""
        found: int | None = vars(self).get("_most_bytes")
        if found is None:
            from language.native.reading_limit import most_bytes

            found = vars(self).setdefault("_most_bytes", most_bytes(self.warn))
        return found

    @property
    def llm(self) -> Model | None:
        if self._llm is None:
            with self._llm_lock:  # the model is built once, and other threads see it only when it is complete
                if self._llm is None:
                    import sys

                    if sys.platform in ("wasi", "emscripten"):  # no provider can be reached from WebAssembly
                        self._llm = (None,)
                        return None
                    from language.native.models import model_for

                    self._llm = model_for(self, self.model_tape, self._reading_limit)
        return self._llm[0]

    def setting(self, name: str, *, secret: bool = False) -> tuple[str, str] | None:
        from os import environ

        here = environ.get(name, "").strip()
        if here:
            return here.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), "environ"
        beside = "" if self._env_file is None else (self._env_file.get(name) or "").strip()
        return (beside, ".env") if beside else None

    @property
    def files(self) -> Files:
        if self._files is None:
            if self.package:
                from language.native.packaged_files import PackagedFiles

                self._files = PackagedFiles(self.package)
            else:
                from language.native.files import NativeFiles

                self._files = NativeFiles()
        return self._files

    @property
    def processes(self) -> Processes | None:
        if self._processes is None:
            import sys

            if sys.platform in ("wasi", "emscripten"):
                return None
            from language.native.processes import NativeProcesses

            self._processes = NativeProcesses(self._env_file or (), most=self._reading_limit())
        return self._processes

    @property
    def terminal(self) -> UserTerminal | None:
        found: UserTerminal | None = vars(self).get("_terminal")
        if found is None and self.runs_jobs:
            from language.native.terminal import NativeTerminal

            found = vars(self).setdefault("_terminal", NativeTerminal(keys=not self._stdin_taken))
        return found

    @property
    def databases(self) -> Databases | None:
        found: Databases | None = vars(self).get("_databases")
        if found is None:
            import sys

            if sys.platform in ("wasi", "emscripten"):
                return None
            from language.native.databases import NativeDatabases

            # When two threads reach this at once, both get the object that is stored.
            found = vars(self).setdefault("_databases", NativeDatabases())
        return found

    @property
    def runs_jobs(self) -> bool:
        import sys

        return sys.platform not in ("wasi", "emscripten")

    @property
    def http(self) -> Http:
        if self._http is None:
            from language.native.http import NativeHttp

            self._http = NativeHttp(most=self._reading_limit())
        return self._http

    def write_line(self, line: str) -> None:
        _write_all(1, line + "\n")

    def write_error_line(self, line: str) -> None:
        _write_all(2, line + "\n")

    def write_prompt(self, text: str) -> None:
        _write_all(1, text)

    def is_terminal(self) -> bool:
        if self._stdin_taken:
            return False
        from os import isatty

        try:
            return isatty(0)
        except OSError:
            return False

    def read_line(self) -> str | None:
        if self._stdin_taken:
            return None
        import sys

        terminal: UserTerminal | None = vars(self).get("_terminal")
        if terminal is not None:
            terminal.release()
        data = sys.stdin.buffer.readline()
        if not data:
            return None
        data = data.removesuffix(b"\n").removesuffix(b"\r")
        return data.decode("utf-8", "replace")

    def post_webhook(self, url: str, body: bytes, headers: Mapping[str, str]) -> str | None:
        from language.native.webhook_delivery import post

        return post(url, body, headers)

    def sleep(self, seconds: float) -> None:
        sleep_in_steps(seconds)

    def bell(self) -> Bell:
        if not self.runs_jobs:
            return Bell()
        from language.native.bell import NativeBell

        return NativeBell()

    def environ(self, name: str) -> str | None:
        from os import environ

        value = environ.get(name)
        if value is not None:
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return None if self._env_file is None else self._env_file.get(name)

    def append_audit_line(self, log: str, line: str) -> None:
        import os
        from stat import S_ISREG

        # Reads the process environment only, because a program's .env file must not relocate the log.
        folder = os.environ.get("PLATFORM_AUDIT_DIR") or os.path.join(os.path.expanduser("~"), ".lang", "audit")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        # Refuses symbolic links, and does not block on a named pipe without a reader.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(os.path.join(folder, log), flags, 0o600)
        try:
            if not S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{log} is not a regular file")
            data = (line + "\n").encode("utf-8")
            if os.write(descriptor, data) != len(data):
                raise OSError("the line was written in part only")
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, text: str) -> None:
    from os import write

    data = text.encode("utf-8", "replace")
    while True:
        written = write(descriptor, data)
        if written == len(data):
            return
        data = data[written:]
