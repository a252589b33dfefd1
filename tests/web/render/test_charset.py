"""How bytes become text."""

import pytest

from toolenvs.web.render import render
from toolenvs.web.render.charset import decode, known


@pytest.mark.parametrize(
    ("body", "header", "text", "codec"),
    [
        ("é".encode(), "", "é", "utf-8"),
        ("é".encode("latin-1"), "", "é", "cp1252"),
        ("“".encode("cp1252"), "text/html; charset=ISO-8859-1", "“", "cp1252"),
        ("ж".encode("koi8-r"), "text/html;charset='KOI8-R'", "ж", "koi8-r"),
        ("日本".encode("shift_jis"), "text/html; charset=Shift_JIS", "日本", "cp932"),
        ("中".encode("gb18030"), "text/html; charset=gb2312", "中", "gb18030"),
        ("\ufeffé".encode(), "text/html; charset=latin-1", "é", "utf-8"),
        ("\ufeffé".encode("utf-16-le"), "", "é", "utf-16-le"),
        ("\ufeffé".encode("utf-16-be"), "", "é", "utf-16-be"),
        ("é".encode("utf-16-le"), "text/html; charset=utf-16", "é", "utf-16-le"),
        ("é".encode("latin-1"), "text/html; charset=utf-8", "\ufffd", "utf-8"),
        ("é".encode(), "text/html; charset=nonsense", "é", "utf-8"),
        ("é".encode(), "text/html; charset=rot13", "é", "utf-8"),
        ("éé".encode()[:3], "", "é", "utf-8"),
        (b"caf\xe9", "", "café", "cp1252"),
        (b"a\x81\x8d\x8f", "", "a\ufffd\ufffd\ufffd", "cp1252"),
    ],
)
def test_marks_headers_and_guesses(body: bytes, header: str, text: str, codec: str) -> None:
    assert decode(body, header) == (text, codec)


@pytest.mark.parametrize(
    "head",
    [
        "<meta charset=iso-8859-2>", '<META  CHARSET = "ISO-8859-2">', "<?xml version='1.0' encoding='iso-8859-2'?>",
        '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-2">',
        "<meta charset=nonsense><?xml encoding='iso-8859-2'?>",
    ],
)  # fmt: skip
def test_declarations_in_the_page(head: str) -> None:
    body = f"{head}<p>łódź".encode("iso-8859-2")
    assert decode(body, "text/html")[1] == "iso8859-2"
    assert render(body, url="https://a.test/", content_type="text/html").lines[-1] == "łódź"
    assert decode(body, "text/plain", declared=False)[1] != "iso8859-2"
    assert decode(b" " * 2_000 + body)[1] == "cp1252", "a declaration stands in the first 1,024 bytes"


def test_a_page_that_says_it_is_utf_16_and_can_be_read_is_utf_8() -> None:
    assert decode("<meta charset=utf-16><p>é".encode()) == ("<meta charset=utf-16><p>é", "utf-8")


@pytest.mark.parametrize("label", ["utf-7", "zlib", "base64", "idna", "unicode_escape", "", "\0", "x" * 10_000, "hex"])
def test_no_other_codec_of_python_is_a_charset(label: str) -> None:
    assert known(label) is None
