"""Where webhooks and programs of a deployed project get to by a name server that lies: to the public network, and no further.

The platform is a whole one in a network of its own, with an address of the Internet, one of a private network and that of a
cloud's metadata service; all three answer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from own_network import PUBLIC

from language import verify_signature
from tests import servers

SCRIPT = Path(__file__).resolve().parent / "outward_platform.py"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the script has seen."""
    if shutil.which("bwrap") is None:
        servers.missing("bubblewrap", "bubblewrap")
    if os.geteuid() != 0:
        pytest.skip("only the superuser makes a network")
    # In a process tree that ends with it.
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    words += [sys.executable, str(SCRIPT), str(tmp_path_factory.mktemp("network"))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    yield json.loads(done.stdout.splitlines()[-1])


def test_a_webhook_of_a_deployed_program_is_signed_and_its_link_decides(seen: dict[str, Any]) -> None:
    signed = seen["signed"]
    address, path, headers, body = signed["sent"]
    assert (address, path, headers["Host"]) == (PUBLIC, "/gates", "hook.example")
    assert verify_signature("a secret of the user", body.encode(), headers["X-Platform-Signature"])
    assert not verify_signature("another secret", body.encode(), headers["X-Platform-Signature"])
    told = json.loads(body)
    gate = f"{signed['url']}/approvals/{told['id']}"
    assert told == {
        "id": told["id"],
        "type": "approve",
        "message": "Ship it?",
        "expires_at": told["expires_at"],
        "token": told["token"],
        "respond_path": f"/approvals/{told['id']}",
        "respond_url": gate,
        "respond_page": f"{gate}/{told['token']}",
        "respond_link_yes": f"{gate}/{told['token']}?d=yes",
        "respond_link_no": f"{gate}/{told['token']}?d=no",
    }
    assert (signed["followed"], signed["answer"]) == (200, True)
    assert told["token"] not in json.dumps(signed["gate"]), "the service never learns it"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("redirect", "it was answered with 307"),
        ("private by name", "inside.example is not of the public network"),
        ("metadata by name", "metadata.example is not of the public network"),
        ("two addresses", "both.example is not of the public network"),
        ("private literally", "10.7.0.5 is not of the public network"),
        ("listed address by name", "here.example is not of the public network"),
        ("without an answer", "silent.example is not known"),
    ],
)
def test_no_webhook_leads_inside_and_the_gate_waits_all_the_same(seen: dict[str, Any], name: str, reason: str) -> None:
    assert reason in seen["astray"]["told"][name]
    assert seen["astray"]["ended"][name].splitlines()[-1] == "true"


def test_a_name_is_asked_for_once_for_a_webhook_and_its_answer_is_where_it_goes(seen: dict[str, Any]) -> None:
    assert seen["asked"].count("rebind.example") == 1
    assert [each[0] for each in seen["posted"] if each[1] == "/first"] == [PUBLIC]


def test_a_program_and_its_command_reach_the_public_address_and_nothing_inside(seen: dict[str, Any]) -> None:
    first, *others = seen["reached"][:6]
    assert first == "here" and len(others) == 5
    assert all("not public" in line for line in others[:-1]) and "Capability not granted" in others[-1], others
    allowed, *refused = [line for line in seen["reached"][6:] if line]
    assert allowed == "here" and len(refused) == 5
    assert all("403" in line for line in refused), refused


def test_nobody_inside_was_even_connected_to(seen: dict[str, Any]) -> None:
    assert set(seen["connected"]) == {PUBLIC} and seen["listened"] == []
