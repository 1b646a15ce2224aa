"""Where cases run: a profile is a name and a function from a case to what came out of it.

``embedded`` is the public API of the package in this process, ``metered`` the same with a limit of steps (programs are compiled
another way under one), ``native`` the command as users start it, ``web`` and ``wasip1`` the WebAssembly builds under wasmtime.
A further build with a command line is one more :func:`command_profile`.
"""

from __future__ import annotations

import http.client
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import IO, Any

from conformance.cases import ERRORS, ROOT, Case, CaseRequest

COMMAND_SECONDS = 120
#: The first line that follows the one-line form of an error.
_BELOW = re.compile(r"[0-9]+ \| |[0-9]+ \|$|in .*, called at |help: |more: lang docs ")


@dataclass(frozen=True, slots=True)
class Result:
    """What a program did.

    ``output`` are its lines, ``stderr`` the lines of the error stream besides the error, ``error`` the display line of the
    error that ended it, ``exit_code`` what the command answers (derived where there is no process).
    """

    output: list[str]
    stderr: list[str]
    error: str | None
    exit_code: int


@dataclass(frozen=True, slots=True)
class Profile:
    """``log_in_output``: ``log`` lines are collected among the output instead of going to the error stream.

    ``build`` is the name that cases use in ``only`` and ``except``.
    """

    name: str
    build: str
    run: Callable[[Case], Result]
    log_in_output: bool


def _lines(chunks: Sequence[str]) -> list[str]:
    """Output entries as lines: one entry may hold line ends."""
    return "\n".join(chunks).split("\n") if chunks else []


def _ceiling(flags: tuple[str, ...]) -> str | None:
    if not flags:
        return None
    if flags == ("--sandbox",):
        return "sandbox"
    if len(flags) == 2 and flags[0] == "--cap-set":
        return flags[1]
    raise ValueError(f"flags without an equivalent in the embedding API: {shlex.join(flags)}")


def run_metered(case: Case) -> Result:
    """As :func:`run_embedded`, under a limit that no case reaches."""
    return run_embedded(replace(case, limits={"steps": 1_000_000_000, **case.limits}))


def run_embedded(case: Case) -> Result:
    """Runs the case through ``language.Program`` in this process."""
    import language

    logged: list[str] = []
    options: dict[str, Any] = {"filename": case.path.name, "env": case.env, "host": {"log": logged.append}}
    if case.files:
        options["files"] = {name: {"base64": b64encode(data).decode()} for name, data in case.files.items()}
    if case.limits:
        options["limits"] = case.limits
    ceiling = _ceiling(case.flags)
    if ceiling is not None:
        options["ceiling"] = ceiling
    program: Any = language.Program(case.data.decode("utf-8"), **options)
    if case.mode == "test":
        return _tested(program.test(), logged)
    if case.mode == "handle":
        return _handled(case, [program.handle(request_of(sent)) for sent in case.requests], logged)
    return _ran(program.run(), logged)


def run_web(case: Case) -> Result:
    """Runs the case in the web build, through the protocol."""
    from conformance.wasm_builds import web_answers

    request: dict[str, Any] = {
        "op": case.mode,
        "source": case.data.decode("utf-8"),
        "filename": case.path.name,
        "env": case.env,
        "host": {"log": True},
        "limits": case.limits,
        "ceiling": _ceiling(case.flags),
    }
    if case.files:
        request["files"] = {name: {"base64": b64encode(data).decode()} for name, data in case.files.items()}
    if case.mode == "handle":
        return _handled(case, *web_answers([{**request, "request": request_of(sent)} for sent in case.requests]))
    (answer,), logged = web_answers([request])
    return _tested(answer, logged) if case.mode == "test" else _ran(answer, logged)


def run_wasip1(case: Case) -> Result:
    """Runs the case with the wasip1 build, in a folder that holds nothing else."""
    from conformance.wasm_builds import run_command

    words = [*(["--test"] if case.mode == "test" else []), *case.flags, case.path.name]
    with _case_folder(case) as (folder, _):
        done = run_command(words, folder=Path(folder), env=case.env, stdin=(case.stdin or "").encode("utf-8"))
    stderr, error = _split_error(done.stderr)
    return Result(_output(case, done.stdout), stderr, error, done.code)


