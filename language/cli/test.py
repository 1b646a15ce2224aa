"""``lang test``: runs the test blocks of programs and reports them."""

from __future__ import annotations

import time

from language.cli import envfile
from language.cli.arguments import TEST, UsageError, clean, parse
from language.cli.compiled_program import compile_program, make_instance
from language.cli.program_files import program_files
from language.cli.progress import Progress
from language.cli.run import open_stream
from language.cli.source import not_utf8, read_source
from language.cli.streams import CommandHost, err, out, say, say_line
from language.console_text import one_line
from language.errors import LanguageError
from language.runtime.instance import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from language.capabilities import Ceiling
    from language.cli.arguments import Arguments
    from language.cli.source import Source
    from language.native.model_tape import Tape


class TestOptions:
    """The options of one call, the same for every file."""

    __slots__ = ("ceiling", "env", "flags", "junit", "selected", "stream", "tape", "verbose", "words")

    def __init__(self, arguments: Arguments) -> None:
        self.ceiling: Ceiling | None = arguments.ceiling()
        self.selected: Callable[[str], bool] | None = None
        expression = arguments.values.get("-k")
        if expression is not None:
            from language.cli.selection import compile_selection

            try:
                self.selected = compile_selection(clean(expression))
            except ValueError as error:
                raise UsageError("test", f"-k: {error}", usage=False) from None
        self.verbose = arguments.given("--verbose")
        self.junit = arguments.values.get("--junit")
        #: what ``args()`` returns in ``lang --test FILE``; the words after ``lang test`` are files
        self.words = tuple([clean(word) for word in arguments.paths[1:] + arguments.rest]) if not arguments.command else ()
        self.env = envfile.chosen(arguments)
        self.flags = arguments
        self.tape = _tape(arguments)
        self.stream = open_stream(arguments)


def _tape(arguments: Arguments) -> Tape | None:
    """The folder to which answers of the model are recorded, or from which they are replayed; ``None`` without either."""
    record, replay = arguments.values.get("--record"), arguments.values.get("--replay")
    if record is not None and replay is not None:
        raise UsageError("test", "--record and --replay are mutually exclusive; choose one")
    folder = record or replay
    if folder is None:
        return None
    from language.native.model_tape import Tape

    try:
        return Tape(folder, recording=record is not None)
    except OSError as error:
        flag, what = ("--record", "write to") if record is not None else ("--replay", "read")
        raise UsageError("test", f"{flag}: cannot {what} the folder '{clean(folder)}': {error.strerror}", usage=False) from None


class FileResult:
    """The outcomes of one file, and its duration in seconds."""

    __slots__ = ("file", "outcomes", "seconds")

    def __init__(self, file: str, outcomes: list[Outcome], seconds: float) -> None:
        self.file = file
        self.outcomes = outcomes
        self.seconds = seconds


def command(words: Sequence[str]) -> int:
    arguments = parse("test", words, TEST)
    paths = arguments.paths + arguments.rest or ["."]
    options = TestOptions(arguments)
    if arguments.given("--watch"):
        if "-" in paths:
            raise UsageError("test", "--watch needs files: standard input can be read only once")
        from language.cli.watch import watch

        return watch(lambda: run_files("test", options, paths), lambda: program_files(paths, "test"))
    return run_files("test", options, paths)


def run_files(command: str, options: TestOptions, paths: list[str]) -> int:
    """Runs the tests of every program that the paths name. All files are read before the first test runs."""
    if options.stream is not None:
        return options.stream.around(lambda: _run_files(command, options, paths))
    return _run_files(command, options, paths)


def _run_files(command: str, options: TestOptions, paths: list[str]) -> int:
    sources = [read_source(file, command) for file in program_files(paths, command)]
    # Programs that were found in a folder and have no tests are not run, because running one has all its effects.
    sources = [source for source in sources if source.name in paths or _has_tests(source)]
    for source in sources:
        try:
            source.data.decode("utf-8")
        except UnicodeDecodeError:
            raise not_utf8(source.name, command) from None
    progress = Progress()
    results = []
    for source in sources:
        if len(sources) > 1:
            progress.clear()
            say_line(f"{source.name}:")
        results.append(_run_file(source, options, progress))
    progress.clear()
    return _summary(results, options, progress)


def _run_file(source: Source, options: TestOptions, progress: Progress) -> FileResult:
    """Runs the tests of one program in a new instance."""
    start = time.perf_counter()
    progress.show(source.name)
    outcomes: list[Outcome] = []

    try:
        code = compile_program(source, "test", test=True)
    except LanguageError as error:
        outcomes.append(Outcome("<parse>", False, str(error), 0.0, [], error))
        _result(outcomes[0], source)
        return FileResult(source.name, outcomes, time.perf_counter() - start)
    host = CommandHost(options.env, stdin_taken=source.from_stdin)
    if options.tape is not None:
        host.model_tape = options.tape
        options.tape.begin()
    instance = make_instance(
        code,
        source,
        host,
        mode="test",
        ceiling=options.ceiling,
        collect=True,
        arguments=options.words,
        flags=options.flags,
        stream=options.stream,
    )
    lines = instance.context.collected
    shown = 0

    def show_printed() -> None:
        nonlocal shown
        for text in lines[shown:]:
            for line in text.split("\n"):
                say(f"  | {line}")
        shown = len(lines)

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if options.tape is not None:
            options.tape.begin()
        progress.clear()
        if options.verbose:  # results are shown at the end of the file, after everything that was printed
            show_printed()
        else:
            _result(outcome, source)
        progress.show(f"{source.name}: {outcome.name}")

    instance.test(report, select=options.selected)
    progress.clear()
    if options.verbose:
        show_printed()
        for outcome in outcomes:
            _result(outcome, source)
    return FileResult(source.name, outcomes, time.perf_counter() - start)


def _result(outcome: Outcome, source: Source) -> None:
    """Prints the line of a test. For a failed one also its line of source, its duration and where two values differ."""
    if outcome.passed:
        say(f"✓ {one_line(outcome.name)}")
        return
    say(f"✗ {one_line(outcome.name)}: {outcome.message}")
    if outcome.error is not None:
        from language.cli.test_details import details

        for line in details(outcome.error, outcome.seconds, source, ran=outcome.name != "<parse>"):
            say_line(f"  {line}")


def _has_tests(source: Source) -> bool:
    """Whether the program may contain a test block. This fast search can return true for a program without one."""
    import re

    return re.search(rb'(?:^|[\r\n])[ \t]*test[ \t]+"', source.data) is not None


def _summary(results: list[FileResult], options: TestOptions, progress: Progress) -> int:
    outcomes = [outcome for result in results for outcome in result.outcomes]
    failed = sum(1 for outcome in outcomes if not outcome.passed)
    out(f"{len(outcomes) - failed} passed, {failed} failed ({len(outcomes)} total)")
    if options.selected is not None and not outcomes:
        err(f"lang test: no test has a name that fits -k {one_line(clean(options.flags.values['-k']))}")
    if progress.visible:
        slowest = max(outcomes, key=lambda outcome: outcome.seconds, default=None)
        name = "" if slowest is None else "".join(c if c.isprintable() else " " for c in slowest.name)
        longest = "" if slowest is None else f"; slowest: {name} ({slowest.seconds:.2f} s)"
        err(f"in {progress.seconds:.2f} s{longest}")
    if options.junit is not None:
        from language.cli import junit

        try:
            junit.write(options.junit, results)
        except OSError as error:
            err(f"lang test: cannot write '{clean(options.junit)}': {error.strerror}")
            return 2
    return 1 if failed else 0
