"""Amazon Comprehend as a detector of personal data, beside the one in this process."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from baton.adapters.pii.comprehend import ComprehendPiiDetector
from baton.adapters.pii.in_process import InProcessPiiDetector
from baton.domain.errors import PiiDetectorUnavailable
from baton.privacy.redaction import Redactor


@pytest.fixture
def comprehend() -> Any:
    return boto3.client("comprehend", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")


def entity(kind: str, begin: int, end: int, score: float = 0.99) -> dict[str, Any]:
    return {"Type": kind, "BeginOffset": begin, "EndOffset": end, "Score": score}


async def test_names_are_found_beside_what_has_a_form(comprehend: Any) -> None:
    text = "Ada Lovelace, ada@example.com, on Monday, perhaps Bob"
    entities = [entity("NAME", 0, 12), entity("DATE_TIME", 34, 40), entity("NAME", 50, 53, score=0.4)]
    with Stubber(comprehend) as stubber:
        stubber.add_response("detect_pii_entities", {"Entities": entities}, {"Text": text, "LanguageCode": "en"})
        redacted = await Redactor(ComprehendPiiDetector(comprehend, InProcessPiiDetector())).redact(text)
    assert redacted == "[name], [email], on Monday, perhaps Bob"


async def test_a_long_text_is_sent_in_pieces_that_overlap(comprehend: Any) -> None:
    text = "ü" * 50_000
    with Stubber(comprehend) as stubber:
        for _ in range(3):
            expected = {"Text": ANY, "LanguageCode": "es"}
            stubber.add_response("detect_pii_entities", {"Entities": [entity("NAME", 0, 1)]}, expected)
        spans = await ComprehendPiiDetector(comprehend, InProcessPiiDetector(), language="es").detect(text)
        stubber.assert_no_pending_responses()
    assert [span.start for span in spans] == [0, 22_300, 44_600]


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException", "InternalServerException"])
async def test_an_outage_is_one_error(comprehend: Any, code: str) -> None:
    with Stubber(comprehend) as stubber:
        stubber.add_client_error("detect_pii_entities", code)
        with pytest.raises(PiiDetectorUnavailable):
            await ComprehendPiiDetector(comprehend, InProcessPiiDetector()).detect("Hello")
