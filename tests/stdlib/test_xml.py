"""XML read into values, and what is refused of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from stdlib.xml_format import MOST_DEPTH, xml_parse

LAUGHS = '<!DOCTYPE lolz [<!ENTITY lol "lol">' + "".join(
    f'<!ENTITY lol{n + 1} "{("&lol" + (str(n) if n else "") + ";") * 10}">' for n in range(9)
) + "]><lolz>&lol9;</lolz>"  # fmt: skip
REFUSED = {
    "billion laughs": LAUGHS,
    "quadratic blowup": '<!DOCTYPE a [<!ENTITY x "' + "x" * 10_000 + '">]><a>' + "&x;" * 1000 + "</a>",
    "external file": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    "external address": '<!DOCTYPE a [<!ENTITY x SYSTEM "http://127.0.0.1:1/">]><a>&x;</a>',
    "parameter entity": '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:1/"> %x;]><a/>',
    "external subset": '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd"><a/>',
    "doctype alone": "<!DOCTYPE a><a/>",
    "doctype in utf-16": "<!DOCTYPE a><a/>".encode("utf-16"),
}


def error_of(text):
    with pytest.raises(RuntimeFault) as caught:
        xml_parse(text)
    return caught.value.message


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_document_types_are_refused(text):
    assert "a document type (DOCTYPE) is not allowed" in error_of(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<a/>", {"a": ""}),
        ("<a> x </a>", {"a": "x"}),
        ("<?xml version='1.0' encoding='latin-1'?><a>é</a>", {"a": "é"}),
        ("<?xml version='1.0' encoding='latin-1'?><a>é</a>".encode("latin-1"), {"a": "é"}),
        ("\ufeff<a>x</a>".encode("utf-16-le"), {"a": "x"}),
        ("<a>&lt;&gt;&amp;&apos;&quot;&#65;&#x42;</a>", {"a": "<>&'\"AB"}),
        ("<a><![CDATA[<b>]]></a>", {"a": "<b>"}),
        ("<a><!-- c --><?pi x?>t</a>", {"a": "t"}),
        ("<a><b/><c/><b>2</b><b><d/></b></a>", {"a": {"b": ["", "2", {"d": ""}], "c": ""}}),
        ("<a x='1' y='2'>t<b/>u</a>", {"a": {"@x": "1", "@y": "2", "b": "", "#text": "tu"}}),
        ("<d:a xmlns:d='u' d:x='1'><d:b/></d:a>", {"d:a": {"@xmlns:d": "u", "@d:x": "1", "d:b": ""}}),
    ],
)
def test_values(text, value):
    assert xml_parse(text) == value


@pytest.mark.parametrize(
    "text", ["", " ", "<a>", "<a></b>", "<a/><b/>", "<a x='1' x='2'/>", "<a>&nbsp;</a>", "<a>\0</a>", "x<a/>", "<a b=c/>",
             b"<?xml version='1.0' encoding='none-such'?><a/>", b"\xff\xfe", "<a>&#0;</a>", "<A:/>"[:2]],
)  # fmt: skip
def test_no_xml(text):
    assert error_of(text).startswith("xml_parse: invalid XML: ")


def test_depth_is_bounded():
    def nested(count):
        return "<a>" * count + "</a>" * count

    assert xml_parse(nested(MOST_DEPTH))
    assert f"nested more than {MOST_DEPTH} levels deep at line 1" in error_of(nested(MOST_DEPTH + 1))
    assert f"nested more than {MOST_DEPTH} levels deep" in error_of("<a>" * 1_000_000)


def test_the_number_of_nodes_is_bounded(monkeypatch):
    monkeypatch.setattr("stdlib.xml_format.MOST_NODES", 10)
    assert "more than 10 elements and attributes" in error_of("<a>" + "<b x='1'/>" * 5 + "</a>")


@given(st.one_of(st.text(max_size=60), st.binary(max_size=60), st.text("<>/a='&;x! []-", max_size=60)))
def test_any_text_is_read_or_refused(text):
    try:
        assert len(xml_parse(text)) == 1
    except RuntimeFault as fault:
        assert fault.message.startswith("xml_parse: invalid XML: ")
