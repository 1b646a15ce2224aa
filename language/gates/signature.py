"""The signature of what is sent about a gate: who holds the secret can tell that nobody else wrote it."""

from __future__ import annotations


def signature(secret: str, body: bytes) -> str:
    """The value of ``X-Platform-Signature``: HMAC-SHA256 (RFC 2104) over the exact body, the key being the UTF-8 bytes."""
    import hashlib
    import hmac

    return f"sha256={hmac.new(secret.encode('utf-8', 'surrogateescape'), body, hashlib.sha256).hexdigest()}"
