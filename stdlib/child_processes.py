"""Processes that run beside the program. Gate: ``exec`` as for ``run``, asked again each time a process is used.

A process runs in a process group of its own, which is killed at the end of the run, handler, job or agent that started it,
however that ends.
"""

from __future__ import annotations

from language.capabilities.commands import written_apart
from language.errors import RuntimeFault
from language.host.processes import CannotStart, Command, ProcessEnded, TimedOut
from language.locks import Lock
from language.registry import Family
from language.values import FALSE, TRUE, Bool, to_bool, type_of
from language.values.display import raw_text
from stdlib.native_only import native_only
from stdlib.options import option_map, timeout_of, whole_option
from stdlib.processes import allowed_command, input_bytes, variables, withheld

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.capabilities.commands import AskedCommand
    from language.host.processes import OpenProcess
    from language.runtime.context import Context, Lifetime

family = Family("child_processes", "Processes beside the program")

_SECONDS = 30.0
_MOST_OUTPUT = 1 << 20
#: The most open child processes of one interpreter process.
MOST_PROCESSES = 64
_SIGNALS = ("kill", "term", "int", "hup")

_lock = Lock()
_open: dict[Lifetime, set[ChildProcess]] = {}


class ChildProcess:
    """The value of ``proc_spawn``."""

    __slots__ = ("_ctx", "asked", "binary", "name", "process", "started")

    language_type = "process"

    def __init__(self, ctx: Context, asked: AskedCommand, name: str, binary: bool) -> None:
        self._ctx = ctx
        self.asked = asked
        self.name = name
        self.binary = binary
        self.process: OpenProcess | None = None
        self.started = ctx.host.monotonic()

    def display(self) -> str:
        return f"process({self.name})"

    def belongs_to(self, ctx: Context) -> bool:
        return self._ctx is ctx


@family.builtin("proc_spawn(cmd, args?, opts?)", capability="exec", profile="native", context=True)
def proc_spawn(ctx: Context, cmd: Any, args: Any = None, opts: Any = None) -> ChildProcess:
    """Starts a command that runs beside the program: `proc_recv` reads what it writes, `proc_send` writes to it. Needs
    `require exec("cmd")`; `cmd`, `args` and the environment are those of `run`.

    `proc_close` ends the process, and so does the end of the run, handler, job or agent that started it, even when the
    interpreter is killed. Processes that it has started in its process group end with it. It cannot be used in another run,
    handler, job or agent, or in a worker. At most 64 are open at a time.

    `opts` is a map of:

    - `cwd`, `env`: as for `run`
    - `binary`: `true` to receive output as bytes, as it arrives, instead of lines of text
    - `max_output`: bytes of unread output that are buffered (1 MiB); beyond that the process blocks until the program reads

    `let p be proc_spawn("tail", ["-f", "app.log"])`
    """
    _processes(ctx, "proc_spawn")
    name, asked, processes = allowed_command(ctx, "proc_spawn", cmd)
    if args is not None and type(args) is not list:
        raise RuntimeFault("proc_spawn: args must be a list", kind="type")
    options = option_map("proc_spawn", opts, ("cwd", "env", "binary", "max_output"))
    binary = options.get("binary", FALSE)
    if type(binary) is not Bool:
        raise RuntimeFault(f'proc_spawn: option "binary" must be true or false, got {type_of(binary)}', kind="type")
    command = Command(
        name,
        asked.located,
        [raw_text(argument) for argument in args or ()],
        folder=raw_text(options["cwd"]) if "cwd" in options else None,
        added=variables(ctx, "proc_spawn", options["env"]) if "env" in options else {},
        withheld=withheld(ctx),
        most_output=whole_option("proc_spawn", options, "max_output", _MOST_OUTPUT, 1, 1 << 30),
    )
    made = ChildProcess(ctx, asked, name, bool(binary))
    lifetime = ctx.lifetime
    with _lock:
        if sum(map(len, _open.values())) >= MOST_PROCESSES:
            raise RuntimeFault(
                f"proc_spawn: {MOST_PROCESSES} processes are open, which is as many as there can be: close some with "
                "proc_close",
                kind="resources",
            )
        if lifetime not in _open:
            lifetime.at_end(lambda: _end_all(lifetime))
        _open.setdefault(lifetime, set()).add(made)
    try:
        made.process = processes.open(command, by_lines=not made.binary)
    except CannotStart as error:
        apart = written_apart(name, "proc_spawn") if str(error).casefold().startswith("no such") else ""
        raise RuntimeFault(f'proc_spawn: cannot start "{name}": {error}', kind="file", help=apart) from None
    finally:
        if made.process is None:
            _forget(ctx, made)
    return made


