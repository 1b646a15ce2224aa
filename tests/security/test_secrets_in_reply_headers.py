"""What a reply does with a secret in its header fields and cookies: nobody who asks gets the plaintext."""

from __future__ import annotations

import pytest

import language

pytestmark = pytest.mark.once

PLAINTEXT = "plaintext-of-the-key"
#: The reply of a route, and the status it then has: a field shows the name of the secret, everything else refuses it.
REPLIES = {
    'with_header(ok({}), "X-Key", secret("K"))': 200,
    'with_header(ok({}), "X-Key", "a" + secret("K"))': 200,
    'with_header(ok({}), "X-Key", bearer(secret("K")))': 200,
    'with_header(ok({}), "X-Key", [secret("K")])': 200,
    'with_header(ok({}), secret("K"), "v")': 500,
    'set_cookie(ok({}), "sid", secret("K"))': 500,
    'set_cookie(ok({}), "sid", "a" + secret("K"))': 500,
    'set_cookie(ok({}), "sid", bearer(secret("K")))': 500,
    'set_cookie(ok({}), secret("K"), "v")': 500,
    'set_cookie(ok({}), "sid", "v", {"path": secret("K")})': 500,
    'set_cookie(ok({}), "sid", "v", {"domain": secret("K")})': 500,
    'clear_cookie(ok({}), secret("K"))': 500,
    'redirect("/" + secret("K"))': 500,
    'respond("x", secret("K"))': 500,
}


@pytest.mark.parametrize("reply", REPLIES)
def test_no_header_field_and_no_cookie_carries_the_plaintext(reply: str) -> None:
    source = f'require serve(8080)\nrequire secret("K")\nserve on 8080\n    route "GET /"\n        give {reply}\n'
    answer = language.handle(source, {"path": "/"}, env={"K": PLAINTEXT})
    assert answer["status"] == REPLIES[reply], answer
    assert PLAINTEXT not in str(answer)
    if answer["status"] == 200:
        assert "secret(K)" in str(answer["headers"])
