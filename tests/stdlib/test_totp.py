"""One-time codes: the vectors of RFC 6238 and 4226, and their definition written out."""

from __future__ import annotations

import base64
import hmac
import sys

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.capabilities import Ceiling
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from stdlib.totp import totp, totp_verify

# RFC 6238, appendix B; the seeds of its reference implementation have the length of the hash.
SHA1_SEED = "12345678901234567890"
SHA256_SEED = "12345678901234567890123456789012"
RFC_6238 = [
    (59, "94287082", "46119246"),
    (1111111109, "07081804", "68084774"),
    (1111111111, "14050471", "67062674"),
    (1234567890, "89005924", "91819424"),
    (2000000000, "69279037", "90698825"),
    (20000000000, "65353130", "77737706"),
]
# RFC 4226, appendix D: the codes of the counters 0 to 9.
RFC_4226 = ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"]


class Clock(EmbeddedHost):
    def now(self):
        return 59.9


def context(ceiling=None):
    return Context(Clock({}), collect=True, ceiling=ceiling)


def code(key, **options):
    return totp(context(), key, options)


def verify(key, text, **options):
    return totp_verify(context(), key, text, options)


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(context(), *values)
    return caught.value.message


class TestKnownAnswers:
    @pytest.mark.parametrize(("at", "sha1", "sha256"), RFC_6238)
    def test_rfc_6238(self, at, sha1, sha256):
        assert code(SHA1_SEED, digits=8, at=at) == sha1
        assert code(SHA256_SEED, digits=8, at=at, algo="sha256") == sha256
        assert verify(SHA1_SEED, sha1, digits=8, at=at) is TRUE
        assert verify(SHA256_SEED, sha256, digits=8, at=at, algo="sha256") is TRUE
        assert verify(SHA256_SEED, sha1, digits=8, at=at, algo="sha256") is FALSE
        assert code(SHA1_SEED, at=at) == sha1[2:]
        assert code(SHA1_SEED, at=at, digits=7) == sha1[1:]

    @pytest.mark.parametrize(("counter", "expected"), list(enumerate(RFC_4226)))
    def test_rfc_4226(self, counter, expected):
        assert code(SHA1_SEED, at=counter, period=1) == expected
        assert code(SHA1_SEED, at=counter * 30 + 29) == expected
        assert code(SHA1_SEED, at=counter * 3600, period=3600) == expected

    def test_the_forms_of_a_key(self):
        seed = base64.b32decode("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
        for key in (SHA1_SEED, SHA1_SEED.encode(), seed, Secret(SHA1_SEED, ("S",)), Secret(seed, ("S",))):
            assert code(key, at=59) == "287082"
            assert verify(key, "287082", at=59) is TRUE

    @given(
        st.binary(min_size=14, max_size=70),
        st.integers(min_value=0, max_value=2**40),
        st.sampled_from(["sha1", "sha256"]),
        st.integers(min_value=6, max_value=8),
        st.integers(min_value=1, max_value=3600),
    )
    def test_the_definition_agrees(self, key, at, algorithm, digits, period):
        """RFC 4226, 5.3: 31 bits of the code, at the place that its last four bits say."""
        mac = hmac.digest(key, (at // period).to_bytes(8, "big"), algorithm)
        number = int.from_bytes(mac[mac[-1] % 16 :][:4], "big") % 2**31
        assert code(key, at=at, algo=algorithm, digits=digits, period=period) == str(number % 10**digits).zfill(digits)

    def test_a_short_key(self):
        """Ten bytes: the seeds that many sites still give out, which pyotp by itself refuses."""
        key = base64.b32decode("JBSWY3DPEHPK3PXP")
        with pytest.raises(ValueError, match="112 bits"):
            pyotp.TOTP("JBSWY3DPEHPK3PXP")
        assert code(key, at=0) == "282760"


class TestVerify:
    def test_the_window(self):
        now = 5 * 30
        for window in (0, 1, 2, 4):
            for counter, text in enumerate(RFC_4226):
                expected = TRUE if abs(counter - 5) <= window else FALSE
                assert verify(SHA1_SEED, text, at=now, window=window) is expected
        assert verify(SHA1_SEED, RFC_4226[6], at=now) is TRUE
        assert verify(SHA1_SEED, RFC_4226[7], at=now) is FALSE

    def test_counters_below_zero_are_skipped(self):
        for at in (0, 29, 30, 59):
            assert verify(SHA1_SEED, RFC_4226[0], at=at, window=10) is TRUE
        assert verify(SHA1_SEED, "000000", at=0, window=10) is FALSE

    def test_the_manual(self):
        assert verify(SHA1_SEED, "287082", at=89) is TRUE
        assert verify(SHA1_SEED, "287082", at=90) is FALSE
        assert verify(SHA1_SEED, "969429", at=89) is TRUE
        assert verify(SHA1_SEED, "287082", at=60, window=0) is FALSE

    @pytest.mark.parametrize("text", [" 081804", "081804\n", "\t081804 ", "\u00a0081804"])
    def test_blanks_around_the_code(self, text):
        assert verify(SHA1_SEED, text, at=1111111109) is TRUE

    @pytest.mark.parametrize(
        "text",
        ["", " ", "81804", "0081804", "08180", "081805", "08 1804", "0x1804", "-81804", "+81804", "081804a", "081_804",
         "٠٨١٨٠٤", "０８１８０４", "081804\x00", "x" * 100_000],
    )  # fmt: skip
    def test_what_is_not_the_code(self, text):
        assert verify(SHA1_SEED, text, at=1111111109) is FALSE

    def test_every_code_of_the_window_is_computed(self):
        """Whatever matches, the work is the same."""
        made = []

        def watch(frame, event, _):
            if event == "call" and frame.f_code.co_name == "_code":
                made.append(frame.f_locals["counter"])

        for text in (RFC_4226[3], RFC_4226[5], RFC_4226[7], "000000"):
            made.clear()
            sys.setprofile(watch)
            try:
                verify(SHA1_SEED, text, at=150, window=2)
            finally:
                sys.setprofile(None)
            assert made == [3, 4, 5, 6, 7]

    def test_the_code_is_text(self):
        for value, kind in ((287082, "number"), (None, "nothing"), (b"287082", "bytes"), (Secret("287082", ("C",)), "secret")):
            assert error_of(totp_verify, SHA1_SEED, value, {"at": 59}) == f"totp_verify: the code must be text, got {kind}"


class TestOptions:
    @pytest.mark.parametrize(("function", "rest"), [(totp, ()), (totp_verify, ("287082",))])
    def test_each_error_names_its_option(self, function, rest):
        name = function.__name__
        for option, wrong in {
            "algo": ["sha512", "SHA1", "md5", 1, b"sha1", ["sha1"], Secret("sha1", ("S",))],
            "digits": [5, 9, 6.5, "6", TRUE, 10**400],
            "period": [0, 3601, -30, 0.5, "30"],
            "at": [-1, -0.5, "59", float("nan"), float("inf"), TRUE, [], 2**63, 1e300, 10**400],
            **({"window": [-1, 11, 1.5, "1"]} if rest else {}),
        }.items():
            for value in wrong:
                message = error_of(function, SHA1_SEED, *rest, {option: value})
                assert message.startswith(f'{name}: option "{option}" must be '), (option, value)
        valid = "algo, digits, period, at" + (", window" if rest else "")
        assert error_of(function, SHA1_SEED, *rest, {"step": 30}) == f'{name}: unknown option "step" (valid options: {valid})'
        assert error_of(function, SHA1_SEED, *rest, "x") == f"{name}: the options must be a map, got text"
        assert error_of(function, 5, *rest) == f"{name}: the key must be a secret, text or bytes, got number"

    def test_window_is_for_verifying(self):
        assert 'unknown option "window"' in error_of(totp, SHA1_SEED, {"window": 1})

    def test_whole_numbers_of_any_kind(self):
        assert code(SHA1_SEED, at=59.99, digits=8.0, period=30.0) == "94287082"
        assert code(SHA1_SEED, at=parse("59.5"), digits=None, algo=None) == "287082"
        assert len(code(SHA1_SEED, at=2**63 - 1, period=1)) == 6
        assert verify(SHA1_SEED, "000000", at=2**63 - 1, period=1, window=10) in (TRUE, FALSE)

    def test_the_clock(self):
        assert totp(context(), SHA1_SEED) == "287082"
        assert totp_verify(context(), SHA1_SEED, "287082") is TRUE
        closed = context(Ceiling.parse("stdout"))
        assert totp(closed, SHA1_SEED, {"at": 59}) == "287082"
        assert totp_verify(closed, SHA1_SEED, "287082", {"at": 59}) is TRUE
        for function, rest in ((totp, ()), (totp_verify, ("287082",))):
            with pytest.raises(RuntimeFault) as caught:
                function(closed, SHA1_SEED, *rest)
            assert caught.value.message.startswith("Capability not granted: time")
