# ruff: noqa: RUF001 - texts in many scripts
"""The encoding of a text: by a mark, by what is declared, by the content."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_documents.encodings.text_encoding import decode_text, find_encoding
from baton_documents.media_types import MediaType
from tests.encoded_texts import CHINESE, ENCODED, GERMAN, RUSSIAN, encode

PAIRS = [(text, label) for text, labels in ENCODED for label in labels]
WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


def html(charset: str | None = None) -> MediaType:
    return MediaType("text/html", charset)


# Labels


@pytest.mark.parametrize(
    ("label", "body", "text"),
    [
        ("gb2312", "朱镕①".encode("gb18030"), "朱镕①"),
        ("GBK", b"\x80 \xa2\xe3 \xff", "€ € \ufffd"),
        ("Shift_JIS", "髙橋①".encode("cp932"), "髙橋①"),
        ("x-sjis", "髙橋①".encode("cp932"), "髙橋①"),
        ("EUC-JP", b"\xfc\xe2\xb6\xb6\xad\xa1", "髙橋①"),
        ("iso-2022-jp", b"\x1b$B|b66-!\x1b(B.", "髙橋①."),
        ("iso-8859-1", b"L\x92\x80\x93", "L’€“"),
        ("us-ascii", b"\x80", "€"),
        ("iso-8859-9", "ış€".encode("cp1254"), "ış€"),
        ("windows-874", "เชียงใหม่".encode("cp874"), "เชียงใหม่"),
        ("TIS-620", "เชียงใหม่".encode("cp874"), "เชียงใหม่"),
        ("euc-kr", "똠방각하".encode("cp949"), "똠방각하"),
        ("ks_c_5601-1987", "똠방각하".encode("cp949"), "똠방각하"),
        ("big5", "臺灣".encode("big5hkscs"), "臺灣"),
        ("x-user-defined", b"caf\xe9", "café"),
        ("utf-16", "Größe".encode("utf-16-le"), "Größe"),
        ("utf-32", "Größe".encode("utf-32-le"), "Größe"),
        (" UTF8 ", "Größe".encode(), "Größe"),
    ],
)
def test_a_label_means_what_browsers_read_it_as(label: str, body: bytes, text: str) -> None:
    assert decode_text(body, MediaType("text/plain", label)) == text


@pytest.mark.parametrize(
    "label",
    ["utf-7", "punycode", "idna", "unicode-escape", "undefined", "rot13", "hz-gb-2312", "replacement", "no-such"],
)
def test_what_browsers_do_not_read_is_no_declaration(label: str) -> None:
    assert decode_text("+AGE- Größe".encode(), MediaType("text/plain", label)) == "+AGE- Größe"


# What decides


def test_a_mark_comes_before_the_charset_of_the_header_and_that_before_the_declaration_of_the_page() -> None:
    page = "<meta charset=koi8-r><p>Отпуск"
    assert decode_text(codecs.BOM_UTF8 + page.encode(), html("windows-1251")) == page
    assert decode_text(page.encode("cp1251"), html("windows-1251")) == page
    assert decode_text(page.encode("koi8-r"), html()) == page


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_is_no_text(mark: str) -> None:
    assert decode_text(GERMAN.encode(mark)) == GERMAN


@pytest.mark.parametrize(
    "declared",
    [
        "<meta charset=windows-1251>",
        "<META CHARSET='Windows-1251'/>",
        '<meta content="text/html; charset=windows-1251" http-equiv="Content-Type">',
        "<meta http-equiv=content-type content=text/html;charset=windows-1251>",
        "<meta charset=utf-7><meta charset=windows-1251>",
        "<meta <meta " * 50 + "<meta charset=windows-1251>",
        "<meta " + "a " * 50 + "charset = 'windows-1251' b>",
        "<!-- <meta charset=koi8-r> --><meta charset=windows-1251>",
        '<meta name="description" content="charset=koi8-r"><meta charset=windows-1251>',
        '<meta data-x="<meta charset=koi8-r>" charset=windows-1251 charset=koi8-r>',
        '<?xml version="1.0" encoding="windows-1251"?><!DOCTYPE html>',
    ],
)
def test_a_page_declares_its_encoding(declared: str) -> None:
    assert find_encoding((declared + "<p>да").encode("cp1251"), html()).codec == "cp1251"


def test_a_page_of_which_a_declaration_can_be_read_is_no_utf_16() -> None:
    assert decode_text("<meta charset=utf-16><p>é".encode(), html()) == "<meta charset=utf-16><p>é"


@pytest.mark.parametrize("essence", ["text/plain", "text/csv", "text/markdown"])
def test_other_texts_declare_nothing(essence: str) -> None:
    text = "<meta charset=koi8-r> Größe"
    assert decode_text(text.encode(), MediaType(essence)) == text


@pytest.mark.parametrize("essence", ["application/xml", "text/xml", "image/svg+xml", ""])
def test_an_xml_file_declares_its_encoding(essence: str) -> None:
    text = '<?xml version="1.0" encoding="windows-1251"?><a>да</a>'
    assert decode_text(text.encode("cp1251"), MediaType(essence)) == text


@pytest.mark.parametrize(
    ("charset", "body", "text"),
    [
        ("utf-8", GERMAN.encode("cp1252"), GERMAN),
        ("utf-8", RUSSIAN.encode("cp1251"), RUSSIAN),
        ("utf-8", CHINESE.encode("gbk"), CHINESE),
        ("utf-16", b"a,b\n1,2", "a,b\n1,2"),
        ("utf-8", GERMAN.encode("utf-16-le"), GERMAN),
        ("windows-1251", GERMAN.encode("utf-16-be"), GERMAN),
    ],
)
def test_a_charset_in_which_most_of_the_text_is_nothing_is_overruled(charset: str, body: bytes, text: str) -> None:
    assert decode_text(body, MediaType("text/csv", charset)) == text


# By the content


@pytest.mark.parametrize(("text", "label"), PAIRS)
def test_the_content_shows_the_encoding_where_nothing_else_does(text: str, label: str) -> None:
    assert decode_text(encode(text, label)) == text


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Společnost má sídlo v Plzni. Zaměstnanci mají nárok na dvacet pět dnů dovolené ročně.", "windows-1250"),
        ("Jméno;Město\nJiří;Plzeň\nZdeněk;Děčín\n", "windows-1250"),
        ("Małgorzata;Wiśniewska;Łódź", "windows-1250"),
        ("Małgorzata;Łódź;źródło", "iso-8859-2"),
        ("Имя;Город\nИван;Омск\nМария;Казань\n", "koi8-r"),
        ("Имя;Город\nИван;Омск\nМария;Казань\n", "windows-1251"),
        ("שם;עיר\nדנה;חיפה\nיוסי;ירושלים\n", "windows-1255"),
        ("Όνομα;Πόλη\nΓιώργος;Αθήνα\n", "windows-1253"),
        ("Şehir;İlçe\nİstanbul;Kadıköy\nAnkara;Çankaya\n", "windows-1254"),
        ("Vārds;Pilsēta\nJānis;Rīga\n", "windows-1257"),
        ("الاسم;المدينة\nأحمد;القاهرة\n", "windows-1256"),
        ("ชื่อ;เมือง\nสมชาย;กรุงเทพ\n", "windows-874"),
        ("이름;도시\n철수;서울\n", "euc-kr"),
        ("品名;價格\n蘋果;十元\n", "big5"),
    ],
)
def test_a_table_of_a_few_names_shows_its_encoding(text: str, label: str) -> None:
    assert decode_text(encode(text, label), MediaType("text/csv", None)) == text


@pytest.mark.parametrize(("text", "label"), PAIRS)
def test_markup_around_words_does_not_hide_their_script(text: str, label: str) -> None:
    page = "<html><body>" + '<a href="/page.html?id=12345">Home</a>\n' * 60 + f"<p>{text}</p></body></html>"
    assert decode_text(encode(page, label)) == page


@pytest.mark.parametrize("text", [text for text, _ in ENCODED])
@pytest.mark.parametrize("codec", WIDE)
@pytest.mark.parametrize("broken_off", [0, 1])
def test_wide_text_is_reported_without_a_mark_and_with_half_a_character_at_its_end(
    text: str, codec: str, broken_off: int
) -> None:
    decoded = decode_text(text.encode(codec) + b"\x41"[:broken_off])
    assert decoded.rstrip("\ufffd") == text


UNSPACED = [
    "公司总部位于深圳市南山区总经理是朱先生",
    "ひらがなだけのぶんしょうです",
    "สำนักงานใหญ่อยู่ที่เชียงใหม่",
    "公司总部\n深圳市南山区\n",
]


@pytest.mark.parametrize("text", UNSPACED)
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_wide_text_has_no_need_of_blanks(text: str, codec: str) -> None:
    assert decode_text(text.encode(codec)) == text


@pytest.mark.parametrize("body", [b"binary\0text", b"caf\xe9\x00", bytes(range(256)), b"\0", b"ab\0\0\0\0\1\2\3\0"])
def test_bytes_that_are_no_text_are_no_wide_text(body: bytes) -> None:
    assert "\0" in decode_text(body)


@pytest.mark.parametrize("text", [b"", b"a", b"\xe9", b"\xe9t\xe9", b"Geb\xfchr", b"\xc0 \xe9t\xe9 d\xe9j\xe0"])
def test_a_short_text_is_windows_1252(text: bytes) -> None:
    assert decode_text(text) == text.decode("cp1252")


@pytest.mark.parametrize(
    "text",
    [
        "# Gebühren\n\nL’abonnement coûte 30 € par mois – « sans engagement ».",
        "L’été, il paie 30 €.",
        "Prix : 30 € – « garanti »",
        "„Größe“ – 30 €",
        "¡Año «nuevo»! – 30 €",
        "“Coração” – mãe, pão, limões",
        "Caffè è più città – 30 €",
        "Smørrebrød – 30 €",
        "“” – ‘’ — … € ©",
    ],
)
def test_a_short_text_of_one_western_language_and_usual_signs_is_windows_1252(text: str) -> None:
    assert decode_text(text.encode("cp1252")) == text


@pytest.mark.parametrize("label", ["windows-1251", "utf-8"])
@pytest.mark.parametrize("text", ["Привет", "Имя;Город\nИван;Омск\n", "<b>Отпуск</b>"])
def test_letters_of_an_alphabet_are_no_ideographs(text: str, label: str) -> None:
    assert decode_text(encode(text, label)) == text


# Damage


@given(st.sampled_from(PAIRS), st.data())
def test_what_is_declared_is_decoded_and_one_damaged_byte_changes_nothing_else(
    pair: tuple[str, str], data: st.DataObject
) -> None:
    text, label = pair
    repeated = f"{text}\n" * data.draw(st.integers(1, 4))
    assert decode_text(encode(repeated, label), MediaType("text/plain", label)) == repeated
    location = data.draw(st.sampled_from([index for index, char in enumerate(repeated) if char == "\n"]))
    body = encode(repeated[:location], label) + b"\xff" + encode(repeated[location:], label)
    damaged = decode_text(body, MediaType("text/plain", label))
    assert (damaged[:location], damaged[-len(repeated) + location :]) == (repeated[:location], repeated[location:])


@given(st.sampled_from([text for text, _ in ENCODED]), st.data())
def test_text_in_utf_8_stays_it_with_a_damaged_byte(text: str, data: st.DataObject) -> None:
    location = data.draw(st.integers(0, len(text)))
    body = text[:location].encode() + b"\xff" + text[location:].encode()
    assert decode_text(body) == f"{text[:location]}\ufffd{text[location:]}"
    assert decode_text(body, MediaType("text/plain", "utf-8")) == f"{text[:location]}\ufffd{text[location:]}"


@pytest.mark.parametrize("text", ["é", "Größe", "中", "Grüße aus Köln"])
def test_a_damaged_byte_does_not_overrule_the_charset_of_a_short_text(text: str) -> None:
    damaged = text.encode()[:-1] + b"\xff"
    assert decode_text(damaged, MediaType("text/plain", "utf-8")) == damaged.decode("utf-8", "replace")


@given(st.binary(max_size=600), st.sampled_from([None, "utf-16", "iso-2022-jp", "euc-jp", "gbk"]))
def test_any_bytes_are_decoded_at_once_and_in_pieces(body: bytes, charset: str | None) -> None:
    encoding = find_encoding(body, html(charset))
    assert encoding.decode(body) == "".join(encoding.decode_pieces(body, 7)).removeprefix("\ufeff")


@pytest.mark.parametrize("text", ["-\n-\n-\n", ",\n,\n", "\n\n\n,\n,\n", "\t\n\tx\n\t\n", "\n\n\n\n\n1"])
def test_a_text_of_many_line_ends_is_no_utf_16(text: str) -> None:
    assert decode_text(text.encode()) == text
