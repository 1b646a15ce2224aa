"""The value classes, and the name of every value's type."""

from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys
from pathlib import Path
from types import CellType

import pytest

from language.errors import InternalError, RuntimeFault
from language.values import FALSE, TRUE, Bool, Module, Secret, as_map, is_callable, is_map, is_nan, to_bool, type_of
from language.values.decimals import Dec, from_int, parse
from language.values.operators import eq


def sample_task(a, b=1):
    return a


class TestBool:
    def test_the_two_are_unlike_pythons(self):
        assert to_bool(3 > 2) is TRUE
        assert to_bool([]) is FALSE
        assert not isinstance(TRUE, int)

    def test_truth(self):
        assert TRUE
        assert not FALSE

    @pytest.mark.parametrize("other", [1, 1.0, TRUE])
    def test_true_equals_one(self, other):
        assert operator.eq(TRUE, other)
        assert operator.eq(other, TRUE)
        assert hash(TRUE) == hash(other)

    @pytest.mark.parametrize("other", [0, 0.0, -0.0, FALSE])
    def test_false_equals_zero(self, other):
        assert operator.eq(FALSE, other)
        assert operator.eq(other, FALSE)
        assert hash(FALSE) == hash(other)

    @pytest.mark.parametrize("other", [0, 2, 0.5, "true", None, [], FALSE, b"\x01", float("nan")])
    def test_true_differs_from_everything_else(self, other):
        assert operator.ne(TRUE, other)
        assert operator.ne(other, TRUE)

    def test_a_decimal_counts_as_a_number(self):
        assert operator.eq(parse("1.00"), TRUE)
        assert operator.eq(TRUE, parse("1.00"))
        assert from_int(2) != TRUE

    @pytest.mark.parametrize(
        "operation",
        [
            lambda: TRUE + 1,
            lambda: 1 + TRUE,
            lambda: TRUE * 2,
            lambda: 2**TRUE,
            lambda: 1.5 - TRUE,
            lambda: -TRUE,
            lambda: TRUE < FALSE,
            lambda: TRUE < 1,
            lambda: TRUE <= 1,
            lambda: "a" + TRUE,
            lambda: [1, 2][TRUE],
        ],
    )
    def test_native_arithmetic_and_order_fail(self, operation):
        with pytest.raises(TypeError):
            operation()

    def test_copies_are_the_same_object(self):
        assert copy.deepcopy([TRUE, FALSE])[0] is TRUE
        assert copy.copy(FALSE) is FALSE
        assert pickle.loads(pickle.dumps([TRUE, FALSE]))[1] is FALSE


class TestSecret:
    def secret(self, plaintext="s3cret", name="KEY"):
        return Secret(plaintext, (name,))

    def test_nothing_python_prints_shows_the_plaintext(self):
        secret = self.secret()
        for shown in (repr(secret), str(secret), f"{secret}", repr([secret]), repr({"k": secret})):
            assert "s3cret" not in shown
            assert "secret(KEY)" in shown

    def test_joining_keeps_the_leftmost_name_first_and_all_names_once(self):
        joined = "Bearer " + self.secret() + "!" + self.secret("x", "OTHER") + self.secret()
        assert isinstance(joined, Secret)
        assert joined.plaintext == "Bearer s3cret!xs3cret"
        assert joined.names == ("KEY", "OTHER")

    @pytest.mark.parametrize(
        ("other", "shown"),
        [(1, "1"), (2.5, "2.5"), (None, "nothing"), (TRUE, "true"), ([1, "a"], '[1, "a"]'), (b"\x00", "bytes(00)")],
    )
    def test_any_value_joins_by_its_display_form(self, other, shown):
        assert (other + self.secret()).plaintext == shown + "s3cret"
        assert (self.secret() + other).plaintext == "s3cret" + shown

    def test_decimals_and_tasks_join_too(self):
        assert (parse("1.50") + self.secret()).plaintext == "1.50s3cret"
        assert (sample_task + self.secret()).plaintext == "task sample_task(a, b)s3cret"

    def test_bytes_plaintexts_join_as_bytes(self):
        joined = Secret(b"\xff", ("A",)) + "é"
        assert joined.plaintext == b"\xff\xc3\xa9"
        assert ("é" + Secret(b"\xff", ("A",))).plaintext == b"\xc3\xa9\xff"

    def test_equality_compares_plaintexts(self):
        assert self.secret() == "s3cret"
        assert operator.eq("s3cret", self.secret())
        assert self.secret() == self.secret(name="OTHER")
        assert self.secret("ñ") == "ñ"
        assert self.secret() != "s3cre"
        assert self.secret() != b"s3cret"
        assert Secret(b"s3cret", ("B",)) != "s3cret"
        assert Secret(b"x", ("B",)) == Secret(b"x", ("C",))
        assert self.secret("1") != 1

    def test_truth_is_that_of_the_plaintext(self):
        assert self.secret()
        assert not self.secret("")

    @pytest.mark.parametrize(
        "operation",
        [
            lambda s: s * 2,
            lambda s: s % 1,
            lambda s: s < "a",
            lambda s: s[0],
            lambda s: len(s),
            lambda s: list(s),
            lambda s: "s3" in s,
            lambda s: -s,
            lambda s: {s: 1},
            lambda s: pickle.dumps(s),
        ],
    )
    def test_any_other_operator_fails(self, operation):
        with pytest.raises(TypeError):
            operation(self.secret())

    def test_copies_are_the_same_object(self):
        secret = self.secret()
        assert copy.deepcopy({"k": secret})["k"] is secret


