"""The signature of a webhook about a gate: the holder of the secret can verify who sent it."""

from __future__ import annotations


def webhook_signature(secret: str, body: bytes) -> str:
    """The value of ``X-Platform-Signature`` for a body: ``sha256=`` and the HMAC-SHA256 (RFC 2104) in lower-case hex.

    ``secret`` is the shared key, used as UTF-8 bytes; ``body`` are the exact bytes that are sent. Raises ``ValueError`` for
    an empty secret, with which anybody could sign.
    """
    import hashlib
    import hmac

    if not secret:
        raise ValueError("the secret of a signature must not be empty")
    return f"sha256={hmac.new(secret.encode('utf-8', 'surrogateescape'), body, hashlib.sha256).hexdigest()}"


def verify_signature(secret: str, body: bytes, given: str | None) -> bool:
    """Whether ``given``, the value of the header or ``None`` without one, is the signature of exactly this body.

    The comparison takes the same time wherever the two differ. Raises ``ValueError`` for an empty secret.
    """
    from hmac import compare_digest

    expected = webhook_signature(secret, body)
    return given is not None and compare_digest(expected.encode(), given.encode("utf-8", "replace"))
