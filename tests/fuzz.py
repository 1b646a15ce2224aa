"""Long random tests: ``python tests/fuzz.py [--seconds 300] [--seed N]``, or ``make fuzz``.

Programs of the repository are cut, crossed and garbled, then taken the whole way. What must hold for any text whatever: it is
refused by a lexer or parse error with a place, or it is a program; the layout of a program keeps its meaning; running it under
limits ends with a plain answer. A text that breaks this is printed, made smaller line by line, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "language")]

from layouts import check as check_layout  # noqa: E402

import language  # noqa: E402
from language.errors import LexerError, ParseError  # noqa: E402
from language.syntax.lexer import decode_source, tokenize  # noqa: E402
from language.syntax.parser import parse  # noqa: E402

LIMITS = {"steps": 20_000, "time_ms": 2_000, "output_bytes": 100_000, "call_depth": 200}
PIECES = (
    *("(", ")", "[", "]", "{", "}", ",", ":", ".", "...", "-", "--", "=", "=>", "|>", "**", "//", "%", "in", "of", "is", "`"),
    *("when", "otherwise", "then", "each", "while", "match", "task", "type", "enum", "test", "let", "set", "to", "be", "give"),
    *("stop", "try", "recover", "sandbox", "use", "export", "raise", "ask", "within", "1d", "0x", "1e9", "nothing", "_", "é"),
    *('"', "\t", "\n    "),
)


def corpus() -> list[str]:
    """The programs to start from."""
    texts = []
    for path in sorted(ROOT.rglob("*.lang")):
        if not any(part.startswith(".") for part in path.relative_to(ROOT).parts):
            try:
                texts.append(decode_source(path.read_bytes()))
            except UnicodeDecodeError:
                continue
    return texts


def garbled(texts: list[str], chance: random.Random) -> str:
    """One text made of others."""
    lines = chance.choice(texts).split("\n")
    if len(lines) > 60:
        start = chance.randrange(len(lines) - 40)
        lines = lines[start : start + 60]
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        other = chance.choice(texts).split("\n")
        at = chance.randrange(len(lines) + 1)
        change = chance.randrange(6)
        if change == 0:
            del lines[at : at + chance.randint(1, 4)]
        elif change == 1:
            start = chance.randrange(len(other))
            lines[at:at] = other[start : start + chance.randint(1, 8)]
        elif change == 2 and at < len(lines):
            lines[at] = chance.choice(("    ", "  ", "\t", "")) + lines[at].lstrip()
        elif at < len(lines):
            lines[at] = garbled_line(lines[at], other, chance)
    return "\n".join(lines)


def garbled_line(line: str, other: list[str], chance: random.Random) -> str:
    try:
        tokens = [t for t in tokenize(line, "x") if t.end > t.start]
    except LexerError:
        tokens = []
    if not tokens or chance.random() < 0.2:
        at = chance.randrange(len(line) + 1)
        return line[:at] + chance.choice(PIECES) + line[at + chance.randrange(2) :]
    token = chance.choice(tokens)
    words = chance.choice(other).split() or [""]
    replacement = chance.choice((chance.choice(PIECES), chance.choice(words), "", line[token.start : token.end] * 2))
    return f"{line[: token.start]} {replacement} {line[token.end :]}"


def examine(source: str) -> None:
    """Raises when something that must hold does not."""
    try:
        parse(source, "fuzz.lang")
    except (LexerError, ParseError) as error:
        assert error.line >= 1 and error.column >= 1 and error.message, f"an error without a place: {error}"
        return
    check_layout(source)
    answer = language.Program(source, filename="fuzz.lang", limits=LIMITS).run()
    assert set(answer) >= {"ok", "output", "errors", "audit"}, answer
    assert all(isinstance(line, str) for line in [*answer["output"], *answer["errors"]]), answer
    assert answer["ok"] == (not answer["errors"]) or "exit" in answer, answer


def broken(source: str) -> str | None:
    """The traceback of what went wrong, ``None`` when nothing did."""
    try:
        examine(source)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return traceback.format_exc()
    return None


def smaller(source: str, fails: Callable[[str], object]) -> str:
    """The text with every line left out that is not needed to fail."""
    lines = source.split("\n")
    size = len(lines) // 2
    while size:
        at = 0
        while at < len(lines):
            shorter = lines[:at] + lines[at + size :]
            if fails("\n".join(shorter)):
                lines = shorter
            else:
                at += size
        size //= 2
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options = parser.parse_args()
    texts = corpus()
    end = time.monotonic() + options.seconds
    number = options.seed
    while time.monotonic() < end:
        source = garbled(texts, random.Random(number))
        report = broken(source)
        if report:
            last = report.strip().rsplit("\n", 1)[-1]
            least = smaller(source, lambda text, last=last: (broken(text) or "").strip().endswith(last))
            print(f"seed {number} breaks:\n{report}\n{'-' * 40}\n{least}\n{'-' * 40}")
            return 1
        number += 1
    print(f"{number - options.seed} texts, seeds {options.seed} to {number - 1}: nothing broke")
    return 0


if __name__ == "__main__":
    sys.exit(main())
