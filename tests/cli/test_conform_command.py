"""``lang conform --swarm``: what a program and its agents came to, as one JSON object."""

from __future__ import annotations

import json

from command_process import Lang

SWARM = """\
require secret("TOKEN")
agent Adder
    share 2 + 3 as "sum"
    print("added")
    signal "added" with true
agent Broken
    wait_for "added" timeout 20
    eprint("about to fail")
    let nothing_there be [1][5]
share {"token": secret("TOKEN")} as "key"
share date("2026-11-23") as "day"
let flags be [true, nothing, 0.5]
share flags as "flags"
share inf as "far"
spawn Adder
spawn Broken
log "both run"
print("begun")
"""


def test_the_end_of_every_agent_and_what_was_shared(lang: Lang) -> None:
    done = lang("conform", "--swarm", "a.lang", env={"TOKEN": "sk-7261"}, files={"a.lang": SWARM})
    told = json.loads(done.out)
    assert done.code == 1 and done.err == "" and "sk-7261" not in done.out and done.out.count("\n") == 1
    assert list(told) == ["ok", "out", "err", "blackboard", "agents"]
    assert told["ok"] is False and sorted(told["out"]) == ["[Adder] added", "begun"]
    assert sorted(told["err"][:-1]) == ["[Broken] about to fail", "[LOG] both run"]
    assert told["err"][-1].startswith("Runtime error: a.lang:9:") and "Index 5 out of bounds" in told["err"][-1]
    assert told["agents"] == {"Adder_0": "DONE", "Broken_1": "ERROR"}
    shared = told["blackboard"]
    assert shared["sum"] == 5 and shared["flags"] == [True, None, 0.5] and shared["far"] == "inf"
    assert shared["key"] == {"token": "secret(TOKEN)"} and shared["day"] == "2026-11-23"


def test_a_program_without_agents(lang: Lang) -> None:
    done = lang("conform", "--swarm", "-", stdin="print(1)")
    expected = {"ok": True, "out": ["1"], "err": [], "blackboard": {}, "agents": {}}
    assert (done.code, json.loads(done.out)) == (0, expected)


def test_errors_and_exits_of_the_program(lang: Lang) -> None:
    for source, code in (("exit(3)", 3), ("let x be", 1), ("print(nothing_of_that_name)", 1)):
        done = lang("conform", "--swarm", "a.lang", files={"a.lang": source})
        told = json.loads(done.out)
        assert (done.code, told["ok"], len(told["err"])) == (code, False, 0 if code == 3 else 1), source
    agent = "agent Waits\n    sleep(60)\nspawn Waits\nexit(0)\n"
    told = json.loads(lang("conform", "--swarm", "a.lang", files={"a.lang": agent}).out)
    assert (told["ok"], told["agents"]) == (True, {"Waits_0": "STOPPED"})


def test_a_ceiling_holds(lang: Lang) -> None:
    source = 'require file.write("x")\nwrite_file("x", "1")'
    done = lang("conform", "--swarm", "--cap-set", "stdout", "a.lang", files={"a.lang": source})
    assert done.code == 1 and "Capability not granted: file.write" in json.loads(done.out)["err"][0]


def test_a_wrong_call(lang: Lang) -> None:
    for words, problem in ((["a.lang"], "--swarm is missing"), (["--swarm"], "no program given")):
        done = lang("conform", *words, files={"a.lang": "print(1)"})
        assert (done.out, done.code) == ("", 2) and problem in done.err and "usage: lang conform --swarm" in done.err
