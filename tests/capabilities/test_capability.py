"""The decision over a request: grants, ceiling, denials, bounds, symbolic links; and programs that try to get more."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import language
from language.audit.records import Audit
from language.capabilities import Capability, Ceiling
from language.capabilities.grants import CapabilitySet
from language.capabilities.scopes import db_target, net_target
from language.cli.protected_paths import touching
from language.errors import RuntimeFault

ABOVE = "above host ceiling (--sandbox/--cap-set)"


def holding(*requires: tuple[str, str | None], ceiling: str | None = None) -> CapabilitySet:
    held = CapabilitySet(Ceiling.parse(ceiling) if ceiling else None, Audit(time.time))
    for name, scope in requires:
        held.require(name, scope)
    return held


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(RuntimeFault) as caught:
        call()
    return caught.value.message


def last(held: CapabilitySet) -> tuple[Any, ...]:
    record = held.records[-1]
    return tuple(record[field] for field in ("capability", "scope", "granted", "origin", "why"))


def run(source: str, **options: Any) -> dict[str, Any]:
    return language.Program(source, **options).run()


def shown(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    fields = ("capability", "scope", "granted", "origin", "why")
    return [tuple(record[field] for field in fields) for record in answer["audit"]]


# ---- the order of the check --------------------------------------------------------------------------------------------


def test_without_a_grant_the_message_says_what_to_add() -> None:
    held = holding()
    assert refusal(lambda: held.check_path("file.read", "./notes.txt")) == (
        'Capability not granted: file.read("notes.txt") — add `require file.read("notes.txt")` at the top of the program '
        "(the file that is started, for code in a module)"
    )
    assert last(held) == ("file.read", "notes.txt", False, "program", "No matching grant found")


@pytest.mark.parametrize(
    ("name", "scope", "text"),
    [
        ("env", "AB", 'env("AB") — env("AB") not permitted: missing capability — add `require env("AB")`'),
        (
            "secret",
            "A_B",
            'secret("A_B") — secret("A_B") not permitted: missing capability — add `require secret("A_B")` '
            '(or a prefix: `require secret("A_*")`)',
        ),
        (
            "serve",
            "8080",
            'serve("8080") — serve on 8080 is not permitted: missing capability serve(8080). Add `require serve(8080)`',
        ),
    ],
)
def test_texts_of_their_own(name: str, scope: str, text: str) -> None:
    assert refusal(lambda: holding().check(name, scope)) == "Capability not granted: " + text


def test_a_missing_require_is_reported_first_as_that_under_a_ceiling() -> None:
    held = holding(ceiling="stdout")
    told = refusal(lambda: held.check("random", None))
    assert "no grant covers it, and it is above the host ceiling" in told and "add `require" not in told
    assert last(held)[4] == "No matching grant found"
    held.require("random", None)
    assert last(held) == ("random", None, False, "program", ABOVE)
    assert "the host must widen the ceiling" in refusal(lambda: held.check("random", None))
    assert last(held)[4] == ABOVE


def test_a_denial_beats_every_grant_also_in_bounds_and_workers() -> None:
    held = holding(("env", None), ("file", None))
    held.check("env", "KEY")
    held.deny("env", "K*")
    held.deny("file", "/etc/*")
    text = 'Capability not granted: env("KEY") — explicitly denied by env("K*")'
    assert refusal(lambda: held.check("env", "KEY")) == text
    assert last(held)[4] == 'Explicitly denied by env("K*")'
    assert refusal(lambda: held.fork().check("env", "KEY")) == text
    held.enter((Capability("env", None),))
    assert refusal(lambda: held.check("env", "KEY")) == text
    held.check("env", "OTHER")
    held.leave()
    assert "explicitly denied" in refusal(lambda: held.check_path("file.read", "/etc/../etc/passwd"))
    assert held.hides("file.read", "/etc/x") and not held.hides("file.read", "/srv/x")


def test_a_require_must_be_covered_as_a_whole() -> None:
    held = holding(("net", "*"), ("file", "d/*"), ceiling="net=api.mock.test,file.read=d/*,file.write=d/*")
    # The ceiling would cover these: what is missing is a `require` that fits below it.
    told = refusal(lambda: held.check_net(net_target("http://api.mock.test/", "fetch")))
    assert '`require net("*")` grants nothing' in told
    assert 'write `require net("api.mock.test")` in place of `require net("*")`' in told
    assert 'write `require file.read("d/x")` in place of `require ' in refusal(lambda: held.check_path("file.read", "d/x"))
    held.require("net", "api.mock.test")
    held.check_net(net_target("http://api.mock.test:81/", "fetch"))


def test_a_pattern_that_slipped_through_reaches_nothing_above_the_ceiling() -> None:
    held = holding(("net", "*.x"), ceiling="net=?.x")
    held.check("net", "a.x")
    assert "above the host ceiling" in refusal(lambda: held.check("net", "ab.x"))


def test_the_ceiling_only_removes() -> None:
    held = holding(ceiling="net,random")
    assert "add `require random`" in refusal(lambda: held.check("random", None))
    assert "above the host ceiling" in refusal(lambda: held.check("time", None))


def test_requires_of_the_same_thing_cost_nothing() -> None:
    held = holding(ceiling="stdout")
    before = len(held.records)
    for _ in range(100):
        held.require("env", "A")
        held.require("stdout", None)
    assert len(held.records) == before + 1
    assert len(held.grants) == 2  # the implicit one and the declared one


def test_what_was_granted_once_is_not_granted_in_a_bound() -> None:
    """The memory of granted requests belongs to one bound."""
    held = holding(("env", "A"))
    held.check("env", "A")
    held.enter(())
    for _ in range(2):
        refusal(lambda: held.check("env", "A"))
    held.require("env", "A")
    refusal(lambda: held.check("env", "A"))
    held.leave()
    held.check("env", "A")


def test_the_memory_of_granted_requests_is_bounded() -> None:
    held = holding(("env", None))
    for number in range(5000):
        held.check("env", f"N{number}")
    assert len(held._known) <= 1024


def test_literal_grants() -> None:
    held = holding(("net", "169.254.169.254:80"), ("net", "*"), ("net", "fe80::1"))
    assert held.granted_literally("net", "169.254.169.254:80")
    assert not held.granted_literally("net", "169.254.169.254:81")
    assert not held.granted_literally("net", "169.254.169.253:80")
    assert held.granted_literally("net", "[fe80::1]:80")
    held.enter(())
    assert not held.granted_literally("net", "169.254.169.254:80")


def test_a_granted_check_is_cheap() -> None:
    """The aims are 0.5 and 2 microseconds; the bounds leave room for a machine under load."""

    def best(held: CapabilitySet) -> float:
        check = held.check
        times = []
        for _ in range(7):
            start = time.perf_counter()
            for _ in range(5000):
                check("env", "A")
            times.append((time.perf_counter() - start) / 5000)
        return min(times)

    unrecorded = CapabilitySet(None, None)
    unrecorded.require("env", "A")
    assert best(unrecorded) < 1.5e-6
    assert best(holding(("env", "A"))) < 6e-6


# ---- symbolic links ----------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``data`` with a file, beside it ``secrets.txt``, and links out of ``data`` of every kind."""
    root = tmp_path / "app"
    (root / "data" / "sub").mkdir(parents=True)
    (root / "data" / "a.txt").write_text("a")
    (root / "secrets.txt").write_text("s")
    (root / "data" / "out.txt").symlink_to("../secrets.txt")
    (root / "data" / "absolute").symlink_to("/etc")
    (root / "data" / "up").symlink_to("..")
    (root / "data" / "dangling").symlink_to("../new.txt")
    (root / "data" / "loop").symlink_to("loop")
    (root / "data" / "within").symlink_to("a.txt")
    (root / "data" / "twice").symlink_to("absolute")
    (root / "alias").symlink_to("data")
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize(
    "path",
    ["data/out.txt", "data/absolute", "data/absolute/passwd", "data/up/secrets.txt", "data/up/data/a.txt/../../secrets.txt",
     "data/dangling", "data/twice/passwd", "data/up/new/deep.txt", "data/sub/../out.txt"],
)  # fmt: skip
def test_a_link_out_of_the_granted_folder_is_denied(folder: Path, path: str) -> None:
    for name in ("file.read", "file.write"):
        held = holding((name, "./data/*"))
        with pytest.raises(RuntimeFault) as caught:
            held.check_path(name, path)
        if "/../" not in path:
            assert caught.value.message.endswith(" — symbolic link leaves the granted path")
            assert last(held)[2:] == (False, "program", "symbolic link leaves the granted path")


