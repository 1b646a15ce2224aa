"""What a program is given when it starts: its own variables apart from the settings of the platform."""

from __future__ import annotations

from runner.protocol import DeploySpec, ProjectSpec
from runner.started import start_values


def test_the_settings_of_the_model_come_apart_and_its_background_never() -> None:
    deploy = DeploySpec(
        id="dep_1",
        number=1,
        package_hash="sha256:1",
        entry="main.lang",
        kind="worker",
        ceiling="llm",
        variables={"A": "1", "PLATFORM_LLM_MODEL": "m-1", "PLATFORM_LLM_CONTEXT": "1"},
        secrets={"KEY": "2", "PLATFORM_LLM_PROVIDER": "ollama"},
    )
    spec = ProjectSpec(project="p", generation=1, desired="up", slug="p", name="p", kind="worker", deploy=deploy)
    values = start_values(spec, deploy, ())
    assert (values.env, values.secrets) == ({"A": "1"}, {"KEY": "2"})
    assert values.llm == {"PLATFORM_LLM_MODEL": "m-1", "PLATFORM_LLM_PROVIDER": "ollama"}
