"""``lang login``, ``logout``, ``whoami``."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence

from platform_api.commands.arguments import parser, read
from platform_api.commands.client import Client, client, segment
from platform_api.commands.credentials import Credentials
from platform_api.commands.failure import Failure
from platform_api.commands.output import note, out, plain, show_json
from platform_api.commands.shapes import TOKEN, Number, check


def login(words: Sequence[str]) -> int:
    """Signs this machine in. A person approves a code in a browser; the password is never typed here."""
    made = parser("login", "Signs this machine in. You approve a code in the browser; the token is stored and never shown.")
    made.add_argument(
        "--name",
        default=platform.node()[:100] or "terminal",
        help="name under which this machine is listed (default: its host name)",
    )
    made.add_argument(
        "--scope",
        action="append",
        choices=["read", "deploy", "secrets", "approve"],
        help="a right of the token; repeat it for several (default: read, deploy and secrets)",
    )
    arguments = read(made, words)
    service = client(arguments.url, signed_in=False)
    asked = {"name": arguments.name} | ({"scopes": arguments.scope} if arguments.scope else {})
    gives = {
        "device_code": str,
        "user_code": str,
        "verify_url": str,
        "expires_in": Number(0, 86_400),
        "interval": Number(0, 600),
    }
    device = Client(service.url, None).call("POST", "/auth/device", asked, gives=gives)
    if arguments.json:
        show_json({name: device[name] for name in ("user_code", "verify_url", "expires_in", "interval")})
    else:
        out(f"Open {plain(device['verify_url'])}")
        out(f"and approve the code {plain(device['user_code'])}.")
    end = time.monotonic() + device["expires_in"]
    while time.monotonic() < end:
        time.sleep(device["interval"])
        code = {"device_code": device["device_code"]}
        answer = Client(service.url, None).call("POST", "/auth/device/token", code, gives={"status": str})
        if answer["status"] == "ok":
            check(answer, {"token": TOKEN, "user": {"email": str}}, service.url)
            place = Credentials().keep(service.url, answer["token"])
            user = answer["user"]
            if arguments.json:
                show_json({"user": user})
            else:
                out(f"Signed in to {service.url} as {plain(user['email'])}. The token is stored in {place}.")
            return 0
    raise Failure("the code was not approved in time: run `lang login` again and approve the new code")


def logout(words: Sequence[str]) -> int:
    """Revokes the token of this machine and deletes it here."""
    arguments = read(parser("logout", "Signs this machine out: revokes its token and deletes it here."), words)
    service = client(arguments.url)
    try:
        service.call("DELETE", f"/tokens/{segment('current')}")
        revoked = True
    except Failure as failure:
        # A token that does not hold any more is what was wanted.
        if failure.answer.get("status") not in (401, 404):
            raise
        revoked = False
    Credentials().forget(service.url)
    if arguments.json:
        show_json({"ok": True, "revoked": revoked})
    else:
        out(f"Signed out of {service.url}.")
        if not revoked:
            note("The token was no longer valid.")
    return 0


def whoami(words: Sequence[str]) -> int:
    """Shows the account of the token."""
    arguments = read(parser("whoami", "Shows the account that this machine is signed in to."), words)
    service = client(arguments.url)
    account = service.call("GET", "/me", gives={"email": str, "name": str, "plan": str})
    if arguments.json:
        show_json(account)
    else:
        out(f"{plain(account['email'])} ({plain(account['name'])}), plan {plain(account['plan'])}, at {service.url}")
    return 0