@pytest.mark.parametrize("path", ["data/a.txt", "data/within", "data/sub/new/deep.txt", "data/up/data/a.txt", "data/loop"])
def test_what_stays_inside_is_granted(folder: Path, path: str) -> None:
    granted = holding(("file.read", "data/*")).check_path("file.read", path)
    assert granted.path == path
    assert granted.within == str(folder / "data")


def test_the_granted_folder_may_itself_be_a_link(folder: Path) -> None:
    granted = holding(("file.read", "alias/*")).check_path("file.read", "alias/a.txt")
    assert granted.within == str(folder / "data")
    refusal(lambda: holding(("file.read", "alias/*")).check_path("file.read", "alias/out.txt"))


def test_a_link_granted_by_name_leads_where_it_leads(folder: Path) -> None:
    granted = holding(("file.read", "data/out.txt")).check_path("file.read", "data/out.txt")
    assert granted.within == str(folder / "secrets.txt")


def test_the_whole_disk_follows_links(folder: Path) -> None:
    for scope in (None, "*"):
        assert holding(("file.read", scope)).check_path("file.read", "data/out.txt").within is None


def test_the_ceiling_holds_for_links_whatever_the_grant(folder: Path) -> None:
    for scope in ("data/*", "data/out.txt"):
        held = holding(("file.read", scope), ceiling="file=data/*")
        assert "symbolic link leaves" in refusal(lambda held=held: held.check_path("file.read", "data/out.txt"))
    assert holding(("file.read", "data/*"), ceiling="file=data/*").check_path("file.read", "data/a.txt").within


