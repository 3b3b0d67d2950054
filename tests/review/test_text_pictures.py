"""Pictures of texts: valid SVG that holds the text and nothing else."""

import xml.etree.ElementTree as ElementTree

import pytest

from grande_gnn.review.text_pictures import TEXT_SIZES, text_svg, wrapped

NAME = "{http://www.w3.org/2000/svg}text"


def lines_of(text, kind):
    return [element.text for element in ElementTree.fromstring(text_svg(text, kind)).iter(NAME)]


@pytest.mark.parametrize("kind", TEXT_SIZES)
@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "<script>alert(1)</script> & \"'",
        "日本語の長い文" * 50,
        "x\x00\x0b\ud800\ufffey",
        "a" * 3000,
        "",
    ],
)
def test_whatever_the_text_is_the_picture_is_valid(kind, text):
    root = ElementTree.fromstring(text_svg(text, kind))
    assert {element.tag.split("}")[1] for element in root.iter()} <= {"svg", "rect", "g", "text"}


def test_the_whole_text_is_in_the_full_picture_and_its_beginning_in_the_others():
    words = [f"word{i}" for i in range(800)]
    text = " ".join(words)
    assert " ".join(lines_of(text, "full")).split() == words
    for kind in ("thumb", "picture"):
        shown = " ".join(lines_of(text, kind))
        assert shown.endswith("…")
        assert text.startswith(shown[:-1])


def test_lines_are_never_wider_than_asked_and_paragraphs_stay():
    assert wrapped("one two three\n\nfour", 7, 99) == ["one two", "three", "", "four"]
    assert wrapped("abcdefgh", 3, 99) == ["abc", "def", "gh"]
    assert wrapped("a b c d", 1, 2) == ["a", "b"]
