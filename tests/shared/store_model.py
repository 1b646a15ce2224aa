"""The same questions to two stores, whose answers must be the same."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from language.host import EmbeddedHost
from language.shared.gate_board import GateRecord, digest_of, with_client_link
from language.shared.memory_store import InMemorySharedStore
from language.values import FALSE, TRUE
from language.values.decimals import parse
from language.values.display import display

names = st.text(max_size=3) | st.sampled_from(["a", "b"])
scalars = (
    st.none()
    | st.integers()
    | st.integers(min_value=10**300, max_value=10**301)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.binary(max_size=8)
    | st.sampled_from([TRUE, FALSE])
    | st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda number: parse(str(number)))
    | st.complex_numbers()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.just("·"), inner, max_size=3),
    max_leaves=6,
)


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same down to kinds, the order of maps and the sign of zero."""
    if left.__class__ is not right.__class__:
        return False
    if left.__class__ is list:
        return len(left) == len(right) and all(map(same, left, right))
    if left.__class__ is dict:
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return repr(left) == repr(right) and display(left) == display(right)


class StoreMachine(RuleBasedStateMachine):
    """Steps on a store and on the one in memory, which is the model. ``make_store`` gives the store under test."""

    gates = Bundle("gates")

    def __init__(self) -> None:
        super().__init__()
        self.store: Any = self.make_store()
        self.model = InMemorySharedStore(EmbeddedHost())
        self.numbers = 0

    def make_store(self) -> Any:
        raise NotImplementedError

    def teardown(self) -> None:
        self.store.close()

    # ---- state ----------------------------------------------------------------------------------------------------------

    @rule(name=names, value=values)
    def put(self, name: str, value: Any) -> None:
        self.store.state[name] = value
        self.model.state[name] = value

    @rule(name=names)
    def get(self, name: str) -> None:
        assert same(self.store.state.get(name), self.model.state.get(name))
        assert self.store.state.get(name, "other") is not None or self.model.state.get(name, "other") is None

    @rule(name=names)
    def pop(self, name: str) -> None:
        assert same(self.store.state.pop(name, None), self.model.state.pop(name, None))

    @rule(name=names, value=values)
    def change(self, name: str, value: Any) -> None:
        def new(known: Any) -> Any:
            return [known, value]

        assert same(self.store.state.change(name, new), new(self.model.state.get(name)))
        self.model.state[name] = new(self.model.state.get(name))

    @invariant()
    def everything_is_the_same(self) -> None:
        assert same(self.store.state.copy(), self.model.state)

    # ---- gates ----------------------------------------------------------------------------------------------------------

    @rule(
        target=gates,
        kind=st.sampled_from(["approve", "confirm", "ask"]),
        message=st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        options=st.none() | st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=3),
        deadline=st.sampled_from([5.0, 10.0]),
        linked=st.booleans(),
    )
    def open_gate(
        self, kind: str, message: str, options: list[str] | None, deadline: float, linked: bool
    ) -> tuple[str, str, str]:
        self.numbers += 1
        token = f"token {self.numbers}"
        ids = []
        for board in (self.store.gates, self.model.gates):
            # Deadlines are on the machine's clock, far away from the few seconds of the rules here.
            digest = digest_of(token)
            if linked:
                digest = with_client_link(digest, digest_of(token + " of its link"))
            record = GateRecord(kind, message, options, digest, 7, FAR + deadline)
            ids.append(board.open(record))
            assert record.id == ids[-1]
        return token, ids[0], ids[1]

    @rule(
        gate=gates,
        token=st.none() | st.text(max_size=3),
        decision=st.none() | st.booleans(),
        value=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3) | st.just("é" * 9000),
        now=st.sampled_from([0.0, 5.0, 7.0]),
        by_link=st.booleans(),
    )
    def decide(
        self, gate: tuple[str, str, str], token: str | None, decision: Any, value: Any, now: float, by_link: bool
    ) -> None:
        digest = digest_of((gate[0] if token is None else token) + " of its link" * by_link)
        found = [
            board.decide(identifier, digest, decision, value, lambda: FAR + now)
            for board, identifier in ((self.store.gates, gate[1]), (self.model.gates, gate[2]))
        ]
        assert found[0] == found[1]

    @rule(gate=gates)
    def look(self, gate: tuple[str, str, str]) -> None:
        mine, other = self.store.gates.look(gate[1]), self.model.gates.look(gate[2])
        assert fields_of(mine) == fields_of(other)

    @rule(gate=consumes(gates))
    def take(self, gate: tuple[str, str, str]) -> None:
        mine, other = self.store.gates.take(gate[1]), self.model.gates.take(gate[2])
        assert mine == other and mine.__class__ is other.__class__

    @rule(now=st.sampled_from([0.0, 5.0, 7.0, 11.0]))
    def pending(self, now: float) -> None:
        mine, other = self.store.gates.pending(FAR + now), self.model.gates.pending(FAR + now)
        assert [fields_of(record) for record in mine] == [fields_of(record) for record in other]

    @invariant()
    def the_same_have_their_answer(self) -> None:
        assert len(self.store.gates.answered()) == len(self.model.gates.answered())


FAR = 1e9


def fields_of(record: GateRecord | None) -> tuple[Any, ...] | None:
    if record is None:
        return None
    number = record.id.split("-")[0]
    shown = (number, record.kind, record.message, record.options)
    return (*shown, record.digest, record.expires_at, record.deadline, record.answer)
