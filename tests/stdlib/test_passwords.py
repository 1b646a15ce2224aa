"""Argon2 in PHC strings: ours verified by others, those of others by us, and everything that is none refused."""

from __future__ import annotations

import shutil
import subprocess
import time
from base64 import b64decode

import argon2
import pytest
from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from hypothesis import given, settings
from hypothesis import strategies as st

import language
from language.errors import LimitExceeded, RuntimeFault
from language.host import EmbeddedHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from language.values.allowance import Allowance, set_memory_limit
from stdlib.passwords import password_hash, password_verify, read_phc

# Made by the command `argon2` of Debian: `printf password | argon2 <salt> -e <options>`.
MADE_BY_THE_COMMAND = [
    ("password", "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$PL01amPyeUuxG7H0vIr5X+qHkZvWnHmGBGXFYvh8z2E"),
    ("password", "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQx$4XpFSafH5n1ftbmNQT+6zfF7JVjEtTQ86ZQtQEGj8nQ"),
    ("password", "$argon2i$v=19$m=4096,t=3,p=4$c29tZXNhbHQ$HlVzG1khIWxjbdTzxkrPnRdp5G3xWqx6"),
    ("password", "$argon2d$v=19$m=64,t=1,p=1$c29tZXNhbHQ$lUswNh7dTKalBKMZGJ/rSA"),
    ("password", "$argon2i$v=16$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ"),
    # The first version of the format did not name its version.
    ("password", "$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ"),
    (
        "pässword",
        "$argon2id$v=19$m=1024,t=4,p=8$YWJjZGVmZ2hpamtsbW5vcA$"
        "z+sfRQDccJj1sH5IyjeYVDV+tmgWhbLQFBvacu7oLl7/ZDqCtNgg59rmoAcTwFqzhWJtLnUQdem/F1UOf7Qzkg",
    ),
    ("x", "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQx$2Mf4lw"),
]

CHEAP = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQx$2Mf4lw"
INVALID = "password_verify: the stored hash is not a valid PHC string"


def context():
    return Context(EmbeddedHost({}), collect=True)


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(context(), *values)
    return caught.value.message


class TestKnownAnswers:
    @pytest.mark.parametrize(("password", "phc"), MADE_BY_THE_COMMAND)
    def test_of_the_reference_command(self, password, phc):
        assert password_verify(context(), password, phc) is TRUE
        assert password_verify(context(), password.encode(), phc) is TRUE
        assert password_verify(context(), Secret(password, ("P",)), phc) is TRUE
        assert password_verify(context(), Secret(password.encode(), ("P",)), phc) is TRUE
        assert password_verify(context(), password + "!", phc) is FALSE
        assert password_verify(context(), "", phc) is FALSE
        flipped = phc[:-3] + ("A" if phc[-3] != "A" else "B") + phc[-2:]
        assert password_verify(context(), password, flipped) is FALSE

    @pytest.mark.skipif(shutil.which("argon2") is None, reason="the reference command is not installed")
    @pytest.mark.parametrize("kind", ["-id", "-i", "-d"])
    @pytest.mark.parametrize("options", [("-t", "1", "-k", "16", "-p", "2", "-l", "16"), ("-t", "3", "-m", "8", "-v", "10")])
    def test_live_against_the_reference_command(self, kind, options):
        made = subprocess.run(
            ["argon2", "saltysalt", kind, *options, "-e"], input=b"pa\xc3\xa4ss", capture_output=True, check=True
        ).stdout.decode()
        assert password_verify(context(), "paäss", made.strip()) is TRUE
        assert password_verify(context(), "paass", made.strip()) is FALSE


