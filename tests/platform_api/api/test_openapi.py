"""The OpenAPI document."""

from __future__ import annotations

from openapi_spec_validator import OpenAPIV31SpecValidator
from platform_service import Service


def test_the_document_is_valid_and_the_same_behind_a_token(service: Service) -> None:
    document = service.client().get("/openapi.json").json()
    OpenAPIV31SpecValidator(document).validate()
    assert (document["openapi"][:3], document["info"]["version"]) == ("3.1", "0.1.0")
    assert document["servers"] == [{"url": service.url}]
    assert service.client().get("/api/v1/openapi.json").status_code == 401
    assert service.signed_in().get("/api/v1/openapi.json").json() == document


def test_every_operation_has_a_name_a_summary_and_errors_of_our_shape(service: Service) -> None:
    operations = service.operations()
    names = [operation["operationId"] for _, _, operation in operations]
    assert len(set(names)) == len(names) and "deleteTokensByTokenId" in names
    for method, path, operation in operations:
        assert operation["summary"] and " " in operation["description"], f"{method} {path}"
        assert operation["responses"].keys() == {"200", "4XX", "5XX"}, f"{method} {path}"


def test_a_body_without_fields_that_must_be_there_may_be_left_out(service: Service) -> None:
    bodies = {path: about["requestBody"]["required"] for _, path, about in service.operations() if "requestBody" in about}
    assert bodies["/api/v1/auth/device"] is False and bodies["/api/v1/auth/login"] is True
    assert service.client().post("/api/v1/auth/device").status_code == 200


def test_no_pages_of_the_framework_are_served(service: Service) -> None:
    for path in ("/schema", "/schema/swagger", "/schema/openapi.json"):
        assert service.client().get(path).status_code == 404
