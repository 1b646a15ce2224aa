"""Running commands. Gate: ``exec``, of the command's name or of the file at its path."""

from __future__ import annotations

from language.capabilities import Capability
from language.capabilities.commands import written_apart
from language.errors import RuntimeFault
from language.host.processes import CannotStart, Command, TimedOut
from language.registry import Family
from language.values import Secret, as_map, to_bool, type_of
from language.values.display import number_text, raw_text
from stdlib.options import option_map, timeout_of, whole_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.capabilities.commands import AskedCommand
    from language.host.processes import Processes
    from language.runtime.context import Context

family = Family("processes", "Processes")

_SECONDS = 120
_MOST_OUTPUT = 10 * 1024 * 1024
#: Variables that make the dynamic loader run other code in a command.
_LOADER_NAMES = ("LD_", "DYLD_")


@family.builtin("run(cmd, args?, timeout?, opts?)", capability="exec", context=True)
def run(ctx: Context, cmd: Any, args: Any = None, timeout: Any = None, opts: Any = None) -> dict[str, Any]:
    """Runs a command to its end: `{exit_code, stdout, stderr, stdout_truncated, stderr_truncated}`. Needs
    `require exec("cmd")`.

    There is no shell: `args` is a list of what the command receives, each as text (a secret as `secret(NAME)`). A name without
    `/` is looked up in `PATH`. Symbolic links in a path are resolved; the capability must cover the resulting file, which is
    the one that runs. An exit code other than 0 is not an error; -1 means that a signal killed the command. Bytes of output
    that are not UTF-8 become U+FFFD.

    After `timeout` seconds (120) the command and the processes that it started are killed, which is an error.

    `opts` is a map of:

    - `cwd`: the folder to run in
    - `env`: a map of variables to add. The command gets the environment of the program, but not the variables of the `.env`
      file, the keys of LLM providers, `PLATFORM_*`, and the variables that a `require secret("NAME")` of the program names
    - `stdin`: text or bytes for its standard input, which is empty otherwise
    - `max_output`: bytes kept of each output (10 MiB); the rest is dropped and `stdout_truncated` or `stderr_truncated` set

    A secret in `env` or as `stdin` needs `require reveal("NAME")`.

    `run("git", ["log", "-1"])["stdout"]` is what git prints. What the command does is not restricted: granting `exec` grants
    everything that the command can do.
    """
    name, asked, processes = allowed_command(ctx, "run", cmd)
    if args is not None and type(args) is not list:
        raise RuntimeFault("run: args must be a list", kind="type")
    options = option_map("run", opts, ("cwd", "env", "stdin", "max_output"))
    seconds = timeout_of("run", timeout, _SECONDS)
    command = Command(
        name,
        asked.located,
        [raw_text(argument) for argument in args or ()],
        seconds=seconds,
        standard_input=input_bytes(ctx, 'run: option "stdin"', options["stdin"]) if "stdin" in options else None,
        folder=raw_text(options["cwd"]) if "cwd" in options else None,
        added=variables(ctx, "run", options["env"]) if "env" in options else {},
        withheld=withheld(ctx),
        most_output=whole_option("run", options, "max_output", _MOST_OUTPUT, least=0),
    )
    try:
        done = processes.run(command)
    except CannotStart as error:
        apart = written_apart(name, "run") if str(error).casefold().startswith("no such") else ""
        raise RuntimeFault(f'run: cannot start "{name}": {error}', kind="file", help=apart) from None
    except TimedOut:
        told = "the third argument of `run` is the limit in seconds"
        raise RuntimeFault(f'run: "{name}" timed out after {_shown(seconds)}s', kind="timeout", help=told) from None
    return {
        "exit_code": done.exit_code,
        "stdout": done.stdout.decode("utf-8", "replace"),
        "stderr": done.stderr.decode("utf-8", "replace"),
        "stdout_truncated": to_bool(done.stdout_cut),
        "stderr_truncated": to_bool(done.stderr_cut),
    }


def _shown(seconds: Any) -> str:
    """A number of seconds for a message; a whole number without its fraction."""
    return number_text(int(seconds) if seconds == int(seconds) else seconds)


def allowed_command(ctx: Context, builtin: str, cmd: Any) -> tuple[str, AskedCommand, Processes]:
    """The name of a command, the command that may be started for it, and the host's processes. Raises ``RuntimeFault`` unless
    ``exec`` covers it.
    """
    name = raw_text(cmd)
    processes = ctx.host.processes
    try:
        asked = ctx.check_command(name)
    except RuntimeFault as fault:
        if processes is not None:
            raise
        raise RuntimeFault(f"{fault.message}; {no_processes(ctx, builtin)}", kind=fault.kind, code=fault.code) from None
    if processes is None:
        raise RuntimeFault(no_processes(ctx, builtin), kind="unsupported")
    return name, asked, processes


def no_processes(ctx: Context, builtin: str) -> str:
    """The text of the error on hosts without processes."""
    files = ctx.host.files
    if files is None or files.partial:
        from stdlib.files import no_files

        return no_files(builtin)
    return (
        f"{builtin}: not available in the wasm profile — this build has no child processes (run the program with the native "
        "`lang` binary)"
    )


def input_bytes(ctx: Context, what: str, value: Any) -> bytes:
    """The bytes for the input of a process; ``what`` names the value in errors. A secret needs ``reveal``. Raises
    ``RuntimeFault``.
    """
    content = _plain(ctx, value)
    if type(content) is bytes:
        return content
    if type(content) is str:
        return content.encode("utf-8", "replace")
    raise RuntimeFault(f"{what} must be text or bytes, got {type_of(content)}", kind="type")


def variables(ctx: Context, builtin: str, value: Any) -> dict[str, str]:
    """The variables that the option ``env`` adds for a child. A secret needs ``reveal``. Raises ``RuntimeFault``."""
    given = as_map(value)
    if given is None:
        raise RuntimeFault(f'{builtin}: option "env" must be a map, got {type_of(value)}', kind="type")
    added = {}
    for name, content in given.items():
        if name.upper().startswith(_LOADER_NAMES):
            raise RuntimeFault(f"{builtin}: {name} cannot be set: it would make the command run other code")
        if not name or "=" in name:
            raise RuntimeFault(f'{builtin}: "{name}" is no name of a variable')
        plain = _plain(ctx, content)
        added[name] = plain.decode("utf-8", "replace") if type(plain) is bytes else raw_text(plain)
    return added


def _plain(ctx: Context, value: Any) -> Any:
    """The input of the process. The plaintext of a secret is used only where its name is granted, as with ``reveal``."""
    if type(value) is not Secret:
        return value
    from stdlib.sealing import unsealed

    return unsealed(ctx, value)


def withheld(ctx: Context) -> Callable[[str], bool]:
    """Whether a variable is a secret of the program, by its ``require`` lines."""
    named = ctx.capabilities.named_secrets()
    return lambda name: any(secret.covers(Capability("secret", name)) for secret in named)