class TestHash:
    def test_the_form(self):
        made = password_hash(context(), "s3cret")
        head, salt, stored = made.rsplit("$", 2)
        assert head == "$argon2id$v=19$m=19456,t=2,p=1"
        assert len(b64decode(salt + "==")) == 16
        assert len(b64decode(stored + "=")) == 32
        assert made != password_hash(context(), "s3cret")

    def test_the_salt_comes_from_the_host(self):
        class Fixed(EmbeddedHost):
            def random_bytes(self, count):
                return bytes(range(count))

        made = [password_hash(Context(Fixed({}), collect=True), "p") for _ in range(2)]
        assert made[0] == made[1]
        assert made[0].split("$")[4] == "AAECAwQFBgcICQoLDA0ODw"

    @pytest.mark.parametrize("password", ["", "s3cret", "пароль 🔑", b"\x00\xff\x00", "a\x00b", Secret("k", ("K",))])
    def test_every_kind_of_password(self, password):
        made = password_hash(context(), password)
        assert password_verify(context(), password, made) is TRUE
        plain = password.plaintext if isinstance(password, Secret) else password
        octets = plain if isinstance(plain, bytes) else plain.encode()
        # Two other implementations: the C reference through its own verifier, and OpenSSL's.
        assert argon2.PasswordHasher().verify(made, octets)
        Argon2id.verify_phc_encoded(octets, made)
        for other in (octets + b"\x00", octets[:-1] or b"x"):
            assert password_verify(context(), other, made) is FALSE
            with pytest.raises(argon2.exceptions.VerifyMismatchError):
                argon2.PasswordHasher().verify(made, other)
            with pytest.raises(InvalidKey):
                Argon2id.verify_phc_encoded(other, made)

    def test_what_other_libraries_make(self):
        for kind in argon2.Type:
            made = argon2.PasswordHasher(time_cost=1, memory_cost=64, parallelism=4, hash_len=24, type=kind).hash("pw")
            assert password_verify(context(), "pw", made) is TRUE
            assert password_verify(context(), "PW", made) is FALSE
        made = Argon2id(salt=b"0123456789", length=20, iterations=2, lanes=3, memory_cost=48).derive_phc_encoded(b"pw")
        assert password_verify(context(), "pw", made) is TRUE

    @pytest.mark.parametrize(("value", "kind"), [(5, "number"), (None, "nothing"), (TRUE, "bool"), ([], "list"), ({}, "map")])
    def test_wrong_types(self, value, kind):
        assert error_of(password_hash, value) == f"password_hash: the password must be a secret, text or bytes, got {kind}"
        assert error_of(password_verify, value, CHEAP) == (
            f"password_verify: the password must be a secret, text or bytes, got {kind}"
        )

    def test_the_memory_limit_of_a_run_holds(self):
        set_memory_limit(Allowance(1024 * 1024))
        try:
            with pytest.raises(LimitExceeded):
                password_hash(context(), "p")
            with pytest.raises(LimitExceeded):
                password_verify(context(), "p", CHEAP.replace("m=8,", "m=4096,"))
            assert password_verify(context(), "x", CHEAP) is TRUE
        finally:
            set_memory_limit(None)


