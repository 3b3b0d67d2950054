"""``grande review``: the command parses, calls one function and prints."""

import pytest
from click.testing import CliRunner

from grande_gnn import review
from grande_gnn.cli import main


@pytest.fixture
def calls(monkeypatch):
    made = []

    def review_labels(out, images, options, *, port, open_browser, progress, tell):
        made.append((str(out), images and str(images), options, port, open_browser))
        tell("http://127.0.0.1:1/?token=t")

    monkeypatch.setattr(review, "review_labels", review_labels, raising=False)
    return made


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["review", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_a_labelling_is_opened_and_its_link_printed(calls):
    said = run("out", "--port", "4321", "--no-browser")
    assert "http://127.0.0.1:1/?token=t" in said
    assert "corrections.jsonl" not in said  # nothing was decided
    assert calls[0][:2] == ("out", None)
    assert calls[0][3:] == (4321, False)


def test_the_journal_is_named_if_there_is_one(calls, tmp_path):
    (tmp_path / "corrections.jsonl").touch()
    assert f"every decision is in {tmp_path / 'corrections.jsonl'}." in run(str(tmp_path))


def test_images_and_their_labelling(calls):
    run("photos", "-o", "out", "--labels", "l.csv", "--extractor", "pixels")
    out, images, options, port, opens = calls[0]
    assert (out, images, port, opens) == ("out", "photos", 0, True)
    assert (str(options.labels), options.extractor) == ("l.csv", "pixels")


def test_what_is_no_labelling_is_one_sentence(tmp_path):
    said = run(str(tmp_path), code=1)
    assert said.startswith("Error: only the folder of a labelling can be reviewed")
    assert said.count("\n") == 1


def test_label_can_be_followed_by_review(calls, tmp_path, monkeypatch):
    from grande_gnn import labelling
    from grande_gnn.cli import label

    monkeypatch.setattr(labelling, "label_images", lambda *arguments: None, raising=False)
    for name in ("report_result", "_tell_about_adapting"):
        monkeypatch.setattr(label, name, lambda *arguments: None)
    result = CliRunner().invoke(main, ["label", str(tmp_path), "-o", "out", "--review"])
    assert result.exit_code == 0, result.output
    assert calls[0][:2] == ("out", None)
    refused = CliRunner().invoke(main, ["label", str(tmp_path), "-o", "out", "--review", "--reuse", "x"])
    assert refused.exit_code == 2
    assert "got --reuse and --review" in refused.output
