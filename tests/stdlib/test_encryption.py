"""Encryption, key agreement, signatures: the published vectors, and what attacks get to see."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from language import NativeHost, run
from language.errors import RuntimeFault
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from stdlib.encoding import bytes_
from stdlib.encryption import (
    aes_gcm_decrypt,
    aes_gcm_encrypt,
    ecdh_keypair,
    ecdh_public,
    ecdh_shared_secret,
    ed25519_pubkey,
    ed25519_sign,
    ed25519_verify,
    hkdf_sha256,
)
from stdlib.sealing import reveal

# The interpreter's own tests run where the package is; the extra `crypto` brings it.
pytest.importorskip("cryptography")


def context(*granted):
    ctx = Context(NativeHost({}))
    for name, scope in granted:
        ctx.capabilities.require(name, scope)
    return ctx


CONTEXT = context(("random", None), ("sign", "K"), ("sign", "ecdh"))


def sealed(digits, name="K"):
    return Secret(bytes.fromhex(digits), (name,))


def raw(digits):
    return bytes.fromhex(digits)


def fault(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value


# --- AES-GCM ----------------------------------------------------------------------------------------------------------------

_KEY = "feffe9928665731c6d6a8f9467308308"
_TEXT = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
)
_CIPHER = (
    "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
    "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
)
_IV = "cafebabefacedbaddecaf888"
#: The test cases of the GCM specification that NIST SP 800-38D refers to: key, nonce, data, data beside it, ciphertext, tag.
GCM = [
    ("00" * 16, "00" * 12, "", None, "", "58e2fccefa7e3061367f1d57a4e7455a"),
    ("00" * 16, "00" * 12, "00" * 16, None, "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"),
    (_KEY, _IV, _TEXT, None, _CIPHER, "4d5c2af327cd64a62cf35abd2ba6fab4"),
    (
        *(_KEY, _IV, _TEXT[:120], "feedfacedeadbeeffeedfacedeadbeefabaddad2", _CIPHER[:120]),
        "5bc94fbc3221a5db94fae95ae7121a47",
    ),
    ("00" * 24, "00" * 12, "", None, "", "cd33b28ac773f74ba00ed1f312572435"),
    ("00" * 24, "00" * 12, "00" * 16, None, "98e7247c07f0fe411c267e4384b0f600", "2ff58d80033927ab8ef4d4587514f0fb"),
    ("00" * 32, "00" * 12, "", None, "", "530f8afbc74536b9a963b4f1c4cb738b"),
    ("00" * 32, "00" * 12, "00" * 16, None, "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"),
]


@pytest.mark.parametrize(("key", "nonce", "text", "beside", "cipher", "tag"), GCM)
def test_aes_gcm_keeps_the_published_vectors(key, nonce, text, beside, cipher, tag):
    aad = None if beside is None else raw(beside)
    assert aes_gcm_encrypt(CONTEXT, sealed(key), raw(nonce), raw(text), aad) == raw(cipher + tag)
    assert aes_gcm_decrypt(sealed(key), raw(nonce), raw(cipher + tag), aad) == raw(text)


@settings(max_examples=25)
@given(st.binary(max_size=80), st.binary(max_size=20), st.sampled_from([16, 24, 32]))
def test_what_is_encrypted_comes_back_and_never_looks_the_same_twice(data, aad, size):
    key = bytes(range(size))
    first, second = (aes_gcm_encrypt(CONTEXT, key, None, data, aad) for _ in range(2))
    assert first != second
    assert aes_gcm_decrypt(key, None, first, aad) == aes_gcm_decrypt(key, None, second, aad) == data


def test_every_change_is_one_error_that_says_nothing_else():
    key, nonce = sealed("01" * 32), raw("02" * 12)
    box = aes_gcm_encrypt(CONTEXT, key, nonce, "attack at dawn", "head")
    whole = nonce + box
    wrong = [
        (key, nonce, box[:-1] + bytes((box[-1] ^ 1,)), "head"),
        (key, nonce, bytes((box[0] ^ 1,)) + box[1:], "head"),
        (key, nonce, box[:-1], "head"),
        (key, nonce, box[:15], "head"),
        (key, nonce, b"", "head"),
        (key, nonce, box, "tail"),
        (key, nonce, box, None),
        (key, raw("03" * 12), box, "head"),
        (sealed("02" * 32), nonce, box, "head"),
        (sealed("01" * 16), nonce, box, "head"),
        (key, None, whole[:27], "head"),
        (key, None, whole[:3], "head"),
        (key, None, b"", "head"),
        (key, None, box, "head"),
    ]
    assert {fault(aes_gcm_decrypt, *values).message for values in wrong} == {
        "aes_gcm_decrypt: the data is not authentic; give a default as the last argument to go on without it"
    }
    assert [aes_gcm_decrypt(*values, None) for values in wrong] == [None] * len(wrong)
    assert aes_gcm_decrypt(key, None, whole, "head", None) == b"attack at dawn"


def test_a_default_does_not_hide_a_wrong_key_or_nonce():
    assert "16, 24 or 32 bytes" in fault(aes_gcm_decrypt, b"short", None, b"", None, "default").message
    assert "12 bytes" in fault(aes_gcm_decrypt, bytes(16), b"short", b"", None, "default").message
    assert fault(aes_gcm_encrypt, CONTEXT, "a text of 16 chr", None, "x").kind == "type"


def test_a_secret_is_encrypted_only_where_it_may_be_revealed(tmp_path, monkeypatch):
    """Whoever encrypts under a key of his own has the secret in clear with one call more."""
    monkeypatch.setenv("PLATFORM_AUDIT_DIR", str(tmp_path))
    secret = Secret("hunter2", ("PASSWORD",))
    refused = fault(aes_gcm_encrypt, CONTEXT, bytes(16), None, secret)
    assert refused.kind == "capability" and 'reveal("PASSWORD")' in refused.message
    assert "result=denied name=PASSWORD" in (tmp_path / "reveal.log").read_text()
    box = aes_gcm_encrypt(context(("reveal", "PASSWORD")), bytes(16), None, secret)
    assert aes_gcm_decrypt(bytes(16), None, box) == b"hunter2"
    assert "result=granted name=PASSWORD" in (tmp_path / "reveal.log").read_text()
    assert "in clear" in fault(aes_gcm_encrypt, CONTEXT, bytes(16), None, "x", secret).message


# --- HKDF -------------------------------------------------------------------------------------------------------------------

#: RFC 5869, appendix A, the cases of SHA-256.
HKDF = [
    (
        *("0b" * 22, "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9"),
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        *(bytes(range(0x50)).hex(), bytes(range(0x60, 0xB0)).hex(), bytes(range(0xB0, 0x100)).hex()),
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
        "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
    ),
    ("0b" * 22, "", "", "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
]


@pytest.mark.parametrize(("ikm", "salt", "info", "derived"), HKDF)
def test_hkdf_keeps_the_published_vectors(ikm, salt, info, derived):
    assert hkdf_sha256(raw(ikm), raw(salt) or None, raw(info) or None, len(derived) // 2) == raw(derived)


def test_what_is_derived_of_a_secret_is_sealed_under_its_names():
    key = hkdf_sha256(Secret("a master key", ("MASTER",)), Secret(b"salt", ("SALT",)), "files", 32)
    assert type(key) is Secret and key.names == ("MASTER", "SALT")
    assert key.plaintext == hkdf_sha256("a master key", b"salt", b"files", 32)
    refused = fault(reveal, context(("reveal", "MASTER")), key)
    assert 'reveal("SALT")' in refused.message


def test_hkdf_refuses_what_is_no_key_and_no_length():
    assert "empty" in fault(hkdf_sha256, "", None, None, 32).message
    assert "known in clear" in fault(hkdf_sha256, "k", None, Secret("x", ("K",)), 32).message
    assert {fault(hkdf_sha256, "k", None, None, size).message for size in (0, -1, 8161, 2**70, 1.5, "32", None)} == {
        "hkdf_sha256: the length must be an integer from 1 to 8160"
    }
    assert len(hkdf_sha256("k", None, None, 8160)) == 8160


# --- ECDH -------------------------------------------------------------------------------------------------------------------

#: RFC 7748, 6.1, and RFC 5903, 8.1 and 8.2: curve, one private key and its public one, the other two, what they share.
ECDH = [
    (
        "x25519",
        "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
        "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
    ),
    (
        "p256",
        "c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433",
        "04dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c3772581180"
        "5271a0461cdb8252d61f1c456fa3e59ab1f45b33accf5f58389e0577b8990bb3",
        "c6ef9c5d78ae012a011164acb397ce2088685d8f06bf9be0b283ab46476bee53",
        "04d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf63"
        "56fbf3ca366cc23e8157854c13c58d6aac23f046ada30f8353e74f33039872ab",
        "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de",
    ),
    (
        "p384",
        "099f3c7034d4a2c699884d73a375a67f7624ef7c6b3c0f160647b67414dce655e35b538041e649ee3faef896783ab194",
        "04667842d7d180ac2cde6f74f37551f55755c7645c20ef73e31634fe72b4c55ee6de3ac808acb4bdb4c88732aee95f41aa"
        "9482ed1fc0eeb9cafc4984625ccfc23f65032149e0e144ada024181535a0f38eeb9fcff3c2c947dae69b4c634573a81c",
        "41cb0779b4bdb85d47846725fbec3c9430fab46cc8dc5060855cc9bda0aa2942e0308312916b8ed2960e4bd55a7448fc",
        "04e558dbef53eecde3d3fccfc1aea08a89a987475d12fd950d83cfa41732bc509d0d1ac43a0336def96fda41d0774a3571"
        "dcfbec7aacf3196472169e838430367f66eebe3c6e70c416dd5f0c68759dd1fff83fa40142209dff5eaad96db9e6386c",
        "11187331c279962d93d604243fd592cb9d0a926f422e47187521287e7156c5c4d603135569b9e9d09cf5d4a270f59746",
    ),
]


@pytest.mark.parametrize(("curve", "mine", "my_public", "theirs", "their_public", "shared"), ECDH)
def test_ecdh_keeps_the_published_vectors(curve, mine, my_public, theirs, their_public, shared):
    assert ecdh_public(sealed(mine), curve) == raw(my_public)
    assert ecdh_public(sealed(theirs), curve) == raw(their_public)
    for private, public in ((mine, their_public), (theirs, my_public)):
        agreed = ecdh_shared_secret(CONTEXT, sealed(private), raw(public))
        assert agreed.plaintext == raw(shared) and agreed.names == ("K",)


def test_x25519_keeps_the_vector_of_its_function():
    """RFC 7748, 5.2."""
    scalar = sealed("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    point = raw("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    agreed = ecdh_shared_secret(CONTEXT, scalar, point)
    assert agreed.plaintext == raw("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552")


@pytest.mark.parametrize("curve", ["x25519", "p256", "p384"])
def test_two_new_pairs_agree(curve):
    one, other = ecdh_keypair(CONTEXT, curve), ecdh_keypair(CONTEXT, curve)
    assert one["public"] != other["public"] and type(one["private"]) is Secret
    assert ecdh_public(one["private"], curve) == one["public"]
    agreed = [ecdh_shared_secret(CONTEXT, a["private"], b["public"]) for a, b in ((one, other), (other, one))]
    assert agreed[0] == agreed[1]


def test_a_point_that_gives_the_key_away_is_refused():
    """Points of small order (RFC 7748, 6.1) make everybody know the result; one beside the curve gives away the private key."""
    mine = ecdh_keypair(CONTEXT, "x25519")["private"]
    for low in ("00" * 32, "01" + "00" * 31, "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"):
        assert "no valid point of x25519" in fault(ecdh_shared_secret, CONTEXT, mine, raw(low)).message
    mine = ecdh_keypair(CONTEXT, "p256")["private"]
    beside = raw(ECDH[1][2])[:-1] + b"\x00"
    for point in (beside, b"\x04" + bytes(64), b"\x05" + bytes(64)):
        assert "no valid point of p256" in fault(ecdh_shared_secret, CONTEXT, mine, point).message


def test_private_keys_of_no_curve_are_refused_without_a_word_of_them():
    order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
    for digits in ("00" * 32, order, "ff" * 32):
        message = fault(ecdh_public, sealed(digits), "p256").message
        assert message == "ecdh_public: the private key secret(K) is none of p256"


# --- Ed25519 ----------------------------------------------------------------------------------------------------------------

#: RFC 8032, 7.1: private key, public key, message, signature.
ED25519 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("private", "public", "message", "signature"), ED25519)
def test_ed25519_keeps_the_published_vectors(private, public, message, signature):
    assert ed25519_pubkey(sealed(private)) == raw(public)
    assert ed25519_sign(CONTEXT, sealed(private), raw(message)) == raw(signature)
    assert ed25519_verify(raw(public), raw(message), raw(signature)) is TRUE


def test_a_signature_of_something_else_is_false():
    _, public, message, signature = (raw(digits) for digits in ED25519[1])
    order = 2**252 + 27742317777372353535851937790883648493
    scalar = int.from_bytes(signature[32:], "little") + order
    wrong = [
        (public, message + b"x", signature),
        (public, message, bytes(64)),
        (public, message, signature[:-1]),
        (public, message, signature + b"\0"),
        (public, message, signature.hex()),
        (public, message, None),
        (raw(ED25519[0][1]), message, signature),
        (b"\xff" * 32, message, signature),
        (public, message, signature[:32] + scalar.to_bytes(32, "little")),  # the same signature in another form
    ]
    assert [ed25519_verify(*values) for values in wrong] == [FALSE] * len(wrong)


def test_no_signature_counts_of_a_key_for_which_anybody_can_make_one():
    """With a public key of small order, the same point and zero are a signature of every eighth message or of all."""
    identity = raw("01" + "00" * 31)
    assert ed25519_verify(identity, "pay everything", identity + bytes(32)) is FALSE
    assert ed25519_verify(identity[:31] + b"\x80", "pay everything", identity + bytes(32)) is FALSE


def test_the_keys_of_small_order_are_those_of_the_curve():
    """Doubling three times leads to the neutral point, by the arithmetic of RFC 8032, 5.1.4."""
    from stdlib.encryption import _SMALL_ORDER

    p = 2**255 - 19
    d = -121665 * pow(121666, p - 2, p) % p

    def is_small(encoded):
        y = int.from_bytes(encoded, "little") % p
        square = (y * y - 1) * pow(d * y * y + 1, p - 2, p) % p
        x = pow(square, (p + 3) // 8, p)
        if (x * x - square) % p:
            x = x * pow(2, (p - 1) // 4, p) % p
        if (x * x - square) % p:
            return False
        for _ in range(3):
            product = d * x * x * y * y % p
            x, y = 2 * x * y * pow(1 + product, p - 2, p) % p, (y * y + x * x) * pow(1 - product, p - 2, p) % p
        return (x, y) == (0, 1)

    # Of the eight points two have x = 0, and the others come in pairs of two signs; two of the y are written in two ways.
    assert len(_SMALL_ORDER) == 7 and all(map(is_small, _SMALL_ORDER))
    assert not is_small(raw(ED25519[0][1]))


# --- keys are sealed --------------------------------------------------------------------------------------------------------


def test_a_private_key_in_clear_is_refused():
    octets = bytes(32)
    for call in (
        lambda: ed25519_pubkey(octets),
        lambda: ed25519_sign(CONTEXT, octets, "x"),
        lambda: ecdh_public(octets),
        lambda: ecdh_shared_secret(CONTEXT, octets, octets),
    ):
        refused = fault(call)
        assert refused.kind == "type" and "a private key must be a secret, got bytes" in refused.message


def test_errors_say_nothing_of_a_private_key():
    for wrong in ("hunter2", b"hunter2", b"hunter2" * 9, ""):
        message = fault(ed25519_sign, CONTEXT, Secret(wrong, ("K",)), "x").message
        assert message == fault(ed25519_sign, CONTEXT, Secret("another", ("K",)), "x").message
        assert fault(aes_gcm_encrypt, CONTEXT, Secret(wrong, ("K",)), None, "x").message == (
            "aes_gcm_encrypt: the key must be 16, 24 or 32 bytes or a secret of them; "
            'bytes(secret("NAME"), "base64") makes one of a text'
        )


@pytest.mark.parametrize(
    ("act", "name"),
    [
        ('ed25519_sign(as_secret(int_to_bytes(7, 32), "SIGNER"), "x")', "SIGNER"),
        ("ecdh_shared_secret(pair.private, pair.public)", "ecdh"),
    ],
)
def test_what_a_private_key_does_for_its_owner_needs_sign(act, name):
    setup = 'require random\nlet pair be ecdh_keypair("x25519")\n'

    def errors(source, **options):
        return run(source, host=NativeHost({}), **options)["errors"]

    refusal = f'Capability not granted: sign("{name}")'
    assert refusal in errors(setup + act)[0]
    assert refusal in errors(f'require sign("{name}X")\n{setup}{act}')[0]
    assert errors(f'require sign("{name}")\n{setup}{act}') == []
    assert refusal in errors(f'require sign("{name}")\n{setup}sandbox\n    {act}')[0]
    assert "above the host ceiling" in errors(f'require sign("{name}")\n{setup}{act}', ceiling="random")[0]


def test_a_key_of_two_secrets_needs_both_names():
    joined = Secret(bytes(32), ("A", "B"))
    assert 'sign("B")' in fault(ed25519_sign, context(("sign", "A")), joined, "x").message
    assert len(ed25519_sign(context(("sign", "A"), ("sign", "B")), joined, "x")) == 64


def test_bytes_of_a_sealed_text_stay_sealed():
    key = bytes_(Secret("00ff", ("K",)), "hex")
    assert type(key) is Secret and key.plaintext == b"\x00\xff" and key.names == ("K",)
    assert bytes_(key) is key
    assert bytes_(Secret("é", ("K",))).plaintext == "é".encode()
    assert fault(bytes_, Secret("0xhunter2", ("K",)), "hex").message == "bytes(): secret(K) is no hex"
    assert fault(bytes_, Secret("hunter2!", ("K",)), "base64").message == "bytes(): secret(K) is no base64"
