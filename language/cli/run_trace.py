"""``lang run --trace``: writes the spans of a run at its end, to a file or as a tree to standard error."""

from __future__ import annotations

import json
import os

from language.cli.arguments import UsageError, clean
from language.cli.streams import err
from language.console_text import visible
from language.release import __version__
from language.runtime.spans import Recorder, Spans
from language.tracing.otlp import otlp
from language.tracing.tree import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.cli.arguments import Arguments
    from language.runtime.instance import Instance


def run_traced(instance: Instance, arguments: Arguments) -> None:
    """Runs the program and writes its spans, also after an error. Raises ``UsageError`` if the file cannot be opened."""
    target = arguments.values["--trace"]
    name = os.path.basename(instance.context.program)
    context = instance.context
    recorder = Recorder(context.host, content="--trace-content" in arguments.values)
    context.spans = Spans(recorder)
    file = None
    if target != "-":
        try:
            file = open(target, "w", encoding="utf-8")  # noqa: SIM115 (opened before the run, so that a wrong path is reported first)
        except OSError as error:
            raise UsageError("run", f"--trace {clean(target)}: {error.strerror or error}", usage=False) from None
    try:
        with context.span(f"run {name}"):
            instance.run()
    finally:
        if file is None:
            for line in tree(recorder):
                err(visible(line))
        else:
            with file:
                json.dump(otlp(recorder, name, __version__), file, separators=(",", ":"))
                file.write("\n")
