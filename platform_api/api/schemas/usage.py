"""What projects take, and what an account uses of its plan."""

from __future__ import annotations

from platform_api.api.schemas.shared import Answer


class Sample(Answer):
    """What a project took in one minute. ``cpu_seconds`` and ``requests`` count since its program started."""

    at: str
    memory_mb: int
    cpu_seconds: float
    disk_mb: int
    requests: int


class ProjectMetrics(Answer):
    """Samples, oldest first, and the newest of them."""

    items: list[Sample]
    current: Sample | None


class Used(Answer):
    """How much is in use, and how much the plan allows."""

    used: int
    limit: int


class AccountUsage(Answer):
    """What an account uses of its plan, and what its projects take now."""

    plan: str
    services: Used
    memory_mb: Used
    projects: Used
    packages_mb: Used
    memory_taken_mb: int
    disk_mb: int
    runs: int
