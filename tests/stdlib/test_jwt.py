"""JSON Web Tokens: the examples of the RFCs, PyJWT as a second door, and every form that is none refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import warnings

import jwt as pyjwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.capabilities import Ceiling
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from stdlib.jwt import jwt_sign, jwt_verify

NOW = 1_700_000_000
KEY = "demo-key"
LONG_KEY = "0123456789abcdef0123456789abcdef"
HEADER = '{"alg":"HS256","typ":"JWT"}'

# RFC 7515, appendix A.1 (the token is that of RFC 7519, section 3.1).
RFC_KEY = base64.urlsafe_b64decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow==")
RFC_TOKEN = (
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
    ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)
# RFC 7519, section 6.1.
UNSECURED = (
    "eyJhbGciOiJub25lIn0.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
)


class Clock(EmbeddedHost):
    def now(self):
        return NOW + 0.75


def context(*, ceiling=None):
    return Context(Clock({}), collect=True, ceiling=ceiling)


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(context(), *values)
    return caught.value.message


def b64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else data.encode()).rstrip(b"=").decode()


def make(header=HEADER, payload='{"sub":"u1"}', key=KEY, *, hash=hashlib.sha256):
    """A token signed properly, whatever its parts hold."""
    signed = f"{b64(header)}.{b64(payload)}"
    return f"{signed}.{b64(hmac.new(key.encode(), signed.encode(), hash).digest())}"


def verify(token, key=KEY, **options):
    return jwt_verify(context(), token, key, {"at": NOW, **options})


class TestSign:
    def test_header_and_payload_are_exact(self):
        token = jwt_sign(context(), {"sub": "u1", "é": [1.0, parse("1.50"), TRUE, None], "z": {"b": 1, "a": 2}}, KEY)
        header, payload, signature = (base64.urlsafe_b64decode(part + "==") for part in token.split("."))
        assert header.decode() == HEADER
        assert payload.decode() == (
            f'{{"sub": "u1", "\\u00e9": [1.0, 1.50, true, null], "z": {{"b": 1, "a": 2}}, "iat": {NOW}}}'
        )
        assert signature == hmac.digest(KEY.encode(), token.rpartition(".")[0].encode(), "sha256")
        assert "=" not in token

    def test_iat_and_exp(self):
        def payload(claims, options=None):
            token = jwt_sign(context(), claims, KEY, options)
            return base64.urlsafe_b64decode(token.split(".")[1] + "==").decode()

        assert payload({}) == f'{{"iat": {NOW}}}'
        assert payload({}, {}) == f'{{"iat": {NOW}}}'
        assert payload({"a": 1}, {"expires_in": 60}) == f'{{"a": 1, "iat": {NOW}, "exp": {NOW + 60}}}'
        assert payload({"iat": 5, "a": 1}, {"expires_in": 60.0}) == f'{{"iat": 5, "a": 1, "exp": {NOW + 60}}}'
        assert payload({"iat": 5, "exp": 9}) == '{"iat": 5, "exp": 9}'
        assert payload({"iat": 5}, {"expires_in": -60}) == f'{{"iat": 5, "exp": {NOW - 60}}}'
        assert payload({"iat": 5}, {"expires_in": 0}) == f'{{"iat": 5, "exp": {NOW}}}'
        assert payload({"iat": 5}, {"expires_in": None}) == '{"iat": 5}'

    def test_the_token_of_the_manual(self):
        assert jwt_sign(context(), {"sub": "u1", "iat": NOW}, KEY) == (
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiAidTEiLCAiaWF0IjogMTcwMDAwMDAwMH0."
            "q6oRlE-0MIltbWq7pD32FcByT8TZwNs_PYI5ehW5vpM"
        )

    def test_the_claims_stay_as_they_were(self):
        claims = {"a": 1}
        jwt_sign(context(), claims, KEY, {"expires_in": 1})
        assert claims == {"a": 1}

    def test_keys(self):
        tokens = {jwt_sign(context(), {"iat": 1}, key) for key in ("k", b"k", Secret("k", ("K",)), Secret(b"k", ("K",)))}
        assert len(tokens) == 1
        for key in ("\x00", "{}", "[1, 2]", "é" * 100, "-----BEGIN"):
            token = jwt_sign(context(), {"iat": 1}, key)
            assert jwt_verify(context(), token, key) == {"iat": 1}
            assert jwt_verify(context(), token, key + "x") is None

    @pytest.mark.parametrize(
        "key",
        ["-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----", '{"kty":"oct","k":"AA"}', "ssh-rsa AAAA"],
    )
    def test_keys_that_are_no_shared_secrets(self, key):
        """Whoever has the public key could sign."""
        token = make(key=key)
        for function, value in ((jwt_sign, {"iat": 1}), (jwt_verify, token)):
            assert error_of(function, value, key) == (
                f"{function.__name__}: the key is a public or private key, a certificate or a JSON Web Key"
                " — HS256 needs a shared secret"
            )
            with pytest.raises(RuntimeFault, match="needs a shared secret"):
                function(context(), value, key.encode())

    def test_a_short_key_warns_nobody(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert jwt_verify(context(), jwt_sign(context(), {"iat": 1}, "k"), "k") == {"iat": 1}

    def test_a_secret_among_the_claims(self):
        token = jwt_sign(context(), {"k": Secret("hunter2", ("K",)), "iat": 1}, KEY)
        assert verify(token) == {"k": "[redacted]", "iat": 1}

    @pytest.mark.parametrize(
        "bad", [float("nan"), [float("inf")], {"a": -float("inf")}, 10**5000], ids=["nan", "inf", "inside", "digits"]
    )
    def test_what_could_not_be_read_back(self, bad):
        assert error_of(jwt_sign, {"a": bad}, KEY).startswith("jwt_sign: the claims cannot be read back as JSON")

    def test_errors(self):
        assert error_of(jwt_sign, [], KEY) == "jwt_sign: the claims must be a map, got list"
        assert error_of(jwt_sign, "x", KEY) == "jwt_sign: the claims must be a map, got text"
        assert error_of(jwt_sign, {}, 5) == "jwt_sign: the key must be a secret, text or bytes, got number"
        assert error_of(jwt_sign, {}, "") == "jwt_sign: the key is empty"
        assert error_of(jwt_sign, {}, Secret("", ("K",))) == "jwt_sign: the key is empty"
        assert error_of(jwt_sign, {}, KEY, {"ttl": 5}) == 'jwt_sign: unknown option "ttl" (valid options: expires_in)'
        assert error_of(jwt_sign, {}, KEY, 5) == "jwt_sign: the options must be a map, got number"
        assert error_of(jwt_sign, {"exp": 1}, KEY, {"expires_in": 5}).startswith('jwt_sign: the claims already contain "exp" ')
        for wrong in ("60", 1.5, TRUE, [], Secret("60", ("S",))):
            assert error_of(jwt_sign, {}, KEY, {"expires_in": wrong}).startswith(
                'jwt_sign: option "expires_in" must be an integer'
            )
        assert error_of(jwt_sign, {"f": [jwt_sign]}, KEY) == 'jwt_sign: the claims["f"][0] is a task, not data'


class TestVerify:
    def test_rfc_7515(self):
        claims = {"iss": "joe", "exp": 1300819380, "http://example.com/is_root": TRUE}
        assert jwt_verify(context(), RFC_TOKEN, RFC_KEY, {"at": 1300819379}) == claims
        assert jwt_verify(context(), RFC_TOKEN, RFC_KEY, {"at": 1300819380}) is None
        assert jwt_verify(context(), RFC_TOKEN, RFC_KEY) is None
        assert jwt_verify(context(), RFC_TOKEN, RFC_KEY[:-1], {"at": 0}) is None

    def test_the_algorithm_is_the_verifiers(self):
        assert jwt_verify(context(), UNSECURED, RFC_KEY, {"at": 0}) is None
        for header in (
            '{"alg":"none"}',
            '{"alg":"None"}',
            '{"alg":"NONE"}',
            '{"alg":""}',
            '{"alg":"hs256"}',
            '{"alg":"HS256 "}',
            '{"alg":"HS384"}',
            '{"alg":"HS512"}',
            '{"alg":"RS256"}',
            '{"alg":"ES256"}',
            '{"alg":["HS256"]}',
            '{"alg":null}',
            '{"alg":256}',
            '{"ALG":"HS256"}',
            '{"typ":"JWT"}',
            "{}",
        ):
            # Signed with the right key all the same: it is the header that refuses.
            assert verify(make(header)) is None, header
            assert verify(make(header).rpartition(".")[0] + ".") is None, header
        assert verify(make(hash=hashlib.sha512)) is None
        assert verify(make('{"alg":"HS512"}', hash=hashlib.sha512)) is None

    @pytest.mark.parametrize(
        "header",
        [
            '{"alg":"none","alg":"HS256"}',
            '{"alg":"HS256","alg":"none"}',
            '{"alg":"HS256","alg":"HS256"}',
            '{"alg":"HS256","\\u0061lg":"HS256"}',
            '{"alg":"HS256","x":{"a":1,"a":2}}',
            '{"alg":"HS256","crit":["exp"],"exp":1}',
            '{"alg":"HS256","crit":["b64"],"b64":false}',
            '{"alg":"HS256","crit":[]}',
            '"HS256"',
            '["HS256"]',
            "HS256",
            "null",
            "",
            "{",
            '{"alg":"HS256"}x',
            '{"alg":"HS256"}{}',
            '\ufeff{"alg":"HS256"}',
            '{"alg":"HS256",}',
            "{'alg':'HS256'}",
            b'\xff\xfe{"alg":"HS256"}',
            '{"alg":"HS256","a":NaN}',
        ],
    )
    def test_headers_that_are_refused(self, header):
        assert verify(make(header)) is None

    @pytest.mark.parametrize("header", ['{"alg":"HS256"}', '{ "typ" : "at+jwt", "alg" : "HS256", "kid": "1" }', HEADER])
    def test_headers_that_are_accepted(self, header):
        assert verify(make(header)) == {"sub": "u1"}

    @pytest.mark.parametrize(
        "payload",
        [
            "[]",
            '"text"',
            "5",
            "null",
            "true",
            "",
            "{",
            '{"a":1}x',
            '{"exp":1,"exp":9999999999}',
            '{"a":{"b":1,"b":1}}',
            '{"a":NaN}',
            '{"a":1e999}',
            '\ufeff{"a":1}',
            b'{"a":"\xff"}',
            b'{"a":"\xed\xa0\x80"}',
            '{"a":' + "1" * 4301 + "}",
            '{"a":' + "[" * 200 + "]" * 200 + "}",
        ],
    )
    def test_payloads_that_are_refused(self, payload):
        assert verify(make(payload=payload)) is None

    def test_payloads_that_are_accepted(self):
        assert verify(make(payload="{}")) == {}
        assert verify(make(payload=' {"a" : [1, 2.5, true, "\\u00e9"]} ')) == {"a": [1, 2.5, TRUE, "é"]}
        assert type(verify(make(payload='{"a":false}'))["a"]) is type(FALSE)

    def test_the_form_of_the_token(self):
        good = make()
        header, payload, signature = good.split(".")
        assert verify(good) == {"sub": "u1"}
        last = signature[-1]
        # The four characters that differ from the last one in the bits that no byte uses.
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        stray = [alphabet[alphabet.index(last) // 4 * 4 + bits] for bits in range(4)]
        assert stray[0] == last
        for bad in (
            "",
            ".",
            "..",
            "...",
            header,
            f"{header}.{payload}",
            f"{header}.{payload}.",
            f"{header}..{signature}",
            f".{payload}.{signature}",
            f"{good}.",
            f".{good}",
            f"{good}.x",
            f"{header}.{payload}.{signature}.{signature}",
            f" {good}",
            f"{good} ",
            f"{good}\n",
            f"\t{good}",
            f"{header} .{payload}.{signature}",
            f"{header}.{payload}.\n{signature}",
            f"{header}.{payload}.{signature[:20]} {signature[20:]}",
            f"{good}=",
            f"{header}.{payload}.{signature}==",
            f"{header}=.{payload}.{signature}",
            f"{good}A",
            f"{good}AA",
            good[:-1],
            good[:-2],
            f"Bearer {good}",
            f"{header}.{payload}.{signature.swapcase()}",
            f"{header}.{payload}.{signature[:-1]}é",
            f"{header}.{payload}.{signature[:-1]}\x00",
            f"{header}.{payload}!.{signature}",
            *(f"{header}.{payload}.{signature[:-1]}{character}" for character in stray[1:]),
        ):
            assert verify(bad) is None, bad

    def test_the_other_alphabet_of_base64(self):
        for number in range(200):
            token = make(payload=f'{{"n":{number}}}')
            standard = token.replace("-", "+").replace("_", "/")
            if standard != token:
                assert verify(token) == {"n": number}
                assert verify(standard) is None
                return
        raise AssertionError("no token needed the characters that differ")

    @pytest.mark.parametrize("token", [None, 5, TRUE, [], {}, b"a.b.c", Secret("a.b.c", ("T",))])
    def test_what_is_no_text_is_nothing(self, token):
        assert verify(token) is None

    def test_the_greatest_length(self):
        def of_length(total):
            for pad in range(total // 2, total):
                token = make(payload='{"a":"' + "x" * pad + '"}')
                if len(token) >= total:
                    return token
            raise AssertionError

        assert len(of_length(16381)) <= 16384
        assert verify(of_length(16381)) is not None
        assert verify(of_length(16385)) is None

    def test_exp_and_nbf(self):
        def at(payload, **options):
            return verify(make(payload=payload), **options) is not None

        assert at(f'{{"exp":{NOW + 1}}}')
        assert not at(f'{{"exp":{NOW}}}')
        assert at(f'{{"exp":{NOW}}}', leeway=1)
        assert not at(f'{{"exp":{NOW - 5}}}', leeway=5)
        assert at(f'{{"exp":{NOW - 4}}}', leeway=5.0)
        assert at(f'{{"nbf":{NOW}}}')
        assert not at(f'{{"nbf":{NOW + 1}}}')
        assert at(f'{{"nbf":{NOW + 1}}}', leeway=1)
        assert not at(f'{{"nbf":{NOW + 2}}}', leeway=1)
        assert at('{"exp":' + "9" * 4000 + "}")
        assert at('{"nbf":-' + "9" * 4000 + "}")
        for claim in ("exp", "nbf"):
            for wrong in ("null", '"9999999999"', "9999999999.0", "9999999999.5", "true", "[]", "{}", "1e10"):
                assert not at(f'{{"{claim}":{wrong}}}'), (claim, wrong)
        assert at('{"iat":"whatever","iss":5,"aud":[]}')
        assert at(f'{{"iat":{NOW + 1000}}}')

    def test_the_clock(self):
        token = make(payload=f'{{"exp":{NOW + 1},"nbf":{NOW}}}')
        assert jwt_verify(context(), token, KEY) is not None
        assert jwt_verify(context(), make(payload=f'{{"exp":{NOW}}}'), KEY) is None
        assert verify(token, at=NOW + 0.999) is not None
        assert verify(token, at=parse(f"{NOW}.5")) is not None
        assert verify(token, at=0) is None

    def test_the_gate_of_the_clock(self):
        closed = context(ceiling=Ceiling.parse("stdout"))

        def refused(function, *values):
            with pytest.raises(RuntimeFault) as caught:
                function(closed, *values)
            return caught.value.message.startswith("Capability not granted: time")

        token = jwt_sign(closed, {"iat": 1}, KEY)
        assert refused(jwt_sign, {}, KEY)
        assert refused(jwt_sign, {"iat": 1}, KEY, {"expires_in": 5})
        assert jwt_sign(closed, {"iat": 1, "exp": 2}, KEY)
        assert refused(jwt_verify, token, KEY)
        assert refused(jwt_verify, "no token", KEY)
        assert jwt_verify(closed, token, KEY, {"at": 5}) == {"iat": 1}

    def test_errors_of_the_caller(self):
        assert error_of(jwt_verify, "t", 5) == "jwt_verify: the key must be a secret, text or bytes, got number"
        assert error_of(jwt_verify, "t", None) == "jwt_verify: the key must be a secret, text or bytes, got nothing"
        assert error_of(jwt_verify, "t", "") == "jwt_verify: the key is empty"
        assert error_of(jwt_verify, "t", KEY, {"algorithms": ["none"]}) == (
            'jwt_verify: unknown option "algorithms" (valid options: leeway, at)'
        )
        assert error_of(jwt_verify, "t", KEY, []) == "jwt_verify: the options must be a map, got list"
        for leeway in (-1, 1.5, "5", TRUE):
            assert error_of(jwt_verify, "t", KEY, {"leeway": leeway}).startswith(
                'jwt_verify: option "leeway" must be an integer of at least 0'
            )
        for at in (-1, "5", TRUE, float("nan"), float("inf"), -0.5, [], parse("1E+400")):
            assert error_of(jwt_verify, "t", KEY, {"at": at}).startswith('jwt_verify: option "at" must be Unix seconds')

    @given(st.text(max_size=80))
    def test_no_token_raises(self, token):
        assert verify(token) is None
        assert verify(f"{b64(HEADER)}.{token}") is None

    @given(st.binary(max_size=60), st.binary(max_size=60))
    def test_no_signed_bytes_raise(self, header, payload):
        assert verify(make(header, payload)) is None or json.loads(header)["alg"] == "HS256"


CLAIMS = st.dictionaries(
    st.text(max_size=8).filter(lambda name: name not in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")),
    st.recursive(
        st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


class TestAgainstPyJwt:
    """The whole of PyJWT, which the builtins take the signature alone from."""

    @given(CLAIMS)
    def test_it_reads_what_we_sign(self, claims):
        token = jwt_sign(context(), {**claims, "iat": 1}, LONG_KEY)
        assert pyjwt.decode(token, LONG_KEY, algorithms=["HS256"]) == {**claims, "iat": 1}
        assert pyjwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
        assert verify(token, LONG_KEY) == {**claims, "iat": 1}

    @given(CLAIMS, st.dictionaries(st.sampled_from(["kid", "cty", "x"]), st.text(max_size=5), max_size=2))
    def test_we_read_what_it_signs(self, claims, headers):
        token = pyjwt.encode(claims, LONG_KEY, algorithm="HS256", headers=headers)
        assert verify(token, LONG_KEY) == claims
        assert verify(token, LONG_KEY[:-1]) is None

    @given(CLAIMS, st.integers(min_value=0), st.sampled_from("ABCDEFGHabcdefgh0123-_.=\n "))
    def test_whatever_is_changed_breaks_it(self, claims, position, character):
        token = pyjwt.encode(claims, LONG_KEY, algorithm="HS256")
        place = position % len(token)
        changed = token[:place] + character + token[place + 1 :]
        assert changed == token or verify(changed, LONG_KEY) is None
        inserted = token[:place] + character + token[place:]
        assert verify(inserted, LONG_KEY) is None

    @pytest.mark.parametrize("algorithm", ["HS384", "HS512", "none"])
    def test_other_algorithms(self, algorithm):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pyjwt.InsecureKeyLengthWarning)
            key = None if algorithm == "none" else LONG_KEY * 2
            token = pyjwt.encode({"a": 1}, key, algorithm=algorithm)
        assert verify(token, LONG_KEY * 2) is None

    def test_a_token_of_a_public_key_is_not_one_of_a_shared_key(self):
        """The confusion attack: the verifier's public key taken for the key of an HMAC."""
        from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        private = generate_private_key(65537, 2048)
        public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        token = pyjwt.encode({"a": 1}, private, algorithm="RS256")
        assert verify(token, LONG_KEY) is None
        with pytest.raises(RuntimeFault, match="needs a shared secret"):
            verify(token, public)