def test_one_of_several_grants_is_enough(folder: Path) -> None:
    held = holding(("file.read", "data/*"), ("file.read", "data/out.txt"))
    assert held.check_path("file.read", "data/out.txt").within == str(folder / "secrets.txt")


def test_a_bound_cannot_name_a_link_that_its_caller_may_not_follow(folder: Path) -> None:
    """A tool that declares ``data/absolute/*`` has a folder of its own, outside of what the caller may reach."""
    held = holding(("file.read", "data/*"))
    held.enter(held.held((("file.read", "data/absolute/*"), ("file.read", "data/out.txt"))))
    for path in ("data/absolute/passwd", "data/out.txt"):
        assert "symbolic link leaves" in refusal(lambda path=path: held.check_path("file.read", path))


def test_a_bound_narrows_the_folder(folder: Path) -> None:
    held = holding(("file.read", None))
    held.enter((Capability("file.read", "data/*"),))
    assert held.check_path("file.read", "data/a.txt").within == str(folder / "data")
    refusal(lambda: held.check_path("file.read", "data/out.txt"))
    refusal(lambda: held.check_path("file.read", "secrets.txt"))


def test_database_files_follow_the_same_rules(folder: Path) -> None:
    held = holding(("db", "data/*"), ("db", "mysql://h/app"), ("db", ":memory:"))
    assert refusal(lambda: held.check_db(db_target("mysql://h:3307/app"))).startswith(
        'Capability not granted: db("mysql://h:3307/app")'
    )
    assert holding(("db", "mysql://h:3307/app")).check_db(db_target("mysql://u@h:3307/app")) is None
    refusal(lambda: holding(("db", "mysql://h:3307/app")).check_db(db_target("mysql://h/app")))
    refusal(lambda: holding(("db", "mysql://*/app")).check_db(db_target("mysql://h:3307/app")))
    assert holding(("db", "mysql://*:*/app")).check_db(db_target("mysql://h:3307/app")) is None
    granted = held.check_db(db_target("./data/x.db"))
    assert granted is not None and (granted.path, granted.within) == ("data/x.db", str(folder / "data"))
    assert "symbolic link leaves" in refusal(lambda: held.check_db(db_target("data/dangling")))
    assert held.check_db(db_target("mysql://u:p@H:3306/app?x=1")) is None
    assert last(held) == ("db", "mysql://h/app", True, "program", 'Granted by db("mysql://h/app")')
    assert held.check_db(db_target(":memory:")) is None
    refusal(lambda: held.check_db(db_target("mysql://h/other")))


