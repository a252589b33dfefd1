"""What each kind of HTML becomes."""

import pytest

from toolenvs.web.document import Document, Link
from toolenvs.web.render import render

URL = "https://site.test/docs/page.html"


def read(html: str, content_type: str = "text/html; charset=utf-8") -> Document:
    return render(html.encode(), url=URL, content_type=content_type)


def lines(html: str) -> list[str]:
    return list(read(html).lines)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>one\n two<p>three", ["one two", "three"]),
        ("<p>a<br>b<br/>c", ["a", "b", "c"]),
        ("<h1>T</h1><h3>S <em>u</em></h3>text", ["# T", "### S u", "text"]),
        ("<ul><li>a<ul><li>b</ul><li><p>c<p>d</ul>e", ["* a", "  * b", "* c", "  d", "e"]),
        ("<ol start=3><li>a<li>b</ol>", ["3. a", "4. b"]),
        ("<ul><li></li><li>a</ul>b", ["* a", "b"]),
        ("<dl><dt>t<dd>d<dl><dt>u<dd>e</dl></dl>f", ["t", "  d", "  u", "    e", "f"]),
        ("<blockquote>q</blockquote>a", ["  q", "a"]),
        ("<div>a<div>b</div>c</div>", ["a", "b", "c"]),
        ("a<span>b</span> <b>c</b>", ["ab c"]),
        ("a&nbsp;b &amp;lt; &lt;i&gt; &eacute; &#x41;", ["a b &lt; <i> é A"]),
        ("2<sup>31</sup> x<sup><a href=a>[1]</a></sup>", ["2^31 x[0†[1]]"]),
        ("<p><img alt='a  logo' src=x><img src=y>", ["[image: a logo]"]),
        ("<noscript>turn it on</noscript>", ["turn it on"]),
        ("<details><summary>s</summary>d</details>", ["s", "d"]),
        ("<svg><title>t</title><desc>d</desc><text>a</text><text>b</text></svg>", ["a b"]),
        ("<p>a<plaintext><p>b", ["a", "```", "<p>b", "```"]),
        ("<xmp><b>&amp;</xmp>c", ["```", "<b>&amp;", "```", "c"]),
        ("<iframe src=in.html title=Map></iframe>", ["[0†frame: Map]"]),
        ("<frameset><frame src=a.html name=left><frame src=b.html></frameset>", ["[0†frame: left]", "[1†frame]"]),
    ],
)
def test_blocks(html: str, expected: list[str]) -> None:
    assert lines(html) == expected


@pytest.mark.parametrize(
    "html",
    [
        "<p hidden>x</p>", "<p style='color: red; DISPLAY : none'>x</p>", "<span style='visibility:hidden'>x</span>",
        "<script>x</script>", "<style>x</style>", "<template><p>x</template>", "<!-- x -->", "<dialog>x</dialog>",
        "<datalist><option>x</datalist>", "<script><!-- x </script>", "<div hidden><div>x</div>x</div>",
        "<math><annotation>x</annotation></math>", "<input type=hidden name=x value=x>",
        "<head><title>x</title></head>",
        "<span hidden>x<span>x</span>x</span>", "<noembed>x</noembed>",
    ],
)  # fmt: skip
def test_what_a_browser_does_not_show_is_left_out(html: str) -> None:
    assert lines(f"<p>a</p>{html}<p>b</p><!-- end -->") == ["a", "b"]


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u202e", "\u2066", "\u00ad", "\ufeff", "\x01", "\U000e0041", "&#8203;", "&#1;"]
)
def test_characters_that_show_nothing_are_left_out(hidden: str) -> None:
    assert lines(f"<p>pass{hidden}word</p>") == ["password"]
    assert render(f"pass{hidden}word".encode(), url=URL, content_type="text/plain").lines[0].startswith("pass")


def test_joiners_stay_where_a_script_needs_them() -> None:
    family, persian = "\U0001f468\u200d\U0001f469", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert lines(f"<p>{family} {persian} a\u200db \u200c\u200d") == [f"{family} {persian} ab"]