class TestWhatIsNoHash:
    @pytest.mark.parametrize(
        "phc",
        [
            "",
            "plain",
            "$",
            "$$$$$",
            "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
            "$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E",
            "$pbkdf2-sha256$i=1$c2FsdA$aGFzaA",
            "$argon2x" + CHEAP[9:],
            "$ARGON2ID" + CHEAP[9:],
            CHEAP[1:],
            " " + CHEAP,
            CHEAP + " ",
            CHEAP + "\n",
            CHEAP + "$",
            CHEAP + "$AAAA",
            CHEAP + "=",
            CHEAP + "==",
            CHEAP[:-1],
            CHEAP[:-2],  # three bytes
            CHEAP.replace("lw", "lx"),  # stray bits
            CHEAP.replace("2Mf4lw", "2Mf-lw"),
            CHEAP.replace("2Mf4lw", "2Mf 4lw"),
            CHEAP.replace("2Mf4lw", ""),
            CHEAP.replace("2Mf4lw", "é"),
            CHEAP.replace("c2FsdHNhbHQx", "c2FsdHNhbA"),  # a salt of seven bytes
            CHEAP.replace("c2FsdHNhbHQx", ""),
            CHEAP.replace("v=19", "v=20"),
            CHEAP.replace("v=19", "v=019"),
            CHEAP.replace("v=19", "v=0x13"),
            CHEAP.replace("v=19", "19"),
            CHEAP.replace("v=19$", "v=19$v=19$"),
            CHEAP.replace("m=8", "m=7"),
            CHEAP.replace("m=8", "m=0"),
            CHEAP.replace("m=8", "m=08"),
            CHEAP.replace("m=8", "m=+8"),
            CHEAP.replace("m=8", "m=-8"),
            CHEAP.replace("m=8", "m= 8"),
            CHEAP.replace("m=8", "m=8_0"),
            CHEAP.replace("m=8", "m=٨"),
            CHEAP.replace("m=8", "m="),
            CHEAP.replace("m=8", "8"),
            CHEAP.replace("t=1", "t=0"),
            CHEAP.replace("p=1", "p=0"),
            CHEAP.replace("p=1", "p=2"),  # less than eight blocks a lane
            CHEAP.replace("m=8,t=1,p=1", "t=1,m=8,p=1"),
            CHEAP.replace("m=8,t=1,p=1", "m=8,t=1"),
            CHEAP.replace("m=8,t=1,p=1", "m=8,t=1,p=1,data=AAAA"),
            CHEAP.replace("m=8", "m=" + "9" * 5000),
            "$argon2id" * 10000,
        ],
    )
    def test_is_an_error_and_never_false(self, phc):
        assert error_of(password_verify, "x", phc).startswith(INVALID)

    @given(st.text(max_size=60))
    @settings(max_examples=300)
    def test_no_text_fails_otherwise(self, text):
        assert error_of(password_verify, "x", text).startswith(INVALID)
        assert error_of(password_verify, "x", "$argon2id$v=19$" + text).startswith(INVALID)

    @given(
        st.lists(
            st.tuples(st.integers(0, 60), st.sampled_from([*"$,=mtpv0189Aa+/-_ \n", "", "$m=16", "==", "99"]), st.booleans()),
            min_size=1,
            max_size=3,
        ),
        st.sampled_from(["argon2id", "argon2i", "argon2d"]),
    )
    @settings(max_examples=300)
    def test_the_reference_library_draws_the_same_line(self, changes, scheme):
        """Of a PHC string with a few characters changed both answer alike: the same truth value, or no hash at all."""
        phc = CHEAP.replace("argon2id", scheme)
        for place, text, replaces in changes:
            phc = phc[: place % len(phc)] + text + phc[place % len(phc) + replaces :]
        try:
            ours = password_verify(context(), "x", phc) is TRUE
        except RuntimeFault as fault:
            ours = "too much" if "too much work" in fault.message else None
        kind = {"argon2id": argon2.Type.ID, "argon2i": argon2.Type.I, "argon2d": argon2.Type.D}.get(phc[1:].partition("$")[0])
        if ours == "too much" or kind is None:
            assert ours == "too much" or ours is None
            return
        try:
            theirs = argon2.low_level.verify_secret(phc.encode(), b"x", kind)
        except argon2.exceptions.VerifyMismatchError:
            theirs = False
        except argon2.exceptions.VerificationError:
            theirs = None
        if theirs is not None and "$v=" in phc and phc.split("$")[2] not in ("v=16", "v=19"):
            # The library computes versions of Argon2 that do not exist.
            theirs = None
        assert ours == theirs, phc

    @pytest.mark.parametrize("value", [None, 5, b"bytes", [], Secret(CHEAP, ("HASH",))])
    def test_other_types(self, value):
        assert error_of(password_verify, "x", value).startswith("password_verify: the stored hash must be text, got ")

    @pytest.mark.parametrize(
        "parameters",
        [
            "m=1048577,t=1,p=1",
            "m=4294967295,t=1,p=1",
            "m=9999999999,t=1,p=1",
            "m=8,t=65,p=1",
            "m=8,t=4294967295,p=1",
            "m=1048576,t=5,p=1",
            "m=65537,t=64,p=1",
            "m=1048576,t=64,p=1",
        ],
    )
    def test_too_much_work(self, parameters):
        message = error_of(password_verify, "x", CHEAP.replace("m=8,t=1,p=1", parameters))
        assert message.startswith("password_verify: the stored hash asks for too much work")

    def test_as_much_work_as_is_allowed(self):
        phc = argon2.low_level.hash_secret(b"x", b"saltsalt", 64, 8, 1, 16, argon2.Type.ID).decode()
        assert "t=64" in phc
        assert password_verify(context(), "x", phc) is TRUE

    def test_many_lanes_start_no_threads(self):
        """Thousands of lanes are a few MiB of work; as threads they would be a way to exhaust the process."""
        phc = "$argon2id$v=19$m=16384,t=1,p=2048$c2FsdHNhbHQx$AAAAAAAAAAAAAAAAAAAAAA"
        assert password_verify(context(), "x", phc) is FALSE

    def test_no_error_names_the_password_or_the_hash(self):
        for phc in ("hash-of-mine", CHEAP.replace("t=1", "t=99"), CHEAP.replace("2Mf4lw", "2Mf4l!")):
            message = error_of(password_verify, Secret("plain-text", ("P",)), phc)
            assert "plain-text" not in message
            assert "hash-of-mine" not in message
            assert "2Mf4l" not in message

    @pytest.mark.parametrize("parameters", ["m=1048576,t=4,p=1", "m=65536,t=64,p=1"])
    def test_the_strongest_that_others_make_is_no_error(self, parameters):
        work, _, _ = read_phc(CHEAP.replace("m=8,t=1,p=1", parameters))
        assert work[2] * work[3] == 4 << 20


def test_a_costly_hash_gives_the_same_in_its_thread():
    made = argon2.PasswordHasher(time_cost=3, memory_cost=65536, parallelism=1).hash("pw")
    assert password_verify(context(), "pw", made) is TRUE
    assert password_verify(context(), "pW", made) is FALSE


def test_a_limit_ends_the_program_while_a_costly_hash_is_computed():
    source = f'print(password_verify("x", "{CHEAP.replace("m=8,t=1", "m=262144,t=16")}"))'
    start = time.perf_counter()
    result = language.run(source, limits={"time_ms": 100})
    seconds = time.perf_counter() - start
    assert result["errors"][0].endswith(": Limit exceeded: time_ms (100)")
    assert seconds < 2