def test_the_files_of_the_command_are_denied_by_real_path(folder: Path) -> None:
    private = folder / "private"
    private.mkdir()
    (folder / ".env").write_text("K=1")
    (folder / "data" / "env").symlink_to("../.env")
    os.link(folder / "secrets.txt", folder / "private" / "x")
    held = holding(("file", None), ("db", "*"))
    held.protected_path = touching((str(private), str(folder / ".env"), str(folder / "not_yet")))
    for path in (
        "private/x",
        "private",
        "private/new/y",
        ".env",
        "./data/../.env",
        "data/env",
        str(folder / ".env"),
        "not_yet",
    ):
        for name in ("file.read", "file.write"):
            assert "explicitly denied by file(" in refusal(lambda n=name, p=path: held.check_path(n, p))
        assert held.hides("file.read", path)
    assert "explicitly denied by file(" in refusal(lambda: held.check_db(db_target("private/a.db")))
    # Moving or removing the folder around them would free them.
    assert "explicitly denied" in refusal(lambda: held.check_path("file.write", "."))
    assert held.check_path("file.read", ".").path == "."
    held.check_path("file.write", "data/new.txt")


# ---- programs ----------------------------------------------------------------------------------------------------------


def test_case_c_the_audit_of_a_ceiling() -> None:
    held = CapabilitySet(Ceiling.parse("stdout,net=api.mock.test"), Audit(time.time))
    held.require("net", "*")
    held.check_output("stdout")
    held.check_output("stdout")
    refusal(lambda: held.check_net(net_target("http://evil.test:81/x?k=1", "fetch")))
    fields = ("capability", "scope", "granted", "origin", "why")
    assert [tuple(record[field] for field in fields) for record in held.records] == [
        ("stdout", None, True, "runtime", "auto-granted by the runtime"),
        ("time", None, False, "runtime", ABOVE),
        ("llm", None, False, "runtime", ABOVE),
        ("net", "*", False, "program", ABOVE),
        ("stdout", None, True, "program", "Granted by stdout"),
        ("net", "evil.test:81", False, "program", ABOVE),
    ]


def test_output_needs_no_grant_in_a_sandbox_but_the_ceiling() -> None:
    assert run('sandbox\n    print("a")', ceiling="stdout")["output"] == ["a"]
    answer = run('require env("A")\nsandbox\n    print("a")', ceiling="env")
    assert answer["errors"][0].startswith("Runtime error: <embedded>:3:10: Capability not granted: stdout")


def test_everything_is_denied_in_a_sandbox_with_the_cause_no_grant() -> None:
    source = "require random\nsandbox\n    try\n        random()\n    recover e\n        print(e)\n"
    for ceiling in (None, "stdout", "stdout,random"):
        answer = run(source, ceiling=ceiling)
        told = "above the host ceiling" if ceiling == "stdout" else "add `require random`"
        assert told in answer["output"][0]
        assert shown(answer)[-1 if ceiling is None else -2][4] == "No matching grant found"


TOOLS = """
require env("A")
task tool()
    require env("A")
    require random
    give env("A", "a") + nested()
task nested()
    require random
    give text(random())
task bare()
    give env("A", "a")
task wide()
    require env("*")
    give env("A", "a")
task passes_on()
    require env("A")
    give call_tool(greedy, nothing)
task greedy()
    require env("A")
    require env("B")
    give env("A", "a") + env("B", "b")
task outcome(t)
    try
        give call_tool(t, nothing)
    recover e
        give e
"""


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("outcome(tool)", "Capability not granted: random"),
        ("outcome(bare)", 'Capability not granted: env("A")'),
        ("outcome(wide)", 'Capability not granted: env("A")'),
        ("outcome(passes_on)", 'Capability not granted: env("B")'),
        ("outcome(now)", "Capability not granted: time"),
        ('outcome(() => env("A", "a"))', 'Capability not granted: env("A")'),
        ("outcome(3)", "call_tool expects a task, got number"),
    ],
)
def test_a_tool_gets_no_more_than_it_declares_and_the_caller_holds(call: str, result: str) -> None:
    answer = run(f"{TOOLS}\nprint({call})")
    assert answer["errors"] == []
    assert answer["output"][0].startswith(result)


def test_a_tool_that_grows_while_it_runs_does_not() -> None:
    source = """
require env("A")
task grab()
    require random
    give 1
task tool()
    require env("A")
    grab()
    each i in [1]
        require random
    give random()
try
    call_tool(tool, nothing)
recover e
    print(starts_with(e, "Capability not granted: random"))
try
    random()
recover e
    print("still none")
grab()
print(random() >= 0)
"""
    assert run(source)["output"] == ["true", "still none", "true"]