class TestModule:
    def module(self):
        state = CellType({"n": 1})
        module = Module("/lib/geo.lang", lambda name: name == "hidden")
        module.export("STATE", state, fixed=False)
        module.export("shift", CellType(sample_task), fixed=True)
        return module, state

    def test_reads_are_live_and_in_order(self):
        module, state = self.module()
        assert module["STATE"] == {"n": 1}
        state.cell_contents = {"n": 5}
        assert module["STATE"] == {"n": 5}
        assert list(module.as_map()) == ["STATE", "shift"]
        assert "shift" in module
        assert "hidden" not in module
        assert len(module) == 2
        with pytest.raises(KeyError):
            module["hidden"]

    def test_writes_reach_the_variable_of_the_module(self):
        module, state = self.module()
        module["STATE"] = {"n": 9}
        assert state.cell_contents == {"n": 9}
        for name, text in (
            ("shift", "cannot replace the module task 'shift' from outside the module"),
            ("x", "module has no export 'x'"),
        ):
            with pytest.raises(RuntimeFault) as caught:
                module[name] = 1
            assert caught.value.message.startswith(text)

    def test_it_is_a_map_to_the_language(self):
        module = Module("/lib/geo.lang", lambda name: False)
        module.export("n", CellType(1), fixed=False)
        assert type_of(module) == "map"
        assert is_map(module)
        assert as_map(module) == {"n": 1}
        assert eq(module, {"n": 1.0})


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1, "number"),
        (10**400, "number"),
        (1.5, "number"),
        (parse("1.5"), "decimal"),
        ("", "text"),
        (TRUE, "bool"),
        (None, "nothing"),
        ([], "list"),
        ({}, "map"),
        (b"", "bytes"),
        (Secret("x", ("K",)), "secret"),
        (sample_task, "task"),
        (lambda: 1, "task"),
        (1 + 2j, "complex"),
    ],
)
def test_type_of(value, name):
    assert type_of(value) == name


@pytest.mark.parametrize("foreign", [True, {1}, (1,), object()])
def test_a_python_object_that_is_no_value_is_a_defect_of_ours(foreign):
    with pytest.raises(InternalError):
        type_of(foreign)


def test_small_questions():
    assert is_callable(sample_task)
    assert not is_callable(TRUE)
    assert not is_callable(parse("1"))
    assert is_nan(float("nan"))
    assert not is_nan(1.0)
    assert not is_nan("nan")
    plain = {"a": 1}
    assert as_map(plain) is plain
    assert as_map([1]) is None
    assert not is_map([])
    assert isinstance(TRUE, Bool)
    assert isinstance(parse("1"), Dec)


def test_the_run_path_stays_light():
    """Values, display and operators load nothing that a small program does not need."""
    code = (
        "import sys; before = set(sys.modules); import language.values, language.values.display, language.values.operators;"
        "print(sorted(m for m in set(sys.modules) - before if m.partition('.')[0] not in ('language', '__future__')))"
    )
    root = Path(__file__).resolve().parents[2]
    loaded = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=root).stdout
    for heavy in ("decimal", "re", "dataclasses", "hmac", "hashlib", "json", "typing"):
        assert repr(heavy) not in loaded
