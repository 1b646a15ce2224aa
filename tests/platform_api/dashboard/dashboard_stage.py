"""A small company on a platform, for what is seen in a browser: services, a job, a worker that asks a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploying import WEB, runner_of, until
from platform_service import Service

from platform_api.moments import MINUTE, now
from platform_api.records.audit import append_audit
from platform_api.records.logs import append_logs

API = "/api/v1"
REFUNDS = """require net("api.stripe.com")
require secret("STRIPE_KEY")
require net("*.mail.example.com")
approve "Refund 32.50 EUR to Ana for order 1041? The cassette was worn after a week."
sleep(1)
"""
REPORT = 'require file.write("reports/*")\nprint("orders: 41, refunds: 2")\n'
SHOP = 'require net("api.stripe.com")\n' + WEB
LOG = (
    ("system", "deploy 1 is live"),
    ("out", "listening on 8080"),
    ("out", "GET /orders/1041 200 4 ms"),
    ("err", "warning: the price list is from yesterday"),
    ("out", "POST /orders 201 11 ms"),
)


class Company:
    """An account with four projects: their ids by their names."""

    def __init__(self, service: Service) -> None:
        self.account = service.account("ana@example.com", admin=True)
        self.client = service.client(service.token(self.account))
        self.projects: dict[str, str] = {}

    def deploys(self, name: str, kind: str, source: str) -> str:
        body = {"name": name, "source": source, "kind": kind}
        made = self.client.post(f"{API}/projects", json=body).json()
        project = str(made["project"]["id"])
        self.projects[name] = project
        return project

    def deploy(self, project: str) -> None:
        assert self.client.post(f"{API}/projects/{project}/deploys").status_code == 200

    def status(self, project: str) -> str:
        return str(self.client.get(f"{API}/projects/{project}").json()["project"]["status"])


@contextmanager
def company(folder: Path, **settings: object) -> Iterator[tuple[Service, Company]]:
    """The service, its runner, and the company on it."""
    with Service(folder / "data", **settings) as service, runner_of(service) as runner:
        runner.start()
        owner = Company(service)
        shop = owner.deploys("Shop front", "web", SHOP)
        report = owner.deploys("Nightly report", "job", REPORT)
        refunds = owner.deploys("Refunds", "worker", REFUNDS)
        owner.deploys("Translations", "worker", 'require llm\nrequire secret("MODEL_KEY")\nprint(secret("MODEL_KEY") == "x")\n')
        owner.client.put(f"{API}/projects/{refunds}/secrets/STRIPE_KEY", json={"value": "sk_live_x"})
        for project in (shop, report, refunds):
            owner.deploy(project)
        until(lambda: owner.status(shop) == "running" and owner.status(report) == "ready")
        owner.client.put(f"{API}/projects/{report}/schedule", json={"cron": "30 6 * * *"})
        owner.client.post(f"{API}/projects/{report}/run")
        until(lambda: owner.client.get(f"{API}/approvals").json()["items"])
        with service.platform.store.records.writing() as connection:
            append_logs(connection, shop, [(now() - MINUTE, stream, line, None) for stream, line in LOG])
            for granted, scope, why in ((True, "api.stripe.com", ""), (False, "evil.example", "no require line covers it")):
                record = {"capability": "net", "scope": scope, "granted": granted, "origin": "main.lang:3", "why": why}
                append_audit(connection, refunds, None, [{**record, "ts": now() / 1000}])
        yield service, owner
