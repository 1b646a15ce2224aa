"""The engine ``swarm`` on two real machines, each a Docker daemon in a network namespace of its own.

One test: two daemons and an image take ten seconds, and each worker of the tests would start its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runner.engines import EngineError
from runner.engines.swarm_settings import NODES, daemons
from tests.runner.engines.swarm_checks import CHECKS, SwarmStage
from tests.runner.engines.two_machines import TwoMachines, two_machines


@pytest.fixture(scope="module")
def machines() -> Iterator[TwoMachines]:
    yield from two_machines()


def test_programs_on_another_machine(machines: TwoMachines) -> None:
    stage = SwarmStage(machines)
    failed = []
    for check in CHECKS:
        try:
            check(stage)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in {check.__name__}")
            failed.append(error)
    stage.close()
    if failed:
        raise ExceptionGroup("checks that failed", failed)


def test_daemons_of_other_machines_are_reached_over_tls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_TLS_VERIFY", raising=False)
    assert daemons("unix:///run/two.sock, unix:///run/three.sock,") == ("unix:///run/two.sock", "unix:///run/three.sock")
    with pytest.raises(EngineError, match=f"{NODES}: tcp://10.0.0.2:2375 without TLS"):
        daemons("tcp://10.0.0.2:2375")
    with pytest.raises(EngineError, match="ssh://two"):
        daemons("ssh://two")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    assert daemons("tcp://10.0.0.2:2376") == ("tcp://10.0.0.2:2376",)