@family.builtin("proc_recv(process, timeout?)", capability="exec", profile="native", context=True)
def proc_recv(ctx: Context, process: Any, timeout: Any = None) -> dict[str, Any] | None:
    """The next output of a process, as `{type, data}`: `type` is `stdout` or `stderr`, `data` a line without its end. When the
    process has ended and all its output is read, every call gives the `type` `exit` with the exit code as `data`. The result is
    `nothing` when there is no output within `timeout` seconds (30; 0 checks once).

    A line longer than `max_output` arrives in parts. Bytes that are not UTF-8 become U+FFFD; with the option `binary` of
    `proc_spawn`, `data` is bytes as they arrive.

    `let event be proc_recv(p, 5)`
    """
    running = used(ctx, "proc_recv", process)
    event = running.receive(timeout_of("proc_recv", timeout, _SECONDS))
    if event is None:
        return None
    if event.kind == "exit":
        return {"type": "exit", "data": event.code}
    return {"type": event.kind, "data": event.data if process.binary else event.data.decode("utf-8", "replace")}


@family.builtin("proc_send(process, data, timeout?)", capability="exec", profile="native", context=True)
def proc_send(ctx: Context, process: Any, data: Any, timeout: Any = None) -> Bool:
    """Writes text (as UTF-8, without a line end of its own) or bytes to the input of a process and gives `true`. A secret needs
    `require reveal("NAME")`.

    It is an error when the process no longer reads its input, or does not read all data within `timeout` seconds (30), for
    example because it waits for its own output to be read. A part of the data may then have been written.

    `proc_send(p, "a line\\n")`
    """
    running = used(ctx, "proc_send", process)
    seconds = timeout_of("proc_send", timeout, _SECONDS)
    content = input_bytes(ctx, "proc_send: the data", data)
    try:
        running.send(content, seconds)
    except ProcessEnded:
        raise RuntimeFault(f"proc_send: {process.display()} does not read its input any more", kind="file") from None
    except TimedOut:
        raise RuntimeFault(
            f"proc_send: {process.display()} did not take all of the data within {seconds:g} s; read its output with "
            "proc_recv in between",
            kind="timeout",
        ) from None
    return TRUE


@family.builtin("proc_close_stdin(process)", capability="exec", profile="native", context=True)
def proc_close_stdin(ctx: Context, process: Any) -> Bool:
    """Closes the input of a process, which then reads end of file, and gives `true`. Calling it again does nothing."""
    used(ctx, "proc_close_stdin", process).close_input()
    return TRUE


@family.builtin("proc_status(process)", capability="exec", profile="native", context=True)
def proc_status(ctx: Context, process: Any) -> str:
    """`running`, `exited`, `killed` (a signal ended it) or `closed` (after `proc_close`)."""
    _check(ctx, "proc_status", process)
    if not _is_open(ctx, process):
        return "closed"
    code = process.process.exit_code()
    return "running" if code is None else "killed" if code < 0 else "exited"


@family.builtin("proc_kill(process, signal?)", capability="exec", profile="native", context=True)
def proc_kill(ctx: Context, process: Any, signal: Any = None) -> Bool:
    """Sends a signal to a process and to the processes that it has started in its group: `"kill"` (the default), which ends
    them at once, `"term"`, `"int"` or `"hup"`, which they may handle. Gives whether the process was still running.

    `proc_kill(p, "term")` asks it to end; `proc_wait(p, 5)` says whether it has.
    """
    running = used(ctx, "proc_kill", process)
    name = "kill" if signal is None else signal
    if type(name) is not str or name not in _SIGNALS:
        raise RuntimeFault(f"proc_kill: the signal must be one of {', '.join(_SIGNALS)}")
    return to_bool(running.signal(name))


