"""PDF files that programs of every day have written are read whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton.adapters.extraction import pdf

FILES = Path(__file__).parent / "files" / "pdf"
POLICY = "ACME GmbH – Confidential – Travel policy v7"
CHART = (
    *("1.00 1.25 1.50 1.75 2.00 2.25 2.50 2.75 3.00", "hours"),
    *("4.0", "4.5", "5.0", "5.5", "6.0", "6.5", "7.0", "7.5", "8.0"),
    "Vibration of pump P-17 over time",
    *("Limit: 7.1 mm/s. Above it the pump is stopped", "and the bearing is replaced."),
)
LINES = {
    "chart.pdf": CHART,
    "opentype-font-chrome.pdf": ("Onboarding", "Lunch is paid up to 9 euros a day. Bold text."),
    "printed-by-chrome.pdf": (
        "出張旅費規程",
        *("第一条 国内出張の宿泊費は一泊につき一", "万二千円を上限とする。海外出張については"),
        *("別表を参照すること。日当は三千円とし、半日", "の場合はその半額とする。航空券は出発の三"),
        "週間前までに手配するものとする。",
    ),
    "report-with-chart.pdf": (
        *(POLICY, "Page 1 of 3", "A hotel room may cost at most 140 euros a night¹ and must be"),
        *("booked by the travel office. Whoever books a more expensive",),
        *("room pays the difference, unless the head of the depart-", "¹ In London and Paris 210 euros."),
        *(POLICY, "Page 2 of 3", "ment has agreed in writing.² Trains are booked in second class", "below three hours."),
        *("The", "² An e-mail is enough.", POLICY, "Page 3 of 3", "daily allowance is 28 euros.", *CHART),
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_every_line_is_read(name: str) -> None:
    body = (FILES / name).read_bytes()
    document = pdf.extract(body, 1, pdf.pages(body))
    assert not document.page_errors
    assert [line for block in document.blocks for line in block.text.split("\n")] == list(LINES[name])
