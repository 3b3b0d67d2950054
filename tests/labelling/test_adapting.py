"""Labels from an adapted network, judged by labels that no network has seen."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from grande_gnn import Labelling, LabelOptions, label_images
from grande_gnn.errors import GrandeError, InvalidInputError
from grande_gnn.images import find_images
from grande_gnn.images.adapt import AdaptOptions
from grande_gnn.images.adapt_memory import predicted_gib
from grande_gnn.images.adapt_training import AdaptTraining, Recipe
from grande_gnn.images.networks import load_trainable
from grande_gnn.labelling import adapting, reuse
from grande_gnn.labelling.earlier_network import SEEN

RECIPE = Recipe(
    steps=50, batch=8, optimizer="sgd", lr=0.05, backbone_rate=1.0, weight_decay=5e-4, clip=0.0, ema=0.9,
    frozen_norms=False, align="predicted",
)  # fmt: skip
OFF = LabelOptions(extractor="tiny", model="sgc", workers=0, device="cpu", graph="knn", n_neighbors=6,
                   normalize="center-l2", sigma=0.2)  # fmt: skip
ON = replace(OFF, adapt=AdaptOptions("full", RECIPE, device="cpu"))


def truth(file):
    return ("down", "across")[int(file.split("/")[-1][:2]) % 2]


@pytest.fixture(scope="module")
def photos(tmp_path_factory, stripes, tiny_network_of_module):
    """Stripes in two directions; twelve of each are labelled by their folder."""
    folder = tmp_path_factory.mktemp("adapting")
    images, y = stripes(48)
    for i, image in enumerate(images):
        place = folder / "photos" / ("down", "across")[y[i]] if i < 24 else folder / "photos"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{i:02d}.png")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("GRANDE_CACHE", str(folder / "cache"))
        yield folder / "photos"


class Run:
    """One run with adapting: what it gave, said, wrote, and with which labels networks were adapted."""

    def __init__(self, photos):
        self.out, self.steps, self.adapted_with, self.errors = photos.parent / "out", [], [], []
        original = adapting.adapt_network

        def listen(images, labels, *rest, **more):
            self.adapted_with.append(labels)
            self.errors.append(more["error"])
            return original(images, labels, *rest, **more)

        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(adapting, "adapt_network", listen)
            self.result = label_images(photos, self.out, ON, self.steps.append)


@pytest.fixture(scope="module")
def run(photos):
    return Run(photos)


@pytest.fixture(scope="module")
def frozen(photos):
    return label_images(photos, options=OFF)


def accuracy(result):
    return np.mean([label == truth(file) for file, label in zip(result.files, result.labels, strict=True)])


def test_it_is_better_and_is_kept_with_the_result(run, frozen, photos, tmp_path):
    assert accuracy(run.result) > accuracy(frozen) + 0.1
    notes = json.loads((run.out / "settings.json").read_text())["adapt"]
    assert notes["used"] in ("adapted", "both")
    assert notes["held_out"][notes["used"]] > notes["held_out"]["frozen"]
    assert notes["form"] == "full"
    counted = [(step.done, step.total) for step in run.steps if step.stage == "adapt" and step.total]
    assert counted[-1] == (150, 150)
    assert any("The adapted network is used" in step.message for step in run.steps)
    loaded = Labelling.load(run.out)
    assert loaded.adapted_weights == run.out / "adapted.safetensors"
    assert loaded.labels == run.result.labels
    loaded.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "adapted.safetensors").read_bytes() == loaded.adapted_weights.read_bytes()
    new = reuse(run.out, photos, options=LabelOptions(workers=0, device="cpu"))
    assert accuracy(new) > 0.9
    assert new.settings["weights"] == run.result.settings["weights"]


def test_the_networks_learn_how_often_their_teacher_errs(run, frozen):
    assert run.errors == pytest.approx([1 - frozen.accuracy.value] * 3)


def test_off_changes_nothing(photos, frozen):
    other = label_images(photos, options=replace(OFF, adapt="off"))
    np.testing.assert_array_equal(frozen.confidence, other.confidence)
    assert "adapt" not in other.settings
    assert other.adapted_weights is None


def test_a_second_run_finds_the_weights(run, photos, monkeypatch):
    monkeypatch.setattr(adapting, "adapt_network", None)
    again = label_images(photos, options=ON)
    np.testing.assert_array_equal(run.result.confidence, again.confidence)


SHORT = replace(ON, adapt=AdaptOptions("full", replace(RECIPE, steps=2)))


def adaptations(photos, options, monkeypatch):
    """How many networks a run adapts."""
    calls, original = [], adapting.adapt_network
    with monkeypatch.context() as patch:
        patch.setattr(adapting, "adapt_network", lambda *a, **k: calls.append(1) or original(*a, **k))
        result = label_images(photos, options=options)
    return len(calls), result


@pytest.mark.parametrize(
    "change",
    [{"model": "appnp"}, {"degree": "centrality"}, {"sigma": 0.5}, {"graph": "reciprocal"}, {"n_neighbors": 5},
     {"normalize": "none"}, {"seed": 7}],
)  # fmt: skip
def test_weights_that_another_teacher_taught_are_not_reused(change, photos, tmp_path, monkeypatch):
    first = replace(SHORT, store=tmp_path)
    assert adaptations(photos, first, monkeypatch)[0] == 3
    assert adaptations(photos, replace(first, overwrite=True, coverage=0.9), monkeypatch)[0] == 0
    assert adaptations(photos, replace(first, **change), monkeypatch)[0] == 3


def test_weights_of_another_version_are_not_reused(photos, tmp_path, monkeypatch):
    options = replace(SHORT, store=tmp_path)
    assert adaptations(photos, options, monkeypatch)[0] == 3
    monkeypatch.setattr(adapting, "VERSION", adapting.VERSION + 1)
    assert adaptations(photos, options, monkeypatch)[0] == 3


@pytest.mark.parametrize("damage", ["bit", "empty"])
def test_damaged_weights_are_adapted_again(damage, photos, tmp_path, monkeypatch, caplog):
    options = replace(SHORT, store=tmp_path)
    before = label_images(photos, options=options)
    kept = sorted(tmp_path.glob("adapted-*.safetensors"))
    assert len(kept) == 3
    data = bytearray(kept[1].read_bytes())
    data[-5] ^= 64
    kept[1].write_bytes(data if damage == "bit" else b"")
    n, after = adaptations(photos, options, monkeypatch)
    assert n == 1
    assert "are adapted again" in caplog.text
    np.testing.assert_array_equal(before.confidence, after.confidence)


def test_a_training_that_diverges_leaves_the_original_network(photos, frozen, tmp_path):
    wild = replace(ON, store=tmp_path / "store", adapt=AdaptOptions("full", replace(RECIPE, lr=1e30)))
    steps = []
    for _ in range(2):
        result = label_images(photos, tmp_path / "out", replace(wild, overwrite=True), steps.append)
        assert result.settings["adapt"] == {"form": "full", "used": "frozen", "held_out": {}}
        np.testing.assert_array_equal(result.confidence, frozen.confidence)
    assert not list((tmp_path / "store").glob("adapted-*"))
    told = [step.message for step in steps if "The original network is used" in step.message]
    assert len(told) == 2
    assert "infinite or NaN" in told[0]


def test_weights_that_cannot_be_kept_are_named(photos, tmp_path, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grande_gnn.images.adapted_weights.AdaptedWeights.save", full)
    with pytest.raises(
        GrandeError, match=r"cannot be kept in .*store: free some space or .*GRANDE_CACHE.*No space"
    ):
        label_images(photos, options=replace(SHORT, store=tmp_path / "store"))


def test_a_training_that_continues_says_where(photos, tmp_path, monkeypatch):
    monkeypatch.setattr("grande_gnn.images.training_state.TrainingState.EVERY_S", 0.0)
    options = replace(SHORT, store=tmp_path / "store", adapt=AdaptOptions("full", replace(RECIPE, steps=3)))
    step, steps = AdaptTraining.step, []

    def killed(self):
        if self.number == 2:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(AdaptTraining, "step", killed)
    with pytest.raises(KeyboardInterrupt):
        label_images(photos, options=options)
    monkeypatch.setattr(AdaptTraining, "step", step)
    label_images(photos, options=options, progress=steps.append)
    said = [step.message for step in steps if step.message]
    assert said.count("It continues at step 2 of 3.") == 1
    assert any(message.startswith("Training the whole network takes hours without a GPU") for message in said)


def test_labels_of_a_single_class_are_the_reason_that_is_given(photos, tmp_path):
    steps = []
    found = find_images(photos)
    one = replace(found, labels=["down" if label == "down" else "" for label in found.labels])
    result = label_images(one, options=replace(SHORT, store=tmp_path / "store"), progress=steps.append)
    assert set(result.labels) == {"down"}
    assert any("all labels are of one class, so there is nothing to learn" in step.message for step in steps)


def test_the_network_that_labels_is_the_one_that_is_adapted(photos, tmp_path, monkeypatch):
    other = {name: value * 2 for name, value in load_trainable("tiny").network.state_dict().items()}
    torch.save(other, tmp_path / "other.pt")
    began = []
    original = adapting.adapt_network
    monkeypatch.setattr(adapting, "adapt_network", lambda *a, **k: began.append(a[4]) or original(*a, **k))
    options = replace(SHORT, weights=tmp_path / "other.pt", store=tmp_path / "store")
    label_images(photos, options=options)
    assert [how.weights for how in began] == [tmp_path / "other.pt"] * 3
    with pytest.raises(
        InvalidInputError, match=r"give its weights to LabelOptions; got .*other.pt to adapt and none"
    ):
        LabelOptions(adapt=AdaptOptions(weights=tmp_path / "other.pt"))


def test_labels_whose_class_the_judging_half_does_not_know_are_not_counted():
    predictions = SimpleNamespace(hits=np.array([1.0, 0.0, 1.0, 0.0]))
    halves = SimpleNamespace(
        held_out=lambda: predictions, answerable=lambda: np.array([True, True, False, False])
    )
    assert adapting.held_out_hits(halves).tolist() == [1, 0]


def test_a_second_run_of_the_last_blocks_judges_as_the_first(photos, monkeypatch):
    last = replace(ON, adapt=AdaptOptions("last", replace(RECIPE, steps=4), n_views=2, device="cpu"))
    one = label_images(photos, options=last)
    monkeypatch.setattr(adapting, "adapt_network", None)
    other = label_images(photos, options=last)
    assert one.settings["adapt"] == other.settings["adapt"]
    np.testing.assert_array_equal(one.confidence, other.confidence)


def test_the_memory_of_a_gpu_is_announced(monkeypatch):
    told = []
    work = adapting._Work.__new__(adapting._Work)
    work.how, work.device, work.squares, work.name = ON.adaptation, torch.device("cuda"), None, "tiny"
    work.preprocess, work.tell = SimpleNamespace(size=224), lambda *step: told.append(step[2])
    monkeypatch.setattr(adapting, "prepare_views", lambda *given: "views")
    assert work.views == "views"
    assert told == [adapting.memory_sentence(predicted_gib(RECIPE, 224))]
    assert "GiB of GPU memory" in told[0]


def test_a_lesson_is_an_answer_from_the_features_that_it_is_shown():
    work = adapting._Work.__new__(adapting._Work)
    rng = np.random.default_rng(0)
    work.frozen, work.options = rng.normal(size=(30, 4)).astype(np.float32), OFF
    y = np.arange(30) % 3
    work.extraction = SimpleNamespace(images=SimpleNamespace(labels=[f"c{code}" for code in y]))
    first = np.full((30, 3), 1 / 3)
    codes = np.where((np.arange(30) < 12) & (y != 1), y, -1)  # no label of the middle class in this half
    assert work._teach(first, work.frozen, codes) is first
    shown = np.eye(3, dtype=np.float32)[y] * 5 + rng.normal(size=(30, 3)).astype(np.float32) / 10
    answer = work._teach(first, shown, codes)
    assert (answer[:, 1] == 0).all()
    others = y != 1
    assert (answer.argmax(axis=1) == y)[others].all()


def test_labels_are_judged_by_networks_that_did_not_see_them(run):
    everything, one, other = (labels >= 0 for labels in run.adapted_with)
    assert (everything == (one | other)).all()
    assert not (one & other).any()
    known = run.result.classifier.half_problems_.known
    assert (known[0] == one).all()
    assert (known[1] == other).all()
    pair = run.result.classifier.half_problems_.pairs[0]
    assert not np.allclose(pair[0].inputs, pair[1].inputs)


def test_where_it_hurts_the_network_is_used_as_it_comes(photos, frozen, tmp_path):
    useless = replace(RECIPE, steps=2, lr=50.0, lessons=0)
    steps = []
    frozen = label_images(photos, options=OFF)
    result = label_images(
        photos,
        tmp_path / "out",
        replace(OFF, adapt=AdaptOptions("full", useless, size=20, device="cpu")),
        steps.append,
    )
    held_out = result.settings["adapt"]["held_out"]
    if max(held_out["adapted"], held_out["both"]) < held_out["frozen"]:
        assert result.settings["adapt"]["used"] == "frozen"
        assert any(step.message.startswith("Adapting did not help") for step in steps)
        np.testing.assert_array_equal(result.confidence, frozen.confidence)
        assert not (tmp_path / "out" / "adapted.safetensors").exists()
    else:
        pytest.fail(f"a network that was ruined is not worse: {held_out}")


@pytest.mark.parametrize(
    ("frozen", "adapted", "both", "used"),
    [
        (range(6), range(8), range(8), "both"),  # of equals, both
        (range(6), range(7), range(7), "both"),
        (range(8), range(8), range(8), "both"),
        (range(6), range(9), range(8), "both"),  # one label more is noise
        (range(5), range(1, 10), [0, 1, 2, 3, 4, 5], "both"),  # four more and one fewer
        (range(5), range(12), range(6), "adapted"),
        (range(9), range(8), range(8), "frozen"),
        (range(8), range(9), range(7), "adapted"),  # both are worse than the original network
        (range(8), range(8), range(7), "adapted"),
    ],
)
def test_the_adapted_network_alone_is_used_only_if_it_is_clearly_better(frozen, adapted, both, used):
    right = {
        name: np.isin(np.arange(20), rows).astype(float)
        for name, rows in {"frozen": frozen, "adapted": adapted, "both": both}.items()
    }
    assert adapting.chosen_features(right) == used


def test_one_label_per_class_is_not_enough_to_judge(photos, tmp_path):
    rows = ["file,label", "across/01.png,across", "down/00.png,down"]
    (tmp_path / "few.csv").write_text("\n".join(rows))
    steps = []
    result = label_images(photos, options=replace(ON, labels=tmp_path / "few.csv"), progress=steps.append)
    assert result.settings["adapt"]["used"] == "frozen"
    assert any("no label is left to check whether that helps" in step.message for step in steps)


def test_a_graph_of_other_features_is_refused(photos, tmp_path):
    from grande_gnn.graph import ranked_lists
    from grande_gnn.graph.graph_files import save_lists

    save_lists(tmp_path / "lists.npz", ranked_lists(np.random.default_rng(0).normal(size=(48, 3)), 8))
    with pytest.raises(InvalidInputError, match="a given graph would no longer fit them"):
        label_images(photos, options=replace(ON, lists_file=tmp_path / "lists.npz"))


def test_corrections_keep_the_judges(run):
    better = run.result.corrected({"30.png": "down"})
    assert better.adapted_weights == run.result.adapted_weights
    assert better.classifier.half_problems_ is not None
    assert better.given[better.files.index("30.png")] == "down"
    assert SEEN not in better.doubts
    later = Labelling.load(run.out).corrected({"30.png": "down"})  # the judges are not saved
    assert later.doubts[0] == SEEN


def test_uneven_labels_and_a_class_that_one_half_does_not_know(photos, tmp_path):
    rows = ["file,label", "down/00.png,down", *(f"across/{i:02d}.png,across" for i in range(1, 24, 2))]
    (tmp_path / "few.csv").write_text("\n".join(rows))
    short = replace(ON, adapt=AdaptOptions("full", replace(RECIPE, steps=4), device="cpu"))
    result = label_images(photos, options=replace(short, labels=tmp_path / "few.csv"))
    assert np.isfinite(result.confidence).all()
    assert sum(result.settings["adapt"]["held_out"].values()) > 0
