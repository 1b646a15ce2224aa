"""The page on the first deploy is true: somebody who types its commands sees what stands below them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from runner_process import ROOT, short_folder

from tests import servers
from tests.manual import DOCS

HERE = Path(__file__).resolve().parent


def test_whoever_follows_the_page_sees_what_it_says() -> None:
    if shutil.which("bwrap") is None or shutil.which("curl") is None:
        servers.missing("bubblewrap and curl", "bubblewrap curl")
    if os.geteuid() != 0:
        servers.missing("A network of its own, made by the superuser,", "bubblewrap")
    with short_folder() as home:
        # In a network of its own, and a process tree that ends with it.
        command = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
        command += [sys.executable, str(HERE / "followed_page.py"), str(DOCS / "first-deploy.md"), str(home)]
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-2]) >= 14, "the commands of the page were found"
