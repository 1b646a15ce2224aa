"""The chain through an audit: a change anywhere is found, in one source or over several."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language import AuditChain, AuditLink, verify_audit
from language.audit.chain import LONGEST_LINE

RECORDS = st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers() | st.booleans(), max_size=3))


def chained(records: list[dict[str, object]]) -> list[bytes]:
    chain = AuditChain()
    return [chain.line(record) for record in records]


@given(RECORDS)
def test_what_a_chain_makes_is_verified(records: list[dict[str, object]]) -> None:
    lines = chained(records)
    found = verify_audit(lines)
    assert (found.ok, found.lines, found.why) == (True, len(records), None)
    assert all(line.count(b"\n") == 1 for line in lines)
    assert verify_audit(io.BytesIO(b"".join(lines))) == found


@given(RECORDS.filter(lambda records: len(records) > 1), st.data())
def test_a_line_that_was_changed_taken_out_or_put_in_is_named(records: list[dict[str, object]], data: st.DataObject) -> None:
    lines = chained(records)
    at = data.draw(st.integers(0, len(lines) - 2))
    changed = [*lines[:at], lines[at][:-2] + b', "more": 1}\n', *lines[at + 1 :]]
    assert (verify_audit(changed).ok, verify_audit(changed).line) == (False, at + 2)
    without = [*lines[:at], *lines[at + 1 :]]
    assert (verify_audit(without).ok, verify_audit(without).line) == (False, at + 1)
    twice = [*lines[: at + 1], lines[at], *lines[at + 1 :]]
    assert (verify_audit(twice).ok, verify_audit(twice).line) == (False, at + 2)


@given(RECORDS, st.integers(0, 10))
def test_a_chain_goes_on_in_another_source_and_from_a_link_that_was_kept(records: list[dict[str, object]], cut: int) -> None:
    lines = chained(records)
    first, rest = lines[:cut], lines[cut:]
    whole = verify_audit(first, rest)
    assert whole.ok and whole.lines == len(lines)
    kept = verify_audit(first).last
    later = verify_audit(rest, after=kept)
    assert later.ok and (later.lines, later.last) == (len(rest), whole.last)
    again = AuditChain(kept)
    assert [again.line(record) for record in records[cut:]] == rest


def test_the_source_and_line_of_the_first_fault(tmp_path: Path) -> None:
    lines = chained([{"n": n} for n in range(4)])
    (tmp_path / "a").write_bytes(b"".join(lines[:2]))
    (tmp_path / "b").write_bytes(lines[2] + lines[3][:-1])
    with open(tmp_path / "a", "rb") as a, open(tmp_path / "b", "rb") as b:
        found = verify_audit(a, b)
    assert (found.ok, found.lines, found.source, found.line, found.why) == (False, 3, 1, 2, "the line is cut off")


def test_a_summary_at_the_end_says_that_nothing_is_missing() -> None:
    lines = chained([{"n": 1}, {"summary": {"granted": 1}}])
    assert verify_audit(lines).complete and not verify_audit(lines[:1]).complete


@pytest.mark.parametrize("line", [b"[]\n", b"\n", b"\xff\n", b"{}\n", b'{"seq": true, "prev": ""}\n', b"[" * 100_000 + b"\n"])
def test_what_is_no_line_of_a_chain(line: bytes) -> None:
    found = verify_audit([line])
    assert (found.ok, found.lines, found.line) == (False, 0, 1) and found.why


def test_a_line_without_end_is_not_read_whole() -> None:
    class Endless(io.RawIOBase):
        taken = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            assert size == LONGEST_LINE
            self.taken += 1
            return b"x" * size

    stream = Endless()
    assert not verify_audit(stream).ok and stream.taken == 1


def test_lines_are_bytes() -> None:
    with pytest.raises(TypeError, match="bytes"):
        verify_audit(["{}\n"])  # type: ignore[list-item]


def test_what_cannot_be_written_leaves_the_chain_as_it_was() -> None:
    chain = AuditChain()
    for bad in ({"x": object()}, {"x": float("nan")}):
        with pytest.raises((TypeError, ValueError)):
            chain.line(bad)
    assert chain.link == AuditLink(0, "0" * 64) and verify_audit([chain.line({})]).ok


@given(RECORDS.filter(bool), st.integers(0, 10))
def test_a_checkpoint_stands_for_the_lines_that_are_not_kept(records: list[dict[str, object]], cut: int) -> None:
    lines, cut = chained(records), min(cut, len(records))
    kept = verify_audit(lines[:cut]).last
    found = verify_audit([AuditChain(kept).checkpoint(), *lines[cut:]])
    assert (found.ok, found.first, found.lines, found.last) == (True, kept, len(lines) - cut, verify_audit(lines).last)
    if cut < len(lines):
        other = AuditChain(AuditLink(kept.seq, "f" * 64)).checkpoint()
        assert (verify_audit([other, *lines[cut:]]).ok, verify_audit([other, *lines[cut:]]).line) == (False, 2)


def test_a_checkpoint_holds_as_the_very_first_line_alone() -> None:
    lines = chained([{"n": n} for n in range(4)])
    checkpoint = AuditChain(verify_audit(lines[:2]).last).checkpoint()
    assert verify_audit([checkpoint], lines[2:]).ok
    assert verify_audit([lines[0], checkpoint, *lines[2:]]).line == 2
    assert verify_audit([checkpoint, checkpoint, *lines[2:]]).line == 2
    assert not verify_audit(lines[:2], [checkpoint, *lines[2:]]).ok
    assert not verify_audit([checkpoint, *lines[2:]], after=verify_audit(lines[:2]).last).ok


@pytest.mark.parametrize(
    "line",
    [
        b'{"checkpoint": {"seq": 2}}\n',
        b'{"checkpoint": {"seq": -1, "sha256": "%s"}}\n' % (b"0" * 64),
        b'{"checkpoint": {"seq": true, "sha256": "%s"}}\n' % (b"0" * 64),
        b'{"checkpoint": {"seq": 2, "sha256": "%s"}}\n' % (b"g" * 64),
        b'{"checkpoint": {"seq": 2, "sha256": "%s"}}' % (b"0" * 64),
        b'{"checkpoint"\n',
    ],
)
def test_what_is_no_checkpoint_is_no_line_of_a_chain(line: bytes) -> None:
    assert (verify_audit([line]).ok, verify_audit([line]).line) == (False, 1)