def test_the_caller_is_as_before_after_a_tool_however_it_ends() -> None:
    source = """
require random
task fails()
    raise "no"
task stops()
    stop
each i in [1, 2]
    try
        call_tool(fails, nothing)
    recover e
        print(e)
    print(random() >= 0)
    call_tool(stops, nothing)
print(random() >= 0)
"""
    assert run(source)["output"] == ["no", "true", "true"]


def test_each_declared_capability_of_a_tool_makes_one_record() -> None:
    answer = run(TOOLS.replace("text(random())", '"n"') + "\nrequire random\nprint(call_tool(tool, nothing))\noutcome(greedy)")
    assert answer["output"] == ["an"]
    assert shown(answer)[:3] == [
        ("env", "A", True, "program", 'Granted by env("A")'),
        ("random", None, True, "program", "Granted by random"),
        ("env", "A", True, "program", 'Granted by env("A")'),
    ]
    assert ("env", "B", False, "program", "No matching grant found") in shown(answer)


def test_tools_take_named_arguments() -> None:
    source = (
        'task area(w, h = 2)\n    give [w, h]\nprint(call_tool(area, {"w": 3}), call_tool(area, {}))\ncall_tool(area, {"x": 1})'
    )
    answer = run(source)
    assert answer["output"] == ["[3, 2] [nothing, 2]"]
    assert "unknown parameter 'x'" in answer["errors"][0]
    assert "unknown parameter 'x'" in run('task f(a = 1)\n    give a\ncall_tool(f, {"x": 1})')["errors"][0]


def test_a_worker_started_in_a_bound_stays_in_it() -> None:
    source = """
require random
task draw(x)
    require random
    try
        give text(random() >= 0)
    recover e
        give "denied"
print(parallel_map(draw, [1, 2, 3]))
sandbox
    print(parallel_map(draw, [1, 2, 3]))
task tool()
    give parallel_map(draw, [1, 2])
print(call_tool(tool, nothing))
task asks(x)
    require env("A")
    try
        give env("A", "a")
    recover e
        give "denied"
print(parallel_map(asks, [1, 2]))
"""
    assert run(source)["output"] == [
        '["true", "true", "true"]',
        '["denied", "denied", "denied"]',
        '["denied", "denied"]',
        '["denied", "denied"]',
    ]


def test_what_is_started_in_a_bound_never_has_more_than_that() -> None:
    """An agent has grants and ``require`` lines of its own; the bound of the one who spawned it holds for both."""
    held = holding(("env", "A"), ("random", None))
    held.enter((Capability("env", "A"),))
    agent = held.fork("agent:1", grants=[Capability("time", None)], frozen=False)
    held.leave()
    for name, scope in (("env", "*"), ("env", "A"), ("random", None)):
        agent.require(name, scope)
    agent.check("env", "A")
    for name, scope in (("env", "B"), ("random", None), ("time", None)):
        refusal(lambda name=name, scope=scope: agent.check(name, scope))
    held.check("random", None)
    assert len(held.grants) == 5  # what the agent requires is its own


def test_what_is_started_outside_a_bound_has_its_own_grants() -> None:
    held = holding(("env", "A"))
    request = held.fork("request", frozen=False)
    request.require("random", None)
    request.check("env", "A")
    request.check("random", None)
    refusal(lambda: held.check("random", None))
    agent = held.fork("agent:1", grants=[], frozen=False)
    refusal(lambda: agent.check("env", "A"))
    agent.require("env", "A")
    agent.check("env", "A")


def test_a_bundled_file_is_recorded() -> None:
    held = holding()
    held.bundled("page.html")
    assert last(held) == ("file.read", "page.html", True, "runtime", "bundled asset (part of the program)")


def test_a_lambda_made_inside_runs_as_its_caller() -> None:
    source = "require random\nlet f be nothing\nsandbox\n    set f to () => random() >= 0\nprint(f())"
    assert run(source)["output"] == ["true"]
    inside = 'require random\nlet f be () => random()\nsandbox\n    try\n        f()\n    recover e\n        print("denied")'
    assert run(inside)["output"] == ["denied"]


