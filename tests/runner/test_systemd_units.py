"""The units of systemd: they are well-formed, and what they take from a runner leaves it its sandbox."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from platform_api.administration.systemd_unit import UNITS
from tests import servers

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 120


def printed(part: str) -> str:
    command = [sys.executable, "-m", "language", "platform", "systemd-unit", part]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("part", list(UNITS))
def test_systemd_takes_the_unit(part: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        servers.missing("systemd-analyze", "systemd")
    unit = printed(part)
    words = re.search(r"^ExecStart=(\S+) platform (\S+) ", unit, re.MULTILINE)
    assert words is not None and Path(words[1]).name == "lang" and words[2] == {"service": "serve"}.get(part, part)
    name = re.search(r"/etc/systemd/system/(lang-[a-z]+\.service)", unit)
    assert name is not None
    (tmp_path / name[1]).write_text(unit)
    checked = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / name[1])], capture_output=True, text=True, timeout=SECONDS
    )
    # It loads other units of the machine too, and may find fault with them.
    assert checked.returncode == 0 and name[1] not in checked.stderr, checked.stderr


def test_a_runner_below_what_the_unit_takes_has_its_sandbox(tmp_path: Path) -> None:
    """The same restrictions by the system's own commands: no systemd runs here."""
    if shutil.which("bwrap") is None:
        servers.missing("bubblewrap", "bubblewrap")
    if os.geteuid() != 0:
        servers.missing("The unit of the runner, which is started by the superuser,", "bubblewrap")
    unit = dict(line.split("=", 1) for line in printed("runner").splitlines() if "=" in line and not line.startswith("#"))
    assert (unit["NoNewPrivileges"], unit["ProtectSystem"], unit["PrivateTmp"]) == ("yes", "strict", "yes")
    taken = [name.removeprefix("CAP_").lower() for name in unit["CapabilityBoundingSet"].removeprefix("~").split()]
    limits = f"--no-new-privs --bounding-set {','.join(f'-{name}' for name in taken)}"
    # An installation below /tmp would be hidden with the rest of it: this one stays where it is.
    prepare = f"mount --rbind {ROOT} /mnt && mount -t tmpfs -o mode=1777 none /tmp && mkdir -p -m 755 {ROOT}"
    prepare += f" && mount --rbind /mnt {ROOT} && mkdir -m 700 /tmp/d && mount -o remount,bind,ro / && umask 077"
    runner = f"exec setpriv {limits} {sys.executable} -m language platform runner --data /tmp/d --engine process"
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f"{prepare} && {runner}"]
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PLATFORM_RUNNER_TOKEN": "lr_of_nobody"}
    variables["PLATFORM_SERVICE_URL"] = f"http://127.0.0.1:{servers.free_port()}"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables, cwd="/") as process:
        late = threading.Timer(SECONDS, process.kill)
        late.start()
        assert process.stderr is not None
        said = ""
        try:
            while "enforced: " not in said:
                line = process.stderr.readline()
                assert line, said
                said += line
        finally:
            late.cancel()
            process.terminate()
    assert {"sandbox", "user", "network", "system_calls"} <= set(
        re.findall(r"\w+", said.partition("enforced: ")[2].partition(";")[0])
    ), said