def request_of(sent: CaseRequest) -> dict[str, Any]:
    """A request in the form of handler mode."""
    return {"method": sent.method, "path": sent.target, "headers": sent.headers, "body": sent.body}


def _tested(answer: dict[str, Any], logged: list[str]) -> Result:
    total = answer["passed"] + answer["failed"]
    summary = f"{answer['passed']} passed, {answer['failed']} failed ({total} total)"
    return Result(_lines([*answer["lines"], summary]), _lines(logged), None, 0 if answer["ok"] else 1)


def _handled(case: Case, replies: list[dict[str, Any]], logged: list[str]) -> Result:
    errors = [error for reply in replies for error in reply["errors"]]
    output = [line for reply in replies for line in reply_lines(case, reply)]
    return Result(_lines(output), _lines(logged), errors[0] if errors else None, 1 if errors else 0)


def _ran(answer: dict[str, Any], logged: list[str]) -> Result:
    error = answer["errors"][0] if answer["errors"] else None
    exit_code = answer["exit"] if "exit" in answer else 0 if answer["ok"] else 1
    return Result(_lines(answer["output"]), _lines(logged), error, exit_code)


def reply_lines(case: Case, reply: dict[str, Any]) -> list[str]:
    """What a case expects of one reply, in the form of handler mode."""
    body = reply["body"] if "body" in reply else f"base64 {reply['body_base64']}"
    if not case.full_replies:
        return [*reply["log"], f"{reply['status']} {body}"]
    headers = [f"{name}: {value}" for name, value in reply["headers"]]
    return [*reply["log"], f"{reply['status']} {reply['content_type']}", *headers, *([body] if body else [])]


def _output(case: Case, stdout: str) -> list[str]:
    """The lines that a command printed. What it shows indented below a test that failed is no part of the case."""
    lines = stdout.removesuffix("\n").split("\n") if stdout else []
    if case.mode != "test":
        return lines
    kept: list[str] = []
    failed = False
    for line in lines:
        failed = line.startswith("✗ ") or (failed and line.startswith("  "))
        if not failed or line.startswith("✗ "):
            kept.append(line)
    return kept


def _split_error(stderr: str) -> tuple[list[str], str | None]:
    """The lines of the error stream and, apart, the error that ended the program (its message may span lines).

    What stands below an error, its line of source and how to put it right, is no part of it.
    """
    lines = stderr.split("\n")[:-1] if stderr.endswith("\n") else stderr.split("\n") if stderr else []
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].startswith(tuple(f"{category}: " for category in ERRORS.values())):
            below = (at for at in range(number + 1, len(lines)) if _BELOW.match(lines[at]))
            return lines[:number], "\n".join(lines[number : next(below, len(lines))])
    return lines, None


