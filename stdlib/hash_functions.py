"""The hash functions that Python's ``hashlib`` lacks or does not promise: Keccak-256 and SHA-512/256, in plain Python."""

from __future__ import annotations

_MASK = (1 << 64) - 1

# Keccak-f[1600] (Keccak reference, 2011), round constants of iota.
_KECCAK_ROUNDS = (
    0x0000000000000001, 0x0000000000008082, 0x800000000000808A, 0x8000000080008000,
    0x000000000000808B, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008A, 0x0000000000000088, 0x0000000080008009, 0x000000008000000A,
    0x000000008000808B, 0x800000000000008B, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800A, 0x800000008000000A,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
)  # fmt: skip
_KECCAK_RATE = 136


def keccak256(data: bytes) -> bytes:
    """Keccak[512] with 32 bytes of output and the padding from before FIPS 202 (``0x01`` ... ``0x80``)."""
    from struct import iter_unpack

    padded = bytearray(data)
    padded += bytes(_KECCAK_RATE - len(data) % _KECCAK_RATE)
    padded[len(data)] ^= 0x01
    padded[-1] ^= 0x80
    state = [0] * 25
    for block in iter_unpack("<17Q", padded):
        for index, word in enumerate(block):
            state[index] ^= word
        state = _keccak_f(state)
    return b"".join(word.to_bytes(8, "little") for word in state[:4])


def _keccak_f(state: list[int]) -> list[int]:
    # Unrolled over the 25 lanes (a0 is lane (0,0), a1 lane (1,0), a5 lane (0,1)): a third of the time of loops over x and y.
    mask = _MASK
    (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24) = state
    for constant in _KECCAK_ROUNDS:
        # theta
        c0 = a0 ^ a5 ^ a10 ^ a15 ^ a20
        c1 = a1 ^ a6 ^ a11 ^ a16 ^ a21
        c2 = a2 ^ a7 ^ a12 ^ a17 ^ a22
        c3 = a3 ^ a8 ^ a13 ^ a18 ^ a23
        c4 = a4 ^ a9 ^ a14 ^ a19 ^ a24
        d0 = c4 ^ (c1 << 1 & mask | c1 >> 63)
        d1 = c0 ^ (c2 << 1 & mask | c2 >> 63)
        d2 = c1 ^ (c3 << 1 & mask | c3 >> 63)
        d3 = c2 ^ (c4 << 1 & mask | c4 >> 63)
        d4 = c3 ^ (c0 << 1 & mask | c0 >> 63)
        # rho and pi
        b0 = a0 ^ d0
        a1 ^= d1
        b10 = a1 << 1 & mask | a1 >> 63
        a2 ^= d2
        b20 = a2 << 62 & mask | a2 >> 2
        a3 ^= d3
        b5 = a3 << 28 & mask | a3 >> 36
        a4 ^= d4
        b15 = a4 << 27 & mask | a4 >> 37
        a5 ^= d0
        b16 = a5 << 36 & mask | a5 >> 28
        a6 ^= d1
        b1 = a6 << 44 & mask | a6 >> 20
        a7 ^= d2
        b11 = a7 << 6 & mask | a7 >> 58
        a8 ^= d3
        b21 = a8 << 55 & mask | a8 >> 9
        a9 ^= d4
        b6 = a9 << 20 & mask | a9 >> 44
        a10 ^= d0
        b7 = a10 << 3 & mask | a10 >> 61
        a11 ^= d1
        b17 = a11 << 10 & mask | a11 >> 54
        a12 ^= d2
        b2 = a12 << 43 & mask | a12 >> 21
        a13 ^= d3
        b12 = a13 << 25 & mask | a13 >> 39
        a14 ^= d4
        b22 = a14 << 39 & mask | a14 >> 25
        a15 ^= d0
        b23 = a15 << 41 & mask | a15 >> 23
        a16 ^= d1
        b8 = a16 << 45 & mask | a16 >> 19
        a17 ^= d2
        b18 = a17 << 15 & mask | a17 >> 49
        a18 ^= d3
        b3 = a18 << 21 & mask | a18 >> 43
        a19 ^= d4
        b13 = a19 << 8 & mask | a19 >> 56
        a20 ^= d0
        b14 = a20 << 18 & mask | a20 >> 46
        a21 ^= d1
        b24 = a21 << 2 & mask | a21 >> 62
        a22 ^= d2
        b9 = a22 << 61 & mask | a22 >> 3
        a23 ^= d3
        b19 = a23 << 56 & mask | a23 >> 8
        a24 ^= d4
        b4 = a24 << 14 & mask | a24 >> 50
        # chi and iota; x & ~y without negative numbers is x & y ^ x
        a0 = b0 ^ (b1 & b2 ^ b2) ^ constant
        a1 = b1 ^ (b2 & b3 ^ b3)
        a2 = b2 ^ (b3 & b4 ^ b4)
        a3 = b3 ^ (b4 & b0 ^ b0)
        a4 = b4 ^ (b0 & b1 ^ b1)
        a5 = b5 ^ (b6 & b7 ^ b7)
        a6 = b6 ^ (b7 & b8 ^ b8)
        a7 = b7 ^ (b8 & b9 ^ b9)
        a8 = b8 ^ (b9 & b5 ^ b5)
        a9 = b9 ^ (b5 & b6 ^ b6)
        a10 = b10 ^ (b11 & b12 ^ b12)
        a11 = b11 ^ (b12 & b13 ^ b13)
        a12 = b12 ^ (b13 & b14 ^ b14)
        a13 = b13 ^ (b14 & b10 ^ b10)
        a14 = b14 ^ (b10 & b11 ^ b11)
        a15 = b15 ^ (b16 & b17 ^ b17)
        a16 = b16 ^ (b17 & b18 ^ b18)
        a17 = b17 ^ (b18 & b19 ^ b19)
        a18 = b18 ^ (b19 & b15 ^ b15)
        a19 = b19 ^ (b15 & b16 ^ b16)
        a20 = b20 ^ (b21 & b22 ^ b22)
        a21 = b21 ^ (b22 & b23 ^ b23)
        a22 = b22 ^ (b23 & b24 ^ b24)
        a23 = b23 ^ (b24 & b20 ^ b20)
        a24 = b24 ^ (b20 & b21 ^ b21)
    return [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24]


