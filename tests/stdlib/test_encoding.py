"""Bytes and their encodings."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from stdlib.encoding import bytes_, bytes_to_int, decode, int_to_bytes, int_to_bytes_le, url_decode, url_encode

ENCODINGS = ("hex", "base64", "base64url", "base58", "base32")


def task():
    return None


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


class TestBytes:
    @pytest.mark.parametrize(
        ("text", "encoding", "expected"),
        [
            ("Hé", None, "48c3a9"),
            ("Hé", "utf8", "48c3a9"),
            ("", "hex", ""),
            ("00fF", "hex", "00ff"),
            ("0x00ff", "hex", "00ff"),
            ("0XAB", "hex", "ab"),
            ("+/8=", "base64", "fbff"),
            ("", "base64", ""),
            ("-_8", "base64url", "fbff"),
            ("-_8=", "base64url", "fbff"),
            # RFC 4648, section 10
            ("Zm9vYmFy", "base64", "666f6f626172"),
            ("MY", "base32", "66"),
            ("MZXQ", "base32", "666f"),
            ("MZXW6", "base32", "666f6f"),
            ("MZXW6YQ", "base32", "666f6f62"),
            ("MZXW6YTBOI", "base32", "666f6f626172"),
            # draft-msporny-base58, section 5
            ("2NEpo7TZRRrLZSi2U", "base58", b"Hello World!".hex()),
            ("11233QC4", "base58", "0000287fb4cd"),
            ("", "base58", ""),
            ("1", "base58", "00"),
        ],
    )
    def test_text(self, text, encoding, expected):
        assert bytes_(text, encoding).hex() == expected

    def test_list_and_bytes(self):
        assert bytes_([0, 255]) == b"\x00\xff"
        assert bytes_([]) == b""
        assert bytes_(b"ab") == b"ab"

    @pytest.mark.parametrize(
        ("items", "index"), [([256], 0), ([1, -1], 1), ([1, 2, 1.0], 2), ([TRUE], 0), (["a"], 0), ([1, None, 300], 1)]
    )
    def test_a_list_holds_byte_values_alone(self, items, index):
        assert error_of(bytes_, items) == f"bytes(list): element {index} is not an integer in 0..=255"

    def test_unsupported_encoding(self):
        expected = 'unsupported encoding "latin1" for bytes(); use one of: utf8, hex, base64, base64url, base58, base32'
        assert error_of(bytes_, "a", "latin1") == expected
        assert error_of(bytes_, "a", "utf8_lossy").startswith('unsupported encoding "utf8_lossy" for bytes()')
        assert error_of(bytes_, "a", 5) == "encoding must be text, got number"

    @pytest.mark.parametrize(("value", "name"), [(None, "nothing"), (TRUE, "bool"), ({}, "map"), (task, "task")])
    def test_other_types(self, value, name):
        assert error_of(bytes_, value) == f"Cannot convert {name} to bytes"

    @pytest.mark.parametrize("number", [5, 1.5])
    def test_a_number_is_pointed_to_int_to_bytes(self, number):
        assert "int_to_bytes" in error_of(bytes_, number)

    def test_odd_hex_is_pointed_to_int(self):
        message = error_of(bytes_, "0xabc", "hex")
        assert "hex" in message
        assert 'int("' in message

    @pytest.mark.parametrize(
        ("text", "encoding"),
        [
            ("zz", "hex"),
            ("a b ", "hex"),
            ("0x0x", "hex"),
            ("éé", "hex"),
            ("+/8", "base64"),  # no padding
            ("+/8==", "base64"),
            ("+/9=", "base64"),  # bits beyond the last byte
            ("-_8=", "base64"),
            ("+/8=\n", "base64"),
            (" +/8=", "base64"),
            ("=", "base64"),
            ("A", "base64"),
            ("AA=A", "base64"),
            ("é===", "base64"),
            ("+/8", "base64url"),
            ("-_9", "base64url"),
            ("-_8==", "base64url"),
            ("A", "base64url"),
            ("AAAA=", "base64url"),
            ("-_ 8", "base64url"),
            ("my", "base32"),
            ("MY======", "base32"),
            ("M", "base32"),
            ("MZX", "base32"),
            ("MZ", "base32"),  # bits beyond the last byte
            ("M1", "base32"),
            ("0", "base58"),
            ("O", "base58"),
            ("l", "base58"),
            ("a b", "base58"),
        ],
    )
    def test_invalid_text_names_the_encoding(self, text, encoding):
        assert f"invalid {encoding}:" in error_of(bytes_, text, encoding)


class TestDecode:
    def test_known_forms(self):
        assert decode(b"\xfb\xff", "base64") == "+/8="
        assert decode(b"\xfb\xff", "base64url") == "-_8"
        assert decode(b"\xfb\xff", "hex") == "fbff"
        assert decode(b"foo", "base32") == "MZXW6"
        assert decode(b"\0\0\x28\x7f\xb4\xcd", "base58") == "11233QC4"
        assert decode("Hé".encode()) == "Hé"

    def test_invalid_utf8(self):
        message = error_of(decode, b"ab\xff")
        assert message == 'decode: invalid UTF-8 at byte offset 2 (use "utf8_lossy" to replace invalid bytes)'
        assert error_of(decode, b"a\xed\xa0\x80", "utf8").startswith("decode: invalid UTF-8 at byte offset 1")
        assert decode(b"ab\xffc", "utf8_lossy") == "ab�c"

    def test_wrong_arguments(self):
        assert error_of(decode, "ab") == "decode expects bytes, got text"
        assert error_of(decode, b"", 1) == "encoding must be text, got number"
        expected = (
            'unsupported encoding "rot13" for decode(); use one of: utf8, utf8_lossy, hex, base64, base64url, base58, base32'
        )
        assert error_of(decode, b"", "rot13") == expected

    @given(st.binary(max_size=200), st.sampled_from(ENCODINGS))
    def test_round_trip(self, data, encoding):
        assert bytes_(decode(data, encoding), encoding) == data

    @given(st.binary(min_size=300, max_size=600))
    def test_long_base58_takes_the_way_by_halves(self, data):
        text = decode(b"\0\0" + data, "base58")
        assert text.startswith("11")
        assert bytes_(text, "base58") == b"\0\0" + data

    @given(st.text())
    def test_round_trip_of_text(self, text):
        assert decode(bytes_(text)) == text

    @given(st.text(alphabet="ABab01+/-_= 7é", max_size=9), st.sampled_from(ENCODINGS))
    def test_what_is_read_is_the_one_form_of_its_bytes(self, text, encoding):
        try:
            data = bytes_(text, encoding)
        except RuntimeFault as fault:
            assert encoding in fault.message
            return
        written = decode(data, encoding)
        given_form = text.lower().removeprefix("0x") if encoding == "hex" else text
        assert written == (given_form.rstrip("=") if encoding == "base64url" else given_form)


class TestUrls:
    @given(st.text())
    def test_round_trip(self, text):
        encoded = url_encode(text)
        assert url_decode(encoded) == text
        assert re.fullmatch(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*", encoded)

    @given(st.dictionaries(st.text(), st.text(), max_size=4))
    def test_a_query_is_read_as_the_map_it_was(self, entries):
        assert dict(parse_qsl(url_encode(entries), keep_blank_values=True)) == entries

    def test_a_secret_is_not_written_into_a_query(self):
        for value in (Secret("plain", ("KEY",)), {"key": Secret("plain", ("KEY",))}):
            assert "secret" in error_of(url_encode, value)


class TestIntegers:
    def test_known_values(self):
        assert int_to_bytes(256, 4).hex() == "00000100"
        assert int_to_bytes(256).hex() == "0100"
        assert int_to_bytes(0) == b""
        assert int_to_bytes(0, 2) == b"\0\0"
        assert int_to_bytes(255, 1.0) == b"\xff"
        assert int_to_bytes_le(256, 4).hex() == "00010000"
        assert bytes_to_int(b"\1\0") == 256
        assert bytes_to_int(b"") == 0

    def test_errors(self):
        assert error_of(int_to_bytes, 256, 1) == "int_to_bytes: the value needs 2 bytes and does not fit in size 1"
        assert error_of(int_to_bytes_le, 256, 1) == "int_to_bytes_le: the value needs 2 bytes and does not fit in size 1"
        assert error_of(bytes_to_int, "ab") == "bytes_to_int expects bytes, got text"
        assert error_of(int_to_bytes, 1, 1.5).startswith("index must be an integer, got 1.5")
        assert error_of(int_to_bytes_le, 1, None) == "an index must be an integer, got nothing"
        assert error_of(int_to_bytes, 1, -1).startswith("int_to_bytes: the size must be between 0 and")
        assert error_of(int_to_bytes, 1, 2**62).startswith("int_to_bytes: the size must be between 0 and")

    @pytest.mark.parametrize("value", [-1, 1.0, "1", None, FALSE, parse("1")])
    def test_only_non_negative_integers(self, value):
        expected = "the value must be a non-negative integer (no floats/decimals/negatives)"
        assert error_of(int_to_bytes, value, 4) == f"int_to_bytes: {expected}"
        assert error_of(int_to_bytes_le, value, 4) == f"int_to_bytes_le: {expected}"

    @given(st.integers(min_value=0, max_value=2**600), st.integers(min_value=0, max_value=20))
    def test_round_trip(self, number, extra):
        shortest = int_to_bytes(number)
        assert not shortest.startswith(b"\0")
        assert bytes_to_int(shortest) == number
        padded = int_to_bytes(number, len(shortest) + extra)
        assert bytes_to_int(padded) == number
        assert int_to_bytes_le(number, len(padded)) == padded[::-1]
