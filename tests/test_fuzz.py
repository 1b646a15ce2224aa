"""A short run of the long random tests, and what they once found."""

from __future__ import annotations

import random
import runpy
from pathlib import Path

import pytest

FUZZ = runpy.run_path(str(Path(__file__).resolve().parent / "fuzz.py"), run_name="fuzz")

FOUND = [
    'match 1.5d\n    is 1.5\n    when f("x")\n',
    "match a\n    when x\n        3\n",
]


@pytest.mark.parametrize("source", FOUND)
def test_what_was_found(source: str) -> None:
    FUZZ["examine"](source)


def test_a_few_hundred_texts() -> None:
    texts = FUZZ["corpus"]()
    for seed in range(300):
        source = FUZZ["garbled"](texts, random.Random(seed))
        report = FUZZ["broken"](source)
        assert report is None, f"seed {seed}:\n{source}\n{report}"


def test_a_failure_is_made_smaller() -> None:
    lines = [f"let x{n} be {n}" for n in range(40)]
    lines[17] = "here"
    assert FUZZ["smaller"]("\n".join(lines), lambda text: "here" in text) == "here"


def test_any_bytes_at_the_doors_of_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Programs with bytes changed, and bytes that are no text at all: an exit code and a line, never an exception."""
    from language.cli.main import main

    texts = [text.encode() for text in FUZZ["corpus"]() if len(text) < 3000]
    path = tmp_path / "bytes.lang"
    codes: set[int] = set()
    for seed in range(400):
        chance = random.Random(seed)
        data = bytearray(chance.choice(texts) if seed % 4 else chance.randbytes(chance.randrange(60)))
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
        path.write_bytes(data)
        for words in (["check", str(path)], ["check", "--format", "json", str(path)], ["fmt", "--check", str(path)]):
            code = main(words)
            out, err = capfd.readouterr()
            assert code in (0, 1, 2), (seed, words, err)
            assert (code == 0 or out or err) and "Traceback" not in err and "internal error" not in err, (seed, words, err)
            codes.add(code)
    assert codes == {0, 1, 2}
