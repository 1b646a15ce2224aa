"""What monitoring asks for."""

from __future__ import annotations

from platform_service import Service
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text


def test_the_process_is_up_under_any_name(service: Service) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        answer = service.client().get(path, headers={"Host": "10.0.0.7"})
        assert answer.status_code == 200
    assert service.client().get("/healthz").json() == {"status": "ok"}


def test_a_schema_of_another_version_is_not_ready(service: Service) -> None:
    with service.platform.store.records.writing() as connection:
        connection.execute(text("UPDATE schema_records SET version_num = 'records_9999'"))
    answer = service.client().get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert service.client().get("/healthz").status_code == 200


def test_the_figures_count_requests_by_their_template(service: Service) -> None:
    client = service.signed_in()
    for number in range(3):
        assert client.delete(f"/api/v1/tokens/tok_{number}").status_code == 404
    client.get("/api/v1/no-such-thing")
    client.request("PROPFIND", "/api/v1/me")
    text_ = client.get("/metrics").text
    found = {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for family in text_string_to_metric_families(text_)
        for sample in family.samples
        if sample.name == "platform_requests_total"
    }
    assert found["DELETE", "/api/v1/tokens/{token_id}", "404"] == 3
    assert found["GET", "none", "404"] == 1
    assert [key[0] for key in found if key[0] not in ("GET", "DELETE")] == ["other"]
    assert "platform_requests_under_way 1.0" in text_  # this one
    assert 'platform_stored{kind="runners",status="there"} 0.0' in text_