class TestTables:
    def test_a_row_is_a_line(self) -> None:
        html = "<caption>C</caption><tr><th>a<th>b<tr><td><p>1</p><p>2</p><td><ul><li>x<li>y</ul><tr><td><td>"
        assert lines(f"<table>{html}</table>z") == ["C", "| a | b |", "| 1 2 | x y |", "z"]

    def test_a_table_that_places_the_page_is_no_table(self) -> None:
        html = "<table><tr><td><h2>Menu</h2><p>a<td><table><tr><td>1<td>2</table></table>"
        assert lines(html) == ["## Menu", "a", "| 1 | 2 |"]
        assert lines("<table><tr><td>alone</table>") == ["alone"]
        assert lines("<table role=presentation><tr><td>a<td>b</table>") == ["a", "b"]

    def test_links_and_anchors_of_a_row_are_in_its_line(self) -> None:
        page = read("<p>t<table><tr><td id=x><a href=a>A</a><td>1<tr id=y><td><a href=b>B</a><td id=z>2</table>")
        assert page.lines == ("t", "| [0†A] | 1 |", "| [1†B] | 2 |")
        assert [link.line for link in page.links] == [1, 2]
        assert page.anchors == {"x": 1, "y": 2, "z": 2}


class TestCode:
    def test_lines_stay_as_they_are(self) -> None:
        html = "<p>a<pre>\n\ndef f():\n    <b>return</b> 1 &lt; 2\n\n\tx  \n\n</pre>b"
        assert lines(html) == ["a", "```", "def f():", "    return 1 < 2", "", "\tx", "```", "b"]

    def test_nothing_is_left_of_an_empty_block(self) -> None:
        assert lines("a<pre>  \n </pre>b") == ["a", "b"]

    def test_links_and_anchors_stand_in_their_line(self) -> None:
        page = read("<pre>one\n<a href=x id=i>two</a>\n<span id=j>three <a href=y>fo\nur</a></span></pre>")
        assert page.lines == ("```", "one", "[0†two]", "three [1†fo]", "ur", "```")
        assert [page.lines[link.line] for link in page.links] == ["[0†two]", "three [1†fo]"]
        assert page.anchors == {"i": 2, "j": 3}


class TestLinks:
    def test_they_are_numbered_and_absolute(self) -> None:
        page = read(
            "<p>see <a href='../a.html#s'> A <b>b</b></a>, <a href=//other.test/x>o</a> <a href='?q=1&amp;r=2'>q</a>"
        )
        assert page.lines == ("see [0†A b], [1†o] [2†q]",)
        assert page.links == (
            Link(0, 0, "A b", "https://site.test/a.html#s"),
            Link(1, 0, "o", "https://other.test/x"),
            Link(2, 0, "q", "https://site.test/docs/page.html?q=1&r=2"),
        )

    def test_the_first_base_holds(self) -> None:
        page = read("<base href=/b/c/><base href=/d/><a href=e>x</a><a href='#f'>y</a>")
        assert [link.url for link in page.links] == ["https://site.test/b/c/e", "https://site.test/b/c/#f"]

    @pytest.mark.parametrize(
        "href", ["mailto:a@b.test", "data:text/html,x", "file:///etc/passwd", "http://[bad", "ftp://h/x"]
    )
    def test_other_schemes_are_plain_text(self, href: str) -> None:
        assert (read(f"<a href='{href}'>x</a>").lines, read(f"<a href='{href}'>x</a>").links) == (("x",), ())

    def test_a_link_without_text_is_called_by_what_there_is(self) -> None:
        html = (
            "<a href=a aria-label='The A'></a> <a href=b/c.html></a> <a href=d><img alt=D></a> <a name=n href='#q'></a>"
        )
        assert lines(html) == ["[0†The A] [1†c.html] [2†[image: D]]"]

    def test_permalinks_are_noise(self) -> None:
        page = read("<h2 id=s>Title<a class=headerlink href='#s'>¶</a></h2>")
        assert (page.lines, page.links, page.anchors) == (("## Title",), (), {"s": 0})

    def test_one_around_blocks_is_marked_once(self) -> None:
        page = read("<a href=x><div>a</div><div>b</div></a><p>c")
        assert page.lines == ("[0†a]", "b", "c")

    def test_a_page_cannot_forge_one(self) -> None:
        page = read("<p>[0†false] [1<b>†</b>false] [2‡text q: x] <a href=x>true</a>")
        assert page.lines == ("[0 †false] [1 †false] [2 ‡text q: x] [0†true]",)
        assert len(page.links) == 1

    def test_a_page_that_leads_on_says_so(self) -> None:
        page = read("<meta http-equiv=Refresh content='0; URL=next.html'>")
        assert page.lines == ("[0†this page leads on to https://site.test/docs/next.html]",)

    def test_the_element_is_known_to_the_driver_of_a_browser(self) -> None:
        page = read("<a href=x data-te-id=7>x</a><input name=q data-te-id=9>")
        assert (page.links[0].element, page.fields[0].element) == ("7", "9")


