"""The codes of pyotp, for keys given as bytes."""

from __future__ import annotations

from pyotp.otp import OTP


class Codes(OTP):
    """One-time codes (HOTP, RFC 4226) of a key of any length: many sites use keys of 80 bits.

    ``algorithm`` is ``"sha1"`` or ``"sha256"``, ``digits`` 6 to 8.
    """

    def __init__(self, key: bytes, algorithm: str, digits: int) -> None:
        import hashlib

        self._key = key
        super().__init__("", digits=digits, digest=getattr(hashlib, algorithm))

    def byte_secret(self) -> bytes:
        """The key. pyotp itself would decode it from base32 and refuse one of less than 112 bits."""
        return self._key
