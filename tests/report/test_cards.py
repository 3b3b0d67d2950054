"""Cards: the image, the labels beside it, and the images most similar to it."""

from __future__ import annotations

from grande_gnn.report import Line, Page


def test_a_card_shows_the_label_the_confidence_and_the_file(make_labelling, make_thumbnails, parse):
    labelling = make_labelling(thumbnails=make_thumbnails())
    card = parse(Page(labelling).cards([7]))
    assert "class 3" in card.text
    assert f"{100 * labelling.confidence[7]:.0f} %" in card.text
    assert labelling.files[7] in card.text
    assert "Most similar: 6 class 3" in card.text
    assert card.attributes("data-i") == ["7", "11", "15", "19", "23", "27", "31"]


def test_cards_stay_in_the_order_they_are_given(make_labelling, parse):
    page = Page(make_labelling())
    files = [page.labelling.files[row] for row in (9, 2, 30)]
    assert parse(page.cards([9, 2, 30], compact=True)).attributes("title") == files


def test_a_compact_card_has_no_similar_images(make_labelling, make_thumbnails, parse):
    card = parse(Page(make_labelling(thumbnails=make_thumbnails())).cards([7], compact=True))
    assert card.attributes("data-i") == ["7"]
    assert "Most similar" not in card.text


def test_without_thumbnails_there_are_words_only(make_labelling, parse):
    card = parse(Page(make_labelling()).cards([7]))
    assert card.attributes("data-i") == []
    assert "Most similar: 6 class 3" in card.text


def test_lines_say_what_a_section_wants(make_labelling, parse):
    page = Page(make_labelling())
    lines = [Line("class 1", 0.416, before="perhaps"), Line("", is_quiet=True)]
    card = parse(page.cards([7], lambda labelling, row: lines))
    assert card.text.startswith("perhaps class 1 42 % no label photos/")
    assert "pair quiet" in card.attributes("class")


def test_similar_images_count_under_the_label_the_user_gave(make_labelling, parse):
    given = [""] * 60
    given[11] = "another <b>"
    card = parse(Page(make_labelling(given=given)).cards([7]))
    assert "5 class 3, 1 another <b>" in card.text


def test_similar_images_that_the_page_does_not_show_have_no_thumbnail(
    make_labelling, make_thumbnails, parse, monkeypatch
):
    monkeypatch.setattr("grande_gnn.report.page.MAX_IMAGES", 20)
    page = Page(make_labelling(thumbnails=make_thumbnails()))
    row = next(row for row in page.shown.tolist() if min(page.number[page.similar(row)]) < 0)
    numbers = [int(number) for number in parse(page.cards([row])).attributes("data-i")]
    assert 0 < len(numbers) < 7
    assert set(page.shown[numbers].tolist()) <= {row, *page.similar(row)}