def test_modules_declare_and_grant_nothing() -> None:
    module = """
export task draw()
    require random
    give random() >= 0
export task setup()
    when true
        require env("A")
"""
    use = 'use "m.lang" as m\n'
    answer = run(use + "m.setup()\nm.draw()", files={"m.lang": module})
    assert answer["errors"][0].startswith("Runtime error: m.lang:4:16: Capability not granted: random")
    answer = run(use + 'm.setup()\nenv("A", "a")', files={"m.lang": module})
    assert answer["errors"][0].startswith('Runtime error: <embedded>:3:4: Capability not granted: env("A")')
    assert run("require random\n" + use + "print(m.draw())", files={"m.lang": module})["output"] == ["true"]
    tool = run("require random\n" + use + "print(call_tool(m.draw, nothing))", files={"m.lang": module})
    assert tool["output"] == ["true"]


def test_sandbox_under_keeps_what_both_have() -> None:
    source = """
require env("A")
task show_env(name)
    try
        give env(name, "ok")
    recover e
        give "denied"
sandbox under {"env": "*", "random": true}
    print(show_env("A") + " " + show_env("B"))
    require random
    try
        random()
    recover e
        print("no random")
    sandbox under {"env": ["B", "C"]}
        print(show_env("A"))
    sandbox
        sandbox under {"env": true}
            print(show_env("A"))
    print(show_env("A"))
print(show_env("A"))
"""
    assert run(source)["output"] == ["ok denied", "no random", "denied", "denied", "ok", "ok"]


@pytest.mark.parametrize(
    ("caps", "message"),
    [
        ("3", "sandbox under expects a map of capabilities, got number"),
        ('["env"]', "sandbox under expects a map of capabilities, got list"),
        ('{"netz": true}', "Unknown capability type: 'netz'. Known: [net, file, "),
        ('{"env": false}', "sandbox under: the value of 'env' must be a scope"),
        ('{"env": [true, nothing]}', "sandbox under: the value of 'env' must be a scope"),
        ('{"net": "https://"}', "sandbox under: the scope of net has no host"),
    ],
)
def test_sandbox_under_refuses_what_is_no_list_of_capabilities(caps: str, message: str) -> None:
    answer = run(f'sandbox under {caps}\n    print("ran")')
    assert answer["output"] == []
    assert message in answer["errors"][0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("print(1)\nrequire memory", "require memory needs a name"),
        ('print(1)\nrequire memory("a b")', "Invalid memory name: "),
        ('print(1)\nrequire memory("a")\nwhen false\n    require memory("b")', "Multiple memory declarations: "),
        ('print(1)\nrequire netz("x")', "Unknown capability type: 'netz'. Known: [net, file, "),
        ('let h be "x"\nprint(1)\nrequire net(h)', "must be a literal"),
        ('print(1)\nrequire net("https://u:secret@")', "require net: the scope of net has no host"),
        ("print(1)\ntask t()\n    require netz", "Unknown capability type: 'netz'"),
    ],
)
def test_what_stops_a_program_before_its_first_statement(source: str, message: str) -> None:
    answer = run(source)
    assert answer["output"] == []
    assert message in answer["errors"][0] and "secret" not in answer["errors"][0].replace("sandbox_run", "").split("Known")[0]
    assert message in language.check(source)["errors"][0]


def test_a_module_does_not_touch_the_intent_of_the_program() -> None:
    use = 'use "m.lang" as m\n'
    answer = run('intent: "mine"\n' + use, files={"m.lang": 'intent: "theirs"\nexport let x be 1\n'})
    assert "Intent is frozen" in answer["errors"][0]


def test_bare_reveal_warns_once() -> None:
    lines: list[str] = []
    run("task f()\n    require reveal\nf()\nf()\nrequire spend\nrequire time", host={"log": lines.append})
    assert len(lines) == 2 and "reveal" in lines[0] and "spend" in lines[1]


def test_a_recursion_error_inside_a_sandbox_leaves_no_grant_lost() -> None:
    source = """
require time
task deep(n)
    sandbox
        let x be deep(n + 1)
    give x
each round in range(3)
    try
        let y be deep(0)
    recover e
        print(e)
print(now() > 0)
"""
    answer = language.run(source)
    assert answer["errors"] == []
    assert answer["output"] == [*["maximum recursion depth exceeded"] * 3, "true"]


def test_a_set_that_another_starts_has_all_that_a_set_has() -> None:
    first = CapabilitySet(None)
    first.denials.append(Capability("net", None))
    first.learner = lambda request: True
    first.protected_path = lambda path, writing: path
    second = first.fork("request")
    assert vars(second).keys() == vars(first).keys()
    assert second.denials is first.denials
    assert (second.learner, second.protected_path, second.context) == (first.learner, first.protected_path, "request")