def run_served(case: Case) -> Result:
    """Runs the case under ``lang serve`` and sends its requests over a socket; replies in the form of handler mode.

    What a server adds to every reply (framing, date) is left out.
    """
    with _case_folder(case) as (folder, environment):
        environment.setdefault("PLATFORM_ERROR_DETAIL", "on")  # as handler mode does, which answers an embedder
        port = _free_port()
        server = subprocess.Popen(
            [*NATIVE_COMMAND, "serve", "--bind", "127.0.0.1", "--port", str(port), *case.flags, case.path.name],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        printed, logged = _Lines(server.stdout), _Lines(server.stderr)
        output: list[str] = []
        try:
            if printed.wait_for("Serving ", server):
                printed.take()
                for sent in case.requests:
                    reply = _sent(port, sent)
                    told = (f"[serve:{port}] 500 ", f"[serve:{port}] 401 ", "[serve] errors task failed: ")
                    failures = [
                        line.replace("[serve] ", f"[serve:{port}] ", 1) for line in logged.take() if line.startswith(told)
                    ]
                    lines = [line.removeprefix("[serve] ") for line in printed.take()]
                    lines += [line.replace(f"[serve:{port}]", "[handler]", 1) for line in failures]
                    output += reply_lines(case, {**reply, "log": lines})
        finally:
            server.terminate()
            server.wait(COMMAND_SECONDS)
        _, error = _split_error("\n".join(logged.take()))
        return Result(_lines(output), [], error, 1 if error else 0)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


_FRAMING = frozenset(("connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"))


def _sent(port: int, sent: CaseRequest) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=COMMAND_SECONDS)
    try:
        connection.putrequest(sent.method, sent.target.partition("#")[0])
        for name, value in sent.headers:
            connection.putheader(name, value)
        body = sent.body.encode()
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        reply = connection.getresponse()
        content_type = reply.headers.get("Content-Type", "")
        # A server with a socket shows a plain error as a page to browsers, and says so of every such error.
        negotiated = reply.status >= 400 and content_type == "application/json"
        return {
            "status": reply.status,
            "content_type": content_type,
            "headers": [
                (name, value)
                for name, value in reply.headers.items()
                if name.lower() not in _FRAMING and not (negotiated and (name, value) == ("Vary", "Accept"))
            ],
            "body": reply.read().decode("utf-8"),
        }
    finally:
        connection.close()


class _Lines:
    """The lines of a pipe as they come."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        assert pipe is not None
        self._lines: list[str] = []
        self._pipe = pipe
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._pipe:
            self._lines.append(line.decode("utf-8").removesuffix("\n"))

    def wait_for(self, start: str, process: subprocess.Popen[bytes]) -> bool:
        """Whether a line that begins so comes before the process ends."""
        while not any(line.startswith(start) for line in self._lines):
            if process.poll() is not None:
                time.sleep(0.05)  # the rest of its streams is being read
                return False
            time.sleep(0.005)
        return True

    def take(self) -> list[str]:
        """The lines since the last time. What was written before a reply arrives before or shortly after it."""
        time.sleep(0.02)
        taken, self._lines = self._lines, []
        return taken


@contextmanager
def _case_folder(case: Case) -> Iterator[tuple[str, dict[str, str]]]:
    """A folder with the files of the case and nothing else, and the environment it asks for."""
    with (
        tempfile.TemporaryDirectory(prefix="conformance-") as folder,
        tempfile.TemporaryDirectory(prefix="conformance-audit-") as audit,
    ):
        for path, data in {case.path.name: case.data, **case.files}.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PLATFORM_")}
        environment["PYTHONPATH"] = str(ROOT.parent)
        environment["PLATFORM_AUDIT_DIR"] = audit
        yield folder, {**environment, **case.env}


def command_profile(name: str, command: Sequence[str]) -> Profile:
    """A profile that starts ``command`` with the flags and the file of the case, in a folder that holds nothing else."""

    def run(case: Case) -> Result:
        if case.mode == "handle" and tuple(command) == NATIVE_COMMAND:
            return run_served(case)
        with _case_folder(case) as (folder, environment):
            done = subprocess.run(
                [*command, *(["--test"] if case.mode == "test" else []), *case.flags, case.path.name],
                cwd=folder,
                env=environment,
                input=(case.stdin or "").encode("utf-8"),
                capture_output=True,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        output = done.stdout.decode("utf-8")
        stderr, error = _split_error(done.stderr.decode("utf-8"))
        return Result(_output(case, output), stderr, error, done.returncode)

    return Profile(name, name, run, log_in_output=False)


NATIVE_COMMAND = (sys.executable, "-m", "language.cli.main")

PROFILES = {
    "embedded": Profile("embedded", "embedded", run_embedded, log_in_output=True),
    "metered": Profile("metered", "embedded", run_metered, log_in_output=True),
    "native": command_profile("native", NATIVE_COMMAND),
    "web": Profile("web", "web", run_web, log_in_output=True),
    "wasip1": Profile("wasip1", "wasip1", run_wasip1, log_in_output=False),
}
