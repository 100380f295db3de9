# SPDX-License-Identifier: MIT
"""Error answers of Anthropic and of servers that copy it: each has its code and its request id.

The errors are in ../shared/captures/dialect-errors. The tests are skipped if it is absent.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping

import pytest

from streamcore.wire.failures import failure_from_answer, failure_from_payload

from anthropic_support import E, run
from support import CAPTURES

FOLDER = CAPTURES / "dialect-errors"


def error_rows() -> List[Dict[str, Any]]:
    index = FOLDER / "errors.jsonl"
    if not index.is_file():
        return []
    found = [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()]
    return [row for row in found if row["dialect"] == "anthropic"]


@pytest.mark.skipif(not error_rows(), reason="no ../shared/captures beside this checkout")
@pytest.mark.parametrize("row", error_rows(), ids=[row["file"][7:] for row in error_rows()])
def test_recorded_error_has_its_code(row: Dict[str, Any]) -> None:
    """The code is one that the row allows, and the request's id is kept if the answer has one."""
    answer = json.loads((FOLDER / row["file"]).read_text(encoding="utf-8"))
    body = answer["body"] if isinstance(answer["body"], str) else json.dumps(answer["body"])
    failure = failure_from_answer(answer["status"], answer["headers"], body.encode())
    assert failure.code in row["codes"]
    told = {answer["headers"].get("request-id")}
    if isinstance(answer["body"], dict):
        told.add(answer["body"].get("request_id"))
    assert told == {None} or failure.request_id in told


TYPES: Mapping[str, Any] = {
    "invalid_request_error": ("INVALID_REQUEST", False), "authentication_error": ("AUTH", False),
    "billing_error": ("QUOTA", False), "permission_error": ("AUTH", False),
    "not_found_error": ("HTTP_404", False), "request_too_large": ("INVALID_REQUEST", False),
    "rate_limit_error": ("RATE_LIMIT", True), "api_error": ("SERVER", True),
    "timeout_error": ("SERVER", True), "overloaded_error": ("SERVER", True),
}


@pytest.mark.parametrize("kind", TYPES)
def test_error_in_a_200_has_the_code_of_its_type(kind: str) -> None:
    """With status 200 the type decides the code, and the details keep the type."""
    outcome = run(E("error", error={"type": kind, "message": "x"}, request_id="req_1"))
    assert outcome.error is not None
    assert (outcome.code, outcome.error.retryable) == TYPES[kind]
    assert outcome.error.failure.details == {"type": kind}
    assert outcome.error.failure.request_id == "req_1"


@pytest.mark.parametrize("body, code", [
    ({"error": {"message": "Model not exist", "type": "invalid_request_error", "param": None,
                "code": "invalid_request_error"}}, "INVALID_REQUEST"),  # DeepSeek
    ({"error": {"code": "1302", "message": "High concurrency usage"}}, "RATE_LIMIT"),  # Z.ai
    ({"error": {"code": "1310", "message": "Weekly limit exhausted"}}, "QUOTA"),  # Z.ai
    ({"message": "Range of max_tokens should be [1, 65536]", "code": "InvalidParameter",
      "request_id": "r"}, "INVALID_REQUEST"),  # DashScope
])
def test_error_in_the_shape_of_another_server(body: Dict[str, Any], code: str) -> None:
    """Servers that copy the API send errors in a shape of their own; each has its code."""
    failure = failure_from_answer(400, {}, json.dumps(body).encode())
    assert failure.code == code
    assert failure_from_payload(body.get("error", body), body).code == code