@family.builtin("proc_wait(process, timeout?)", capability="exec", profile="native", context=True)
def proc_wait(ctx: Context, process: Any, timeout: Any = None) -> int | None:
    """Waits until a process has ended and gives its exit code, -1 when a signal ended it; `nothing` when it has not after
    `timeout` seconds (without one: no limit).

    Meanwhile its output is kept for `proc_recv` up to `max_output`; further output is dropped (`proc_stats` says how much), so
    that the process never waits for the program.

    `proc_wait(p, 60)`
    """
    running = used(ctx, "proc_wait", process)
    return running.wait(None if timeout is None else timeout_of("proc_wait", timeout, _SECONDS))


@family.builtin("proc_stats(process)", capability="exec", profile="native", context=True)
def proc_stats(ctx: Context, process: Any) -> dict[str, Any]:
    """The resource use of a process: `{pid, seconds, cpu_seconds, memory_bytes, sent, received, dropped}`.

    `seconds` is the time since its start. `cpu_seconds` and `memory_bytes` are those of the process without its children; they
    are `nothing` when it has ended or the system does not report them. `sent`, `received` and `dropped` are bytes of its
    streams.
    """
    running = used(ctx, "proc_stats", process)
    usage = running.usage()
    return {
        "pid": running.pid,
        "seconds": ctx.host.monotonic() - process.started,
        "cpu_seconds": None if usage is None else usage[0],
        "memory_bytes": None if usage is None else usage[1],
        "sent": running.sent,
        "received": running.received,
        "dropped": running.dropped,
    }


@family.builtin("proc_close(process)", profile="native", context=True)
def proc_close(ctx: Context, process: Any) -> Bool:
    """Kills a process, if it still runs, with the processes that it has started in its group, and gives `true`. Calling it
    again does nothing.

    `proc_close_stdin` and `proc_wait` before it let the process end by itself.
    """
    _processes(ctx, "proc_close")
    if type(process) is not ChildProcess:
        raise RuntimeFault(f"proc_close expects a process, got {type_of(process)}", kind="type")
    if not process.belongs_to(ctx):
        raise RuntimeFault("proc_close: a process does not cross into workers, agents or handlers: close it where it began")
    if process.process is not None:
        process.process.end()
    _forget(ctx, process)
    return TRUE


def _check(ctx: Context, builtin: str, process: Any) -> None:
    _processes(ctx, builtin)
    if type(process) is not ChildProcess:
        raise RuntimeFault(f"{builtin} expects a process, got {type_of(process)}", kind="type")
    ctx.capabilities.check_command(process.asked)
    if not process.belongs_to(ctx):
        raise RuntimeFault(f"{builtin}: a process does not cross into workers, agents or handlers: start one there")


def used(ctx: Context, builtin: str, process: Any) -> OpenProcess:
    """The running process behind the value that was given to ``builtin``. Raises ``RuntimeFault``."""
    _check(ctx, builtin, process)
    if process.process is None or not _is_open(ctx, process):
        raise RuntimeFault(f"{builtin}: {process.display()} is closed")
    found: OpenProcess = process.process
    return found


def _is_open(ctx: Context, process: ChildProcess) -> bool:
    return process in _open.get(ctx.lifetime, ())


def _forget(ctx: Context, process: ChildProcess) -> None:
    with _lock:
        _open.get(ctx.lifetime, set()).discard(process)


def _end_all(lifetime: Lifetime) -> None:
    """Ends all processes of a run. A cancellation can interrupt it anywhere, so a process is removed only after it has
    ended.
    """
    while True:
        with _lock:
            process = next(iter(_open.get(lifetime, ())), None)
            if process is None:
                _open.pop(lifetime, None)
                return
        if process.process is not None:
            process.process.end()
        with _lock:
            _open.get(lifetime, set()).discard(process)


def _processes(ctx: Context, builtin: str) -> None:
    """Raises ``RuntimeFault`` in a build without processes, before anything else is checked."""
    if ctx.host.processes is None:
        raise native_only(builtin, "this build has no child processes")
