"""Hashes and message authentication codes against published answers."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Secret
from stdlib.hash_functions import plain_sha512_256
from stdlib.hashing import constant_time_eq, family, hmac, hmac_sha256, keccak256, sha256, sha512, sha512_256, verify_hmac

MILLION = "a" * 1_000_000
TWO_BLOCKS = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


class TestHashes:
    @pytest.mark.parametrize(
        ("function", "text", "expected"),
        [
            # FIPS 180-4 examples
            (sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (sha256, MILLION, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
            (
                sha512,
                "abc",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
            (sha512_256, "abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
            (sha512_256, "", "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"),
            (sha512_256, TWO_BLOCKS, "3928e184fb8690f840da3988121d31be65cb9d3ef83ee6146feac861e19b563a"),
            # Keccak reference, the hashes Ethereum uses
            (keccak256, "", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
            (keccak256, "abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
            (keccak256, "transfer(address,uint256)", "a9059cbb2ab09eb219583f4a59a5d0623ade346d962bcd4e46b11da047c9049b"),
            (
                keccak256,
                "The quick brown fox jumps over the lazy dog",
                "4d741b6f1eb29cb2a9b9911c82f56fa8d73b04959d3d9d222895df6c0b28aa15",
            ),
        ],
        ids=lambda value: getattr(value, "__name__", None),
    )
    def test_known_answers(self, function, text, expected):
        assert function(text).hex() == expected
        assert function(text.encode()) == function(text)

    @pytest.mark.parametrize("function", [sha256, sha512, sha512_256, keccak256])
    def test_text_counts_as_utf8(self, function):
        assert function("é") == function(b"\xc3\xa9")

    @pytest.mark.parametrize("name", ["sha256", "sha512", "sha512_256", "keccak256"])
    @pytest.mark.parametrize(
        ("value", "kind"), [(Secret("k", ("K",)), "secret"), (1, "number"), (None, "nothing"), ([], "list")]
    )
    def test_other_values_are_errors(self, name, value, kind):
        assert error_of(family.builtins[name].function, value) == f"{name} expects text or bytes, got {kind}"

    @pytest.mark.parametrize("length", [*range(105, 145), *range(230, 260)])
    def test_plain_sha512_256_is_that_of_the_crypto_library(self, length):
        data = bytes(range(256)) * 2
        data = data[:length]
        if "sha512_256" not in hashlib.algorithms_available:
            pytest.skip("this interpreter's crypto library lacks SHA-512/256")
        assert plain_sha512_256(data) == hashlib.new("sha512_256", data).digest()

    @pytest.mark.parametrize(
        ("length", "expected"),
        [
            # The rate is 136 bytes: around it the padding changes shape. Answers of the reference implementation.
            (135, "34367dc248bbd832f4e3e69dfaac2f92638bd0bbd18f2912ba4ef454919cf446"),
            (136, "a6c4d403279fe3e0af03729caada8374b5ca54d8065329a3ebcaeb4b60aa386e"),
            (137, "d869f639c7046b4929fc92a4d988a8b22c55fbadb802c0c66ebcd484f1915f39"),
        ],
    )
    def test_keccak_padding(self, length, expected):
        assert keccak256(b"a" * length).hex() == expected


# RFC 4231: key, data, HMAC-SHA-256, HMAC-SHA-512
RFC_4231 = [
    (
        b"\x0b" * 20,
        b"Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
        "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
    ),
    (
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
        "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
    ),
    (
        b"\xaa" * 20,
        b"\xdd" * 50,
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
        "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39"
        "bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb",
    ),
    (
        bytes(range(1, 26)),
        b"\xcd" * 50,
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
        "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3db"
        "a91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd",
    ),
    (
        b"\xaa" * 131,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
        "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
    ),
    (
        b"\xaa" * 131,
        b"This is a test using a larger than block-size key and a larger than block-size data. "
        b"The key needs to be hashed before being used by the HMAC algorithm.",
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
        "e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944"
        "b6022cac3c4982b10d5eeb55c3e4de15134676fb6de0446065c97440fa8c6a58",
    ),
]


class TestHmac:
    @pytest.mark.parametrize(("key", "data", "with_sha256", "with_sha512"), RFC_4231)
    def test_rfc_4231(self, key, data, with_sha256, with_sha512):
        assert hmac(data, key).hex() == with_sha256
        assert hmac(data, key, "sha256").hex() == with_sha256
        assert hmac(data, key, "sha512").hex() == with_sha512
        assert hmac_sha256(data, key) == with_sha256
        assert verify_hmac(data, with_sha512, key, "sha512") is TRUE

    def test_key_and_data_may_be_text_bytes_or_secret(self):
        expected = "2d93cbc1be167bcb1637a4a23cbff01a7878f0c50ee833954ea5221bb1b8c628"
        for key in ("key", b"key", Secret("key", ("K",)), Secret(b"key", ("K",))):
            for data in ("msg", b"msg", Secret("msg", ("M",))):
                assert hmac_sha256(data, key) == expected
        assert hmac(12, "k") == hmac("12", "k")
        assert hmac(None, "k") == hmac("nothing", "k")

    @pytest.mark.parametrize("name", ["hmac", "hmac_sha256", "verify_hmac"])
    def test_wrong_keys(self, name):
        values = ("data", "00", 5) if name == "verify_hmac" else ("data", 5)
        assert error_of(family.builtins[name].function, *values) == (
            f"{name}: the key must be a secret, text or bytes, got number"
        )

    @pytest.mark.parametrize("key", ["", b"", Secret("", ("K",))])
    def test_an_empty_key_signs_and_checks_nothing(self, key):
        signed = "e528c4d99e6177f5841f712a143b90843299a4aa181a06501422d9ca862bd2a5"  # HMAC-SHA256 of "data" under an empty key
        assert error_of(verify_hmac, "data", signed, key) == "verify_hmac: the key is empty"
        assert error_of(hmac, "data", key) == "hmac: the key is empty"

    @pytest.mark.parametrize(("function", "name"), [(hmac, "hmac"), (verify_hmac, "verify_hmac")])
    def test_wrong_algorithms(self, function, name):
        values = ("data", "00", "key") if name == "verify_hmac" else ("data", "key")
        assert error_of(function, *values, "sha1") == f"{name}: SHA-1 is not supported (weak); use sha256 or sha512"
        assert error_of(function, *values, "x") == f"{name}: unknown algorithm 'x' (use sha256 or sha512)"

    def test_the_old_name_is_marked_as_such(self):
        assert family.builtins["hmac_sha256"].alias_of == "hmac"


class TestVerifyHmac:
    MAC = "958a91d085768abe7198288c5e5b2e19398498ed33e20d8353ec2cf5cbd33729"
    BASE64 = "lYqR0IV2ir5xmCiMXlsuGTmEmO0z4g2DU+ws9cvTNyk="

    @pytest.mark.parametrize(
        "signature",
        [
            MAC,
            "sha256=" + MAC,
            MAC.upper(),
            BASE64,
            BASE64.rstrip("="),
            "sha256=" + BASE64,
            f"  {MAC}\n",
            bytes.fromhex(MAC),
        ],
    )
    def test_readings_of_one_signature(self, signature):
        assert verify_hmac("hello", signature, "k1") is TRUE
        assert verify_hmac("hello!", signature, "k1") is FALSE
        assert verify_hmac("hello", signature, "k2") is FALSE
        assert verify_hmac("hello", signature, "k1", "sha512") is FALSE

    @pytest.mark.parametrize(
        "signature", ["zz", "", MAC[:-1] + "8", MAC[:-2], "sha256=", "é" * 64, None, 5, [], BASE64[:-2] + "*=", "=", MAC + "00"]
    )
    def test_undecodable_is_false(self, signature):
        assert verify_hmac("hello", signature, "k1") is FALSE

    @given(st.text(max_size=90))
    def test_no_signature_raises(self, signature):
        assert verify_hmac("hello", signature, "k1") is FALSE


class TestConstantTimeEq:
    @pytest.mark.parametrize(
        ("left", "right", "expected"),
        [
            ("a", "a", TRUE),
            ("a", "b", FALSE),
            ("a", "ab", FALSE),
            ("", "", TRUE),
            ("é", b"\xc3\xa9", TRUE),
            (Secret("k", ("K",)), "k", TRUE),
            (b"k", Secret("k", ("K",)), TRUE),
            (Secret("k", ("K",)), Secret(b"x", ("X",)), FALSE),
        ],
    )
    def test_pairs(self, left, right, expected):
        assert constant_time_eq(left, right) is expected

    @pytest.mark.parametrize("empty", [Secret("", ("K",)), Secret(b"", ("K",))])
    def test_an_empty_secret_lets_nobody_in(self, empty):
        for other in ("", b"", "k", empty):
            assert "the secret K is empty" in error_of(constant_time_eq, other, empty)
            assert "the secret K is empty" in error_of(constant_time_eq, empty, other)

    def test_other_types(self):
        assert "got number" in error_of(constant_time_eq, "a", 1)
        assert "got list" in error_of(constant_time_eq, [], "a")
