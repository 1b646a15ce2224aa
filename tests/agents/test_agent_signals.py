"""Signals over several agents: each channel keeps its order, and no signal is lost or delivered twice."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

import language
from language.agents.channels import MOST_QUEUED, Waiter, Waits
from language.locks import Lock


@settings(max_examples=15, deadline=None)
@given(senders=st.integers(1, 4), receivers=st.integers(1, 4), each=st.integers(1, 30), early=st.booleans())
def test_no_signal_is_lost_or_doubled_and_each_sender_keeps_its_order(
    senders: int, receivers: int, each: int, early: bool
) -> None:
    sending = f"each s in range({senders})\n    spawn Sends with me = s"
    source = f"""
agent Sends
    each i in range({each})
        signal "c" with [me, i]
agent Receives
    let got be []
    let open be true
    while open
        wait_for "c" timeout 60 as item
        when item == nothing or item == "end"
            set open to false
        otherwise
            set got to append(got, item)
    give got
{sending if early else ""}
each r in range({receivers})
    spawn Receives
{"" if early else sending}
each a in agents()
    when a.name == "Sends"
        agent_wait(a.id)
each r in range({receivers})
    signal "c" with "end"
each a in agents()
    when a.name == "Receives"
        print(json_encode(agent_wait(a.id).result))
"""
    result = language.run(source, host=language.NativeHost())
    assert result["errors"] == []
    taken = [[tuple(item) for item in json.loads(line)] for line in result["output"]]
    assert sorted(item for items in taken for item in items) == [(s, i) for s in range(senders) for i in range(each)]
    for items in taken:
        for sender in range(senders):
            numbers = [i for s, i in items if s == sender]
            assert numbers == sorted(numbers)


def test_a_signal_wakes_one_waiter_the_one_who_has_waited_longest() -> None:
    waits = Waits(Lock(), lambda: None, lambda: 0.0)
    ended: list[str] = []

    class Told(Waiter):
        __slots__ = ()

        def end(self, value: object, *, given: bool) -> None:
            ended.append(self.what)
            super().end(value, given=given)

    for name in ("first", "second", "third"):
        waits.add("c", Told("c", name, None))
    waits.send("c", 1)
    assert ended == ["first"]
    waits.send("c", 2)
    assert ended == ["first", "second"]
    waits.send("other", 3)
    assert ended == ["first", "second"]


def test_ends_of_an_agent_that_nobody_takes_leave_the_newest() -> None:
    waits = Waits(Lock(), lambda: None, lambda: 0.0)
    for number in range(MOST_QUEUED + 3):
        waits.send("ended:A_0", number, only_newest=True)
    taken = [waits.receive("ended:A_0", 0.0, None) for _ in range(MOST_QUEUED + 1)]
    assert taken == [*range(3, MOST_QUEUED + 3), None]
