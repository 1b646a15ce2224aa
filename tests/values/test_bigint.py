"""Integers of any size to and from text, whatever the process-wide limit on digits."""

from __future__ import annotations

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.values.bigint import int_to_text, text_to_int


@pytest.fixture(autouse=True)
def lowest_limit():
    """Every conversion must work below the lowest limit that Python can be given, and leave it alone."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    yield
    assert sys.get_int_max_str_digits() == 640
    sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("digits", [1, 10, 499, 500, 501, 602, 603, 640, 1000, 1001, 4300, 4301, 12_000, 12_050, 100_000])
def test_powers_of_ten_and_their_neighbours(digits):
    power = 10**digits
    assert int_to_text(power) == "1" + "0" * digits
    assert int_to_text(power - 1) == "9" * digits
    assert int_to_text(-power) == "-1" + "0" * digits
    assert text_to_int("1" + "0" * digits) == power
    assert text_to_int("9" * digits) == power - 1


@given(st.integers(0, 80_000), st.integers(0, 2**64))
def test_round_trip(bits, seed):
    number = (seed * 0x9E3779B97F4A7C15F39CC0605CEDC835 << bits) ^ (seed * (2**61 - 1)) ** 3
    text = int_to_text(number)
    assert text.isdigit()
    assert text == "0" or text[0] != "0"
    assert text_to_int(text) == number


@given(st.integers(2, 36), st.integers(1, 3000))
def test_every_base_against_the_definition(base, length):
    digits = ("0123456789abcdefghijklmnopqrstuvwxyz"[:base] * length)[-length:]
    value = 0
    for digit in digits:
        value = value * base + int(digit, 36)
    assert text_to_int(digits, base) == value
    assert text_to_int(digits.upper(), base) == value


@pytest.mark.parametrize("text", ["", "-1", "+1", "1_0", " 1", "1 ", "12a", "١٢", "1.5"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        text_to_int(text)


def test_leading_zeros_are_digits():
    assert text_to_int("0" * 5000 + "7") == 7


def test_a_million_digits_take_no_time_to_speak_of():
    started = time.process_time()
    number = 10**1_000_000
    text = int_to_text(number)
    assert len(text) == 1_000_001
    assert text_to_int(text) == number
    assert time.process_time() - started < 8
