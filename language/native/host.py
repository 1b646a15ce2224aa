"""The host that is the operating system: its streams, environment, files, processes, databases and network."""

from __future__ import annotations

from language.host import ProcessHost, sleep_in_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from language.host.databases import Databases
    from language.host.files import Files
    from language.host.http import Http
    from language.host.llm import Llm
    from language.host.memory import MemoryStore
    from language.host.processes import Processes


class NativeHost(ProcessHost):
    """The operating system: standard streams as UTF-8 bytes with LF, the process environment, then the ``.env`` file."""

    #: The folder that holds the files of the program, where it does not work in it; set before the files are asked for.
    package = ""

    def __init__(self, env_file: Mapping[str, str] | None = None, *, stdin_taken: bool = False) -> None:
        self._env_file = env_file
        self._stdin_taken = stdin_taken
        self._http: Http | None = None
        self._files: Files | None = None
        self._processes: Processes | None = None

    def memory(self, name: str, program: str) -> MemoryStore:
        from language.native.memory import SqliteMemory, folder_of

        return SqliteMemory(folder_of(program), name)

    def _reading_limit(self) -> int:
        """The largest body or message that is read, in bytes; a setting that is none is one warning."""
        found: int | None = vars(self).get("_most_bytes")
        if found is None:
            from language.native.reading_limit import most_bytes

            found = vars(self).setdefault("_most_bytes", most_bytes(self.warn))
        return found

    @property
    def llm(self) -> Llm | None:
        if not hasattr(self, "_llm"):
            from language.host.llm import mock_of

            self._llm: Llm | None = None
            if (self.environ("PLATFORM_LLM_PROVIDER") or "").strip() == "mock":
                self._llm = mock_of(self.environ("PLATFORM_LLM_MOCK") or "")
        return self._llm

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
    def databases(self) -> Databases | None:
        found: Databases | None = vars(self).get("_databases")
        if found is None:
            import sys

            if sys.platform in ("wasi", "emscripten"):
                return None
            from language.native.databases import NativeDatabases

            # Of two threads that come first, both get the one that is kept.
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

    def environ(self, name: str) -> str | None:
        from os import environ

        value = environ.get(name)
        if value is not None:
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return None if self._env_file is None else self._env_file.get(name)

    def append_audit_line(self, log: str, line: str) -> None:
        import os
        from stat import S_ISREG

        # The process environment alone: a program's .env file must not move the log away.
        folder = os.environ.get("PLATFORM_AUDIT_DIR") or os.path.join(os.path.expanduser("~"), ".lang", "audit")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        # Neither a link to elsewhere nor a pipe that nobody reads.
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
