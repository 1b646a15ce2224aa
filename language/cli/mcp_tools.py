"""The tools that ``lang mcp`` offers: their names, arguments, commands and results."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any

from language.cli.bounded_process import BoundedCommands, Ended
from language.mcp.exchange import ToolCall

#: The most bytes of one program.
LONGEST_SOURCE = 1 << 20
_MOST_NAMES = 50
_SOURCE = {"type": "string", "description": "The text of the program"}
_NAMES = {
    "type": "array",
    "items": {"type": "string"},
    "description": 'Builtins, families of builtins, keywords, error codes such as "E0301"; "guide" is the language on one '
    "page: read it first",
}


@dataclass(frozen=True, slots=True)
class RunningPlace:
    """Where programs run. ``words`` are the command-line flags of the ceiling, ``said`` is the description of the ceiling for
    clients. ``folder`` is the working folder that the operator chose; if it is empty, each program gets a new empty folder.
    """

    words: tuple[str, ...]
    said: str
    folder: str


class Toolchain:
    """The tools for one place, with its limits."""

    def __init__(self, place: RunningPlace, commands: BoundedCommands) -> None:
        self._place = place
        self._commands = commands

    def listed(self) -> list[dict[str, Any]]:
        """The entries of ``tools/list``."""
        bounds = self._commands.bounds
        limits = f"{place_text(self._place)} It is ended after {bounds.seconds:g} seconds or {bounds.output} bytes of output."
        return [
            _tool("check", "Finds the errors of a program without running it.", _SOURCE, reads_only=True),
            _tool("run", f"Runs a program. {limits}", _SOURCE, reads_only=False),
            _tool("test", f"Runs the test blocks of a program. {limits}", _SOURCE, reads_only=False),
            _tool("fmt", "Gives a program in the canonical layout.", _SOURCE, reads_only=True),
            _tool("docs", "Explains builtins, keywords and errors of the language.", _NAMES, reads_only=True, takes="names"),
        ]

    def answer(self, call: ToolCall, cancelled: Event) -> None:
        """Runs the tool that a call names and sets the outcome of the call; for wrong arguments, sets an error."""
        takes = "names" if call.name == "docs" else "source"
        unknown = [name for name in call.arguments if name != takes]
        value = call.arguments.get(takes)
        if unknown:
            why = f"unknown argument '{unknown[0]}': {call.name} takes '{takes}'"
        else:
            why = _names_fault(value) if takes == "names" else _source_fault(value)
        if why:
            call.refuse(why)
            return
        words, source = ["docs", "--", *(value or [])], b""
        if takes == "source":
            words, source = self._words(call.name), str(value).encode("utf-8", "replace")
        try:
            with self._folder() as folder:
                ended = self._commands.run(words, source, folder, cancelled)
        except OSError as error:
            call.give(_outcome(f"the tool could not be started: {error.strerror}", failed=True))
            return
        call.give(self._told(call.name, ended))

    def _words(self, name: str) -> list[str]:
        if name == "run":
            return ["run", *self._place.words, "--no-env-file", "--gates", "deny", "--filename", "program.lang", "-"]
        if name == "test":
            return ["test", *self._place.words, "--no-env-file", "-v", "-"]
        return [name, "-"]

    @contextlib.contextmanager
    def _folder(self) -> Iterator[str]:
        if self._place.folder:
            yield self._place.folder
        else:
            with tempfile.TemporaryDirectory(prefix="lang-mcp-", ignore_cleanup_errors=True) as folder:
                yield folder

    def _told(self, name: str, ended: Ended) -> dict[str, Any]:
        bounds = self._commands.bounds
        failed = bool(ended.bound) or ended.code != 0
        parts = [ended.output, ended.errors]
        if ended.bound == "time":
            parts.append(f"Ended: it took longer than {bounds.seconds:g} seconds.\n")
        elif ended.bound == "output":
            parts.append(f"Ended: it wrote more than {bounds.output} bytes; what came before stands above.\n")
        elif ended.bound == "cancelled":
            parts.append("Ended: the call was cancelled.\n")
        elif ended.code < 0:
            parts.append(f"Ended by signal {-ended.code}: it took more than it may of processor time or memory.\n")
        text = "".join(part if part.endswith("\n") or not part else part + "\n" for part in parts) or "There was no output."
        if name == "fmt" and not failed:
            text = ended.output  # as it is, since clients write it into the file
        about = {"output": ended.output, "errors": ended.errors, "exit_code": ended.code, "ended_by": ended.bound}
        return {**_outcome(text, failed=failed), "structuredContent": about}


def place_text(place: RunningPlace) -> str:
    """The description of the place for a client."""
    where = f"in the folder {place.folder}" if place.folder else "in an empty folder of its own"
    return f"The program runs {where} under this ceiling: {place.said}. What it needs it declares with `require`."


def _tool(name: str, description: str, argument: dict[str, Any], *, reads_only: bool, takes: str = "source") -> dict[str, Any]:
    schema = {"type": "object", "properties": {takes: argument}, "additionalProperties": False}
    if takes == "source":
        schema["required"] = [takes]
    hints = {"readOnlyHint": reads_only, "openWorldHint": not reads_only}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints}


def _outcome(text: str, *, failed: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _source_fault(value: Any) -> str:
    if type(value) is not str:
        return "argument 'source' must be the text of a program"
    return f"a program has at most {LONGEST_SOURCE} characters" if len(value) > LONGEST_SOURCE else ""


def _names_fault(value: Any) -> str:
    if value is None:
        return ""
    if type(value) is not list or any(type(name) is not str or "\0" in name or len(name) > 200 for name in value):
        return "argument 'names' must be a list of names"
    return f"at most {_MOST_NAMES} names at a time" if len(value) > _MOST_NAMES else ""
