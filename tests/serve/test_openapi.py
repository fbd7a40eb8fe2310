"""The OpenAPI description is true: schemathesis finds no contradiction, and the page shows it."""

import re
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from hark.serve.openapi import describe
from hark.serve.settings import ServeSettings
from tests.serve.conftest import StartServer, TestServer
from tests.serve.stubs import service


def paths_of(server: TestServer) -> list[str]:
    """The paths of all routes."""
    return [route.path for route in server.routes]


def test_every_route_of_the_api_is_described(server: TestServer) -> None:
    described = set(server.get("/api/v1/openapi.json").json()["paths"])
    routes = {path for path in paths_of(server) if path.startswith(("/api/v1/", "/v2/", "/v3/"))}
    assert routes - described == {"/api/v1/openapi.json", "/v2/{rest:path}", "/v3/{rest:path}"}
    assert described <= routes


def test_every_method_of_deepl_is_described(server: TestServer) -> None:
    """Those of clients: GET where the fields are in the query, or else POST."""
    for path, operations in describe(ServeSettings())["paths"].items():
        routes = [route for route in server.routes if route.path == path and route.methods is not None]
        offered = {method.lower() for route in routes for method in route.methods or ()} - {"head"}
        if path.startswith(("/v2/", "/v3/")):
            assert operations.keys() == offered or (offered == {"get", "post"} and len(operations) == 1), path


def test_runs_are_described_where_there_are_any(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(service(runs=tmp_path))
    description = server.get("/api/v1/openapi.json").json()
    described = {path for path in description["paths"] if path.startswith("/api/v1/runs")}
    assert described == {path.replace(":path", "") for path in paths_of(server) if path.startswith("/api/v1/runs")}
    assert len(described) == 4
    schema = schemathesis.openapi.from_dict(description)
    for path in ("/api/v1/runs", "/api/v1/runs/attention", "/api/v1/runs/{name}/metrics"):
        fuzz(server, schema[path]["GET"], schemathesis.GenerationMode.POSITIVE)
    page = server.get("/docs").text
    assert "/api/v1/runs/watch" in page
    assert "<td>events</td>" in page


def test_the_page_shows_all_paths_and_runs_no_script(server: TestServer) -> None:
    page = server.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    for path in describe(ServeSettings())["paths"]:
        assert path in page.text
    assert "<script" not in page.text
    assert "style=" not in page.text
    style = re.findall(r'href="([^"]+\.css)"', page.text)
    assert server.get(f"/{style[0]}").headers["content-type"].startswith("text/css")


FEW = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_schemathesis_finds_no_contradiction(server: TestServer, mode: schemathesis.GenerationMode) -> None:
    """Boundary values of every field, valid and invalid."""
    schema = schemathesis.openapi.from_dict(server.get("/api/v1/openapi.json").json())
    rejection = schema.config.checks.negative_data_rejection
    rejection.expected_statuses = [*rejection.expected_statuses, "413"]  # more texts than the limit
    for result in schema.get_all_operations():
        operation = result.ok()
        if "DeepL" in (operation.tags or ()):  # its clients send forms and numbers as text, so little is invalid
            continue
        if mode == schemathesis.GenerationMode.NEGATIVE and operation.method == "get":  # nothing to get wrong
            continue
        fuzz(server, operation, mode)


def test_schemathesis_finds_no_contradiction_in_deepls(stubbed: TestServer) -> None:
    schema = schemathesis.openapi.from_dict(stubbed.get("/api/v1/openapi.json").json())
    for operation in [result.ok() for result in schema.get_all_operations()]:
        if "DeepL" in (operation.tags or ()):
            fuzz(stubbed, operation, schemathesis.GenerationMode.POSITIVE)


def fuzz(server: TestServer, operation: Any, mode: schemathesis.GenerationMode) -> None:
    @FEW
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        # A description cannot say which languages can be combined, and which runs there are.
        case.call_and_validate(base_url=server.url, timeout=600, excluded_checks=[positive_data_acceptance])

    check()
