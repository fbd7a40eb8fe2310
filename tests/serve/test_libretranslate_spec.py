"""Requests generated from the description at /spec, valid and invalid: none makes the server fail."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode

from hark.serve.libretranslate_spec import describe
from hark.serve.settings import ServeSettings
from tests.serve.conftest import TestServer

EXAMPLES = 40
SCHEMA = schemathesis.openapi.from_dict(describe(ServeSettings(), ["de", "en"]))
OPERATIONS = [operation.ok() for operation in SCHEMA.get_all_operations()]
EXPECTED = {200, 400, 403, 405, 413, 415}


@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        pytest.param(each, mode, id=f"{each.label} {mode.name}")
        for each in OPERATIONS
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        if each.method == "post" or mode is GenerationMode.POSITIVE  # nothing can be wrong with a GET without fields
    ],
)
def test_no_request_makes_the_server_fail(
    stubbed: TestServer, operation: schemathesis.schemas.APIOperation, mode: GenerationMode
) -> None:
    translated = 0

    @given(operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: schemathesis.Case) -> None:
        nonlocal translated
        response = case.call(base_url=stubbed.url)
        translated += response.status_code == 200
        assert response.status_code in EXPECTED, (response.status_code, response.text)
        if response.status_code != 200:
            assert isinstance(response.json()["error"], str)
        elif mode is GenerationMode.POSITIVE:
            case.validate_response(response, checks=[schemathesis.checks.response_schema_conformance])

    send()
    if operation.label == "POST /translate" and mode is GenerationMode.POSITIVE:
        assert translated  # not only refusals
    assert stubbed.get("/health").status_code == 200