# FIPS 180-4, 5.3.6.2.
_SHA512_256_START = (
    0x22312194FC2BF72C, 0x9F555FA3C84C64C2, 0x2393B86B6F53B151, 0x963877195940EABD,
    0x96283EE2A88EFFE3, 0xBE5E1E2553863992, 0x2B0199FC2C85B8AA, 0x0EB72DDC81C52CA2,
)  # fmt: skip


def sha512_256(data: bytes) -> bytes:
    """SHA-512/256: that of the interpreter's crypto library where it has one, else the one below."""
    import hashlib

    try:
        return hashlib.new("sha512_256", data).digest()
    except ValueError:
        return plain_sha512_256(data)


def plain_sha512_256(data: bytes) -> bytes:
    """SHA-512/256 (FIPS 180-4, 6.7) in plain Python, for builds without a crypto library."""
    from struct import iter_unpack

    padded = data + b"\x80" + bytes(-(len(data) + 17) % 128) + (len(data) * 8).to_bytes(16, "big")
    state: tuple[int, ...] = _SHA512_256_START
    constants = _sha512_constants()
    for block in iter_unpack(">16Q", padded):
        state = _sha512_block(state, block, constants)
    return b"".join(word.to_bytes(8, "big") for word in state[:4])


def _sha512_block(state: tuple[int, ...], block: tuple[int, ...], constants: list[int]) -> tuple[int, ...]:
    mask = _MASK
    words = list(block)
    for t in range(16, 80):
        x, y = words[t - 15] * _TWICE, words[t - 2] * _TWICE
        s0 = (x >> 1 ^ x >> 8) & mask ^ words[t - 15] >> 7
        s1 = (y >> 19 ^ y >> 61) & mask ^ words[t - 2] >> 6
        words.append((words[t - 16] + s0 + words[t - 7] + s1) & mask)
    a, b, c, d, e, f, g, h = state
    for word, constant in zip(words, constants):
        ee, aa = e * _TWICE, a * _TWICE
        t1 = h + ((ee >> 14 ^ ee >> 18 ^ ee >> 41) & mask) + (e & f ^ e & g ^ g) + constant + word
        t2 = ((aa >> 28 ^ aa >> 34 ^ aa >> 39) & mask) + (a & b ^ a & c ^ b & c)
        a, b, c, d, e, f, g, h = (t1 + t2) & mask, a, b, c, (d + t1) & mask, e, f, g
    return tuple((old + new) & mask for old, new in zip(state, (a, b, c, d, e, f, g, h)))


# Multiplication by this writes a word twice side by side, so that a right shift rotates its lower half.
_TWICE = (1 << 64) + 1


def _sha512_constants() -> list[int]:
    """The first 64 bits of the fractional parts of the cube roots of the first 80 primes (FIPS 180-4, 4.2.3)."""
    primes = [n for n in range(2, 410) if all(n % d for d in range(2, int(n**0.5) + 1))]
    return [_cube_root(prime << 192) & _MASK for prime in primes]


def _cube_root(number: int) -> int:
    root = 1 << -(-number.bit_length() // 3)
    while True:
        better = (2 * root + number // (root * root)) // 3
        if better >= root:
            return root
        root = better
