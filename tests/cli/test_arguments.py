"""Reading of flags, values and paths (6.1)."""

from __future__ import annotations

import pytest

from language.capabilities import Ceiling
from language.cli.arguments import BARE, CHECK, RUN, TEST, Arguments, UsageError, parse


def refused(command: str, words: list[str], flags: dict[str, str]) -> str:
    with pytest.raises(UsageError) as caught:
        parse(command, words, flags).ceiling()
    return caught.value.message


def parsed(*words: str) -> tuple[dict[str, str], list[str], list[str]]:
    arguments = parse("run", words, RUN)
    return arguments.values, arguments.paths, arguments.rest


def test_both_ways_to_give_a_value() -> None:
    assert parsed("--cap-set", "net=a,b", "f") == parsed("--cap-set=net=a,b", "f") == ({"--cap-set": "net=a,b"}, ["f"], [])


def test_flags_before_and_after_the_file() -> None:
    assert parsed("f", "--sandbox", "x") == ({"--sandbox": ""}, ["f", "x"], [])
    assert parsed("--sandbox", "f", "x") == ({"--sandbox": ""}, ["f", "x"], [])


def test_what_follows_two_dashes_is_the_programs() -> None:
    assert parsed("f", "x", "--", "--sandbox", "--", "-") == ({}, ["f", "x"], ["--sandbox", "--", "-"])
    assert parsed("--") == ({}, [], [])


def test_a_dash_is_a_path() -> None:
    assert parsed("-", "-") == ({}, ["-", "-"], [])


@pytest.mark.parametrize("words", [["--cap-set"], ["--cap-set", "--sandbox", "f"], ["--cap-set=--x"], ["f", "--cap-set"]])
def test_a_missing_value(words: list[str]) -> None:
    assert refused("run", words, RUN) == "--cap-set requires a value"


@pytest.mark.parametrize("flag", ["--env-file", "--format", "--filename"])
def test_an_empty_value_is_missing(flag: str) -> None:
    assert refused("run", [f"{flag}=", "f"], RUN) == f"{flag} requires a value"


@pytest.mark.parametrize("word", ["--sanbox", "-x", "-5", "---", "--Sandbox", "--sandbox-", "--verbose"])
def test_an_unknown_flag(word: str) -> None:
    assert refused("run", [word, "f"], RUN).startswith(f"unknown flag '{word}'")
    assert refused("run", ["f", word], RUN).startswith(f"unknown flag '{word}'")
    assert refused("run", [word + "=1", "f"], RUN).startswith(f"unknown flag '{word}'")


def test_a_switch_with_a_value() -> None:
    assert refused("run", ["--sandbox=yes", "f"], RUN) == "--sandbox takes no value"


def test_a_flag_given_twice() -> None:
    assert parsed("--format", "json", "--format=json", "f")[0] == {"--format": "json"}
    assert parsed("--sandbox", "--sandbox", "f")[0] == {"--sandbox": ""}
    assert (
        refused("run", ["--format", "json", "--format", "human", "f"], RUN) == "--format is given twice with different values"
    )


def test_flags_of_other_commands_and_of_later_versions() -> None:
    assert refused("", ["--format", "json", "f"], BARE) == "unknown flag '--format'"
    assert refused("check", ["--sandbox", "f"], CHECK) == "unknown flag '--sandbox'"
    assert "this version of lang does not have the flag" in refused("run", ["--profile", "f"], RUN)


def test_short_forms() -> None:
    assert parse("test", ["-v", "t"], TEST).values == parse("test", ["--verbose", "t"], TEST).values == {"--verbose": ""}
    assert parse("test", ["-k", "a or b", "t"], TEST).values == {"-k": "a or b"}


def test_a_choice() -> None:
    assert parse("run", ["f"], RUN).choice("--format", ("human", "json")) == "human"
    assert parse("run", ["f", "--format=json"], RUN).choice("--format", ("human", "json")) == "json"
    with pytest.raises(UsageError, match="--format must be human or json, not 'xml'"):
        parse("run", ["f", "--format=xml"], RUN).choice("--format", ("human", "json"))


def ceiling(*words: str) -> list[str] | None:
    found: Ceiling | None = Arguments("run", parse("run", words, RUN).values, [], []).ceiling()
    return None if found is None else [str(item) for item in found.items]


def test_ceilings() -> None:
    assert ceiling("f") is None
    assert ceiling("--sandbox") == ["stdout", "time"]
    assert ceiling("--cap-set", "none") == []
    assert ceiling("--cap-set", " net = a.x ,, file_read=d/*,stdout") == ['net("a.x")', 'file_read("d/*")', "stdout"]
    assert ceiling("--cap-set", "env=a\\,b\\\\c") == ['env("a,b\\\\c")']


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sandbox", "--cap-set", "stdout"], "--sandbox and --cap-set are mutually exclusive; choose one"),
        (["--cap-set", ""], "--cap-set requires at least one capability"),
        (["--cap-set", " , "], "--cap-set requires at least one capability"),
        (["--cap-set", "net="], "--cap-set: empty scope for 'net'"),
        (
            ["--cap-set", "stdout,netz"],
            "--cap-set: unknown capability 'netz'. Known: net, file, file.read, file.write, exec, env, time, random, stdout, "
            'stdin, llm, db, serve, secret, reveal, sign, wallet, spend, memory, sandbox_run (or "none" for an empty ceiling)',
        ),
    ],
)
def test_faulty_ceilings(words: list[str], message: str) -> None:
    assert refused("run", words, RUN) == message
