"""The API is as its description says, whatever is sent: by schemathesis."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rag_app.scope import HOME, OWN, readers_of
from tests.api_servers import KEY, Served, api_server
from tests.pdfs import pdf
from tests.test_api import FERRY, open_library


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with (
        open_library(tmp_path_factory.mktemp("clients"), max_file_mb=1) as library,
        api_server(library, {KEY: OWN, READER: readers_of(HOME)}) as running,
    ):
        added = [
            library.add("ferry.txt", FERRY),
            library.add("prices.pdf", pdf("A day ticket costs nine euros.", "The pier is closed.")),
        ]
        library.wait([one.document.id for one in added], timeout=60)
        list(library.ask("What does the ferry cost?"))  # models are loaded once
        yield running


OPERATIONS = (
    ("GET", "/documents"),
    ("POST", "/documents"),
    ("GET", "/documents/{document_id}"),
    ("DELETE", "/documents/{document_id}"),
    ("GET", "/documents/{document_id}/progress"),
    ("GET", "/documents/{document_id}/original"),
    ("GET", "/documents/{document_id}/pages/{page}"),
    ("GET", "/documents/{document_id}/pages/{page}/picture"),
    ("GET", "/documents/{document_id}/pages/{page}/boxes"),
    ("POST", "/search"),
    ("POST", "/ask"),
    ("GET", "/collections"),
    ("GET", "/health"),
)
UPLOAD = ("POST", "/documents")
EXAMPLES = int(os.environ.get("API_EXAMPLES", "25"))  # of each operation
READER = "ragapp_of-somebody-who-may-only-read"
KEYS = {"owner": KEY, "reader": READER, "nobody": "", "stranger": "ragapp_opens-nothing"}


@pytest.fixture(scope="module")
def described(served) -> Any:
    import schemathesis  # here: it takes seconds, and so in every process that looks for tests

    told = {"Authorization": f"Bearer {KEY}"}
    return schemathesis.openapi.from_url(f"{served.url}/api/v1/openapi.json", headers=told)


def test_what_an_event_says_is_described(described):
    made = described.raw_schema
    stream = made["paths"]["/ask"]["post"]["responses"]["200"]["content"]["text/event-stream"]
    for event in stream["schema"]["oneOf"]:
        named = event["properties"]["data"]["contentSchema"]["$ref"].rpartition("/")[2]
        assert named in made["components"]["schemas"], event["properties"]["event"]


def test_every_operation_is_described_and_no_other(described):
    found = {(each.method.upper(), each.path) for each in _operations(described)}
    assert found == set(OPERATIONS)


def _operations(described: Any) -> list[Any]:
    return [each.ok() for each in described.get_all_operations()]


def _operation(described: Any, method: str, path: str) -> Any:
    [found] = [o for o in _operations(described) if (o.method.upper(), o.path) == (method, path)]
    return found


def _trying(examples: int) -> Any:
    return settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )


@pytest.mark.timeout(60 + 10 * EXAMPLES)
@pytest.mark.parametrize("who", KEYS)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_whatever_is_sent_gets_what_the_description_promises(served, described, method, path, who):
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    operation = _operation(described, method, path)
    known = served.library.document("prices.pdf").id

    @_trying(EXAMPLES if who == "owner" else max(1, EXAMPLES // 5))
    @given(case=operation.as_strategy(), real=st.booleans())
    def hold(case: Any, real: bool) -> None:
        if real and method == "GET" and "document_id" in case.path_parameters:
            case.path_parameters["document_id"] = known
            if "page" in case.path_parameters:
                case.path_parameters["page"] = 1
        said = case.call_and_validate(
            base_url=f"{served.url}/api/v1",
            headers={"Authorization": f"Bearer {KEYS[who]}"} if KEYS[who] else {},
            # no description can tell which bytes are a file that can be read
            excluded_checks=[positive_data_acceptance] if (method, path) == UPLOAD else [],
        )
        if who in ("nobody", "stranger") and path != "/health":
            assert said.status_code in (400, 401, 403, 405)

    hold()


@pytest.mark.timeout(60 + 10 * EXAMPLES)
@pytest.mark.parametrize(
    ("method", "path"),
    [one for one in OPERATIONS if one != ("GET", "/health")],  # where nothing can be wrong
)
def test_what_does_not_fit_the_description_is_answered_as_it_promises(
    served, described, method, path
):
    """And refused where JSON says it: all of a form is text, and a query may hold more."""
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import negative_data_rejection

    operation = _operation(described, method, path)

    @_trying(EXAMPLES)
    @given(case=operation.as_strategy(GenerationMode.NEGATIVE))
    def hold(case: Any) -> None:
        unkeyed = "authorization" not in {name.lower() for name in case.headers or {}}
        keyed = {"Authorization": f"Bearer {KEY}"} if unkeyed else {}
        said = case.call(base_url=f"{served.url}/api/v1", headers=keyed)
        refused = path not in ("/search", "/ask") or said.status_code == 413  # too large is refused
        case.validate_response(said, excluded_checks=[negative_data_rejection] if refused else [])

    hold()


def test_fields_of_an_upload_are_as_long_as_the_description_says(served):
    with served.client() as anybody:
        for name, most in (("password", 1_000), ("collection", 200)):
            file = {"file": ("long.txt", b"The pier opens at nine.")}
            said = anybody.post("/api/v1/documents", files=file, data={name: "x" * (most + 1)})
            assert said.status_code == 422 and f"{most:,}" in said.json()["detail"]
