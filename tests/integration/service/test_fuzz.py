"""Requests made from the OpenAPI document: whatever they hold, the answer is one of ours."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from brain_async.fastapi import fixed_scope, service
from tests.integration.service.served import engine_in_memory

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def application() -> FastAPI:
    return service(engine_in_memory(), scope=fixed_scope(UUID(int=7)))


schema = schemathesis.openapi.from_asgi("/v1/openapi.json", application())


def examples(count: int) -> Any:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=count < 100,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def check(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=CHECKS)


@schema.parametrize()
@examples(8)
def test_a_few_requests_of_each_kind(case: schemathesis.Case) -> None:
    check(case)


@pytest.mark.slow
@pytest.mark.timeout(600)
@schema.parametrize()
@examples(200)
def test_many_requests_of_each_kind(case: schemathesis.Case) -> None:
    check(case)
