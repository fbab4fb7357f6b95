"""Equations of Word and PowerPoint as text."""

from __future__ import annotations

import pytest

from tests.office_files import archive, word_parts
from tests.word_markup import math, paragraph, term, texts


def part(name: str, content: str) -> str:
    return f"<m:{name}>{content}</m:{name}>"


A, B, N, X = map(term, "abnx")
SUM = term("a+b")
EQUATIONS = {
    "a fraction": (part("f", part("num", A) + part("den", B)), "a/b"),
    "a fraction of sums": (part("f", part("num", SUM) + part("den", term("2"))), "(a+b)/2"),
    "a binomial": (part("f", '<m:fPr><m:type m:val="noBar"/></m:fPr>' + part("num", N) + part("den", X)), "n¦x"),
    "a power": (part("sSup", part("e", X) + part("sup", term("2"))), "x^2"),
    "a power of a sum": (part("sSup", part("e", SUM) + part("sup", term("n+1"))), "(a+b)^(n+1)"),
    "an index": (part("sSub", part("e", X) + part("sub", N)), "x_n"),
    "an index and a power": (part("sSubSup", part("e", X) + part("sub", N) + part("sup", term("2"))), "x_n^2"),
    "scripts before": (part("sPre", part("sub", term("6")) + part("sup", term("14")) + part("e", term("C"))), "(_6^14)C"),
    "a root": (part("rad", '<m:radPr><m:degHide m:val="1"/></m:radPr>' + part("deg", "") + part("e", X)), "√x"),
    "a root of a sum": (part("rad", part("deg", "") + part("e", SUM)), "√(a+b)"),
    "a cube root": (part("rad", part("deg", term("3")) + part("e", X)), "∛x"),
    "another root": (part("rad", part("deg", N) + part("e", X)), "root(n, x)"),
    "a sum": (
        part("nary", '<m:naryPr><m:chr m:val="∑"/></m:naryPr>' + part("sub", term("i=1")) + part("sup", N) + part("e", X)),
        "∑_(i=1)^n x",
    ),
    "an integral": (part("nary", part("sub", A) + part("sup", B) + part("e", X)), "∫_a^b x"),
    "brackets": (part("d", part("e", SUM)), "(a+b)"),
    "other brackets": (
        part("d", '<m:dPr><m:begChr m:val="{"/><m:endChr m:val=""/></m:dPr>' + part("e", A)),
        "{a",
    ),
    "separated brackets": (part("d", '<m:dPr><m:sepChr m:val=","/></m:dPr>' + part("e", A) + part("e", B)), "(a,b)"),
    "a power of brackets": (part("sSup", part("e", part("d", part("e", SUM))) + part("sup", term("2"))), "(a+b)^2"),
    "a matrix": (
        part("m", part("mr", part("e", A) + part("e", B)) + part("mr", part("e", N) + part("e", X))),
        "[a, b; n, x]",
    ),
    "several lines": (part("eqArr", part("e", term("a&amp;=1")) + part("e", term("b&amp;=2"))), "a=1; b=2"),
    "a function": (part("func", part("fName", term("sin")) + part("e", X)), "sin x"),
    "a limit": (
        part("func", part("fName", part("limLow", part("e", term("lim")) + part("lim", term("x→0")))) + part("e", X)),
        "lim_(x→0) x",
    ),
    "a hat": (part("acc", part("e", X)), "x\u0302"),
    "a bar": (part("bar", '<m:barPr><m:pos m:val="top"/></m:barPr>' + part("e", X)), "x\u0305"),
    "a frame": (part("borderBox", part("e", SUM)), "a+b"),
    "a brace below": (part("limLow", part("e", part("groupChr", part("e", SUM))) + part("lim", N)), "a+b_n"),
    "a deleted fraction": (
        A
        + part(
            "f",
            "<m:fPr><m:ctrlPr><w:del/></m:ctrlPr></m:fPr>"
            + part("num", f"<w:del>{A}</w:del>")
            + part("den", f"<w:del>{B}</w:del>"),
        ),
        "a",
    ),
    "hidden terms": (
        '<m:r><w:rPr><w:vanish/></w:rPr><m:t>a</m:t></m:r><m:r><w:rPr><w:vanish w:val="0"/></w:rPr><m:t>b</m:t></m:r>',
        "b",
    ),
    "a phantom": (A + part("phant", '<m:phantPr><m:show m:val="0"/></m:phantPr>' + part("e", B)), "a"),
    "letters in italics": (term("\U0001d443\u2061=\U0001d465"), "P=x"),
    "letters in a symbol font": ('<m:r><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><m:t>a</m:t></m:r>', "α"),
    "a fraction in a fraction": (
        part("f", part("num", part("f", part("num", A) + part("den", B))) + part("den", X)),
        "(a/b)/x",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), EQUATIONS.values(), ids=EQUATIONS)
def test_an_equation_is_one_line_of_text(content: str, expected: str) -> None:
    assert texts(archive(word_parts(paragraph(math(content))))) == [expected]