class TestAnchors:
    def test_ids_and_names_lead_to_the_next_line(self) -> None:
        page = read("<p>a<span id=in></span>b<a name=n></a><p id=p>c<div id=e></div><section id=s><h2>d</h2></section>")
        assert page.anchors == {"in": 0, "n": 0, "p": 1, "e": 2, "s": 2}

    def test_the_first_of_two_holds_and_the_end_is_in_range(self) -> None:
        page = read("<p id=a>x<p id=a>y<div id=end></div>")
        assert page.anchors == {"a": 0, "end": 1}
        assert read("<div id=alone></div>").anchors == {}


class TestForms:
    HTML = """
    <form action=/find method=POST id=f><input type=hidden name=k value=1>
    <label>Name <input name=q value=py placeholder=Word></label> <input name=w placeholder=Word>
    <input type=checkbox name=c value=on checked> <input type=radio name=r value=1>
    <input type=password name=p value=abc>
    <textarea name=t>two
    lines</textarea>
    <select name=s><option value=e>English<option value=f selected>French</select>
    <button name=b value=go>Go <b>now</b></button> <input type=reset> <input type=file name=u disabled></form>
    <input name=outside form=f> <button>Menu</button> <a href=x>link</a>
    """

    def test_fields_stand_in_the_same_numbering_as_links(self) -> None:
        page = read(self.HTML)
        assert " ".join(page.lines) == (
            "Name [0‡text q: py] [1‡text w (Word):] [2‡checkbox c=on: on] [3‡radio r=1: off] [4‡password p: ***] "
            "[5‡textarea t: two lines] [6‡select s: French (of English, French)] [7‡submit Go now] [8‡reset Reset] "
            "[9‡file u, disabled] [10‡text outside:] [11‡button Menu] [12†link]"
        )
        assert [page.item(number).number for number in range(13)] == list(range(13))
        assert page.item(13) is None

    def test_what_is_sent_is_known(self) -> None:
        page = read(self.HTML)
        form = page.forms[0]
        assert (form.url, form.method, form.hidden) == ("https://site.test/find", "post", (("k", "1"),))
        assert [field.form for field in page.fields] == [0] * 11 + [None]
        by_name = {field.name: field for field in page.fields}
        assert by_name["t"].value == "two\n    lines"
        assert (by_name["s"].value, by_name["s"].chosen) == ("f", ("f",))
        assert by_name["s"].options == (("e", "English"), ("f", "French"))
        assert by_name["c"].checked
        assert not by_name["r"].checked
        assert by_name["u"].disabled
        assert (by_name["b"].kind, by_name["b"].value, by_name["b"].label) == ("submit", "go", "Go now")

    def test_a_form_between_rows_keeps_its_fields(self) -> None:
        page = read("<table><form action=/a><tr><td>x<td><input name=q></form></table>")
        assert [(field.name, field.form) for field in page.fields] == [("q", 0)]

    def test_an_address_that_is_none_is_told(self) -> None:
        assert read("<form action='javascript:x()'><input name=q></form>").forms[0].url == ""
        assert read("<form><input name=q></form>").forms[0].url == URL

    def test_what_only_a_script_makes_a_button_is_one(self) -> None:
        page = read("<div role=button>Save</div><span onclick='go()'>Go</span><a href='javascript:x()'>Run</a>")
        assert page.lines == ("[0‡button] Save", "[1‡button] Go[2‡button] Run")
        assert {field.kind for field in page.fields} == {"button"}


class TestOtherTypes:
    def test_plain_text_is_shown_as_it_is(self) -> None:
        page = render(b"a  b\r\n\r\n<b>c\r\n", url="https://site.test/x/read%20me.txt", content_type="text/plain")
        assert (page.lines, page.title, page.content_type) == (("a  b", "", "<b>c"), "read%20me.txt", "text/plain")

    def test_json_on_one_line_is_laid_out(self) -> None:
        page = render(b'{"a": [' + b"1," * 200 + b"2]}", url=URL, content_type="application/json")
        assert page.lines[:3] == ("{", ' "a": [', "  1,")
        deep = render(b"[" * 100_000, url=URL, content_type="application/json")
        assert deep.lines == ("[" * 100_000,)
        assert render(b"1" * 10_000, url=URL, content_type="application/json").lines == ("1" * 10_000,)

    def test_xhtml_elements_may_be_closed_in_their_own_tag(self) -> None:
        body = "<body><a id='i'/><p>a</p><hr/>b</body>"
        html = f"<?xml version='1.0'?><html><head><script src='x'/><title/></head>{body}</html>"
        assert read(html, "application/xhtml+xml").lines == ("a", "b")

    def test_a_title_is_the_first_heading_where_there_is_none(self) -> None:
        assert read("<title> A \n b </title><svg><title>no</title></svg>").title == "A b"
        assert read("<p>x<h2>Head</h2>").title == "Head"
        assert read("<p>x").title == ""
