"""Reports: every segment with its state, warnings, similar texts and terms."""

import json

from hark.documents.memory import Memory
from hark.documents.report import MAX_LISTED, make_report, to_html, to_json, to_summary
from hark.documents.translate import translate_document
from hark.text.terms import Terms
from tests.documents.plain import Lines, Reversing

UNITS = {"The cat is on the roof.": "Die Katze.", "known": "bekannt"}
MEMORY = Memory(UNITS.get, UNITS.keys)
TERMS = Terms([("cat", "tac"), ("dog", "Hund")])
TEXT = "The cat was on the roof.\nknown\n404\nA <dog> or not?\nAh"


def test_report() -> None:
    done = translate_document(Lines(TEXT), Reversing(), memory=MEMORY)
    report = make_report("a.txt", done, TERMS, MEMORY)
    assert report.summary == "5 segments: 3 translated, 1 kept, 1 from memory; 1 flagged; terms held: 1 of 2"
    assert list(report.warnings()) == ["segment 4 (A <dog> or not?): low confidence (50%)"]
    [row] = json.loads(to_json([report]))["documents"]
    assert [each["state"] for each in row["list"]] == ["translated", "memory", "kept", "translated", "translated"]
    assert {name: row[name] for name in ("segments", "translated", "kept", "memory", "flagged")} == {
        "segments": 5, "translated": 3, "kept": 1, "memory": 1, "flagged": 1,
    }  # fmt: skip
    assert row["terms"] == [
        {"source": "cat", "target": "tac", "found": 1, "held": 1},
        {"source": "dog", "target": "Hund", "found": 1, "held": 0, "missing": [4]},
    ]
    assert row["list"][0]["similar"]["source"] == "The cat is on the roof."
    assert [each["flag"] for each in row["list"][3]["warnings"]] == ["unsure"]
    page = to_html([report])
    assert "low confidence (50%)" in page
    assert "A &lt;dog&gt; or not?" in page
    assert "<dog>" not in page
    assert "similar: The cat is on the roof. → Die Katze." in page


def test_a_plain_report_has_no_terms_or_similar_texts() -> None:
    report = make_report("a.txt", translate_document(Lines("one\n404"), Reversing()), None, None)
    assert report.summary == "2 segments: 1 translated, 1 kept; 0 flagged"
    assert "Held" not in to_html([report])
    assert to_html([report, report]).count("<section>") == 2


def test_a_summary_lists_flagged_segments_only() -> None:
    done = translate_document(Lines("one\n404\nA dog or not?\n" + "x" * 2_000 + "?"), Reversing())
    summary = to_summary(make_report("a.txt", done, None, None))
    assert {**summary, "list": len(summary["list"])} == {
        "segments": 4, "translated": 3, "kept": 1, "flagged": 2, "list": 2,
    }  # fmt: skip
    assert summary["list"][0] == {
        "number": 3, "source": "A dog or not?", "text": "A god ro ?ton", "warnings": ["low confidence (50%)"],
    }  # fmt: skip
    assert len(summary["list"][1]["source"]) == 1_000
    many = translate_document(Lines("\n".join(f"word {number}?" for number in range(300))), Reversing())
    summary = to_summary(make_report("a.txt", many, None, None))
    assert (summary["flagged"], len(summary["list"])) == (300, MAX_LISTED)
