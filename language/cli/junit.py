"""The results of ``lang test`` as JUnit XML, which every continuous integration service reads."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.cli.test import FileResult
    from language.runtime.instance import Outcome


def document(results: list[FileResult]) -> str:
    """The whole document: one ``testsuite`` for each file, one ``testcase`` for each test block, times in seconds."""
    suites = "".join(_suite(result) for result in results)
    counts = _counts(results)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites{counts}>\n{suites}</testsuites>\n'


def write(path: str, results: list[FileResult]) -> None:
    """Writes the document in one step, so that no reader sees half of it. Raises ``OSError``."""
    temporary = f"{path}.{os.getpid()}"
    try:
        with open(temporary, "wb") as file:
            file.write(document(results).encode("utf-8", "replace"))
        os.replace(temporary, path)
    except OSError:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise


def _suite(result: FileResult) -> str:
    cases = "".join(_case(result.file, outcome) for outcome in result.outcomes)
    return f"  <testsuite{_attribute('name', result.file)}{_counts([result])}>\n{cases}  </testsuite>\n"


def _counts(results: list[FileResult]) -> str:
    outcomes = [outcome for result in results for outcome in result.outcomes]
    failed = [outcome for outcome in outcomes if not outcome.passed]
    errors = sum(1 for outcome in failed if _is_error(outcome.name))
    seconds = sum(result.seconds for result in results)
    return f' tests="{len(outcomes)}" failures="{len(failed) - errors}" errors="{errors}" skipped="0" time="{seconds:.6f}"'


def _case(file: str, case: Outcome) -> str:
    start = f'    <testcase{_attribute("classname", file)}{_attribute("name", case.name)} time="{case.seconds:.6f}"'
    inside = ""
    if not case.passed:
        kind = "error" if _is_error(case.name) else "failure"
        inside += f"      <{kind}{_attribute('message', case.message)}>{_escape(case.message)}</{kind}>\n"
    if case.output:
        inside += f"      <system-out>{_escape(chr(10).join(case.output))}</system-out>\n"
    return f"{start}>\n{inside}    </testcase>\n" if inside else f"{start}/>\n"


def _is_error(name: str) -> bool:
    """Whether an outcome prevented tests from running: JUnit calls that an error, not a failure."""
    return name in ("<parse>", "<setup>")


def _attribute(name: str, value: str) -> str:
    quoted = _escape(value).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")
    return f' {name}="{quoted}"'


def _escape(text: str) -> str:
    allowed = "".join(c if _is_xml(c) else "\ufffd" for c in text)
    return allowed.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def _is_xml(c: str) -> bool:
    """Whether an XML 1.0 document may contain the character (production 2)."""
    return c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c >= "\U00010000"
