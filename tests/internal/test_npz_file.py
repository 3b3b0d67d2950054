"""An ``.npz`` file comes back as numpy reads it, or gets one sentence before memory is taken for it."""

import io
import pickle
import resource
import struct
import warnings
import zipfile

import numpy as np
import pytest

from grande_gnn.errors import FileFormatError
from grande_gnn.graph.graph_files import load_graph, load_lists
from grande_gnn.internal.features_file import load_features
from grande_gnn.internal.npz_file import Wanted, read_npz

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
LOADERS = {"features": load_features, "ranked lists": load_lists, "graph": load_graph}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(
    ("array", "kinds"),
    [
        (X, "f"),
        (np.asfortranarray(X), "f"),
        (X.astype(">f8"), "f"),
        (X.astype(np.float16), "f"),
        (np.arange(12, dtype=np.uint8).reshape(3, 4), "u"),
        (np.arange(3, dtype=">i2"), "i"),
        (np.array([], dtype=np.int64), "i"),
        (np.array(["ash", "b\u00eache", "\U0001f333", ""]), "U"),
        (np.array(["ash", "b"], dtype=">U5"), "U"),
        (np.array(["\udcff.jpg"]), "U"),
    ],
)
def test_the_arrays_come_back(tmp_path, save, array, kinds):
    save(tmp_path / "f.npz", a=array, other=np.zeros(3))
    got = read_npz(tmp_path / "f.npz", "test", {"a": Wanted(kinds, array.ndim)})
    assert list(got) == ["a"]
    np.testing.assert_array_equal(got["a"], array)
    assert got["a"].dtype == array.dtype.newbyteorder("=")


def test_bytes_become_text(tmp_path):
    np.savez(
        tmp_path / "f.npz",
        a=np.array(["ash", "b\u00eache"]).astype("U").tolist(),
        b=np.char.encode(["ash", "b\u00eache"], "utf-8"),
    )
    got = read_npz(tmp_path / "f.npz", "test", {"b": Wanted("US", 1), "c": Wanted("U", 1, required=False)})
    assert got["b"].tolist() == ["ash", "b\u00eache"]
    assert list(got) == ["b"]


# -- foreign and broken files -------------------------------------------------------------------------


def assert_one_sentence(load, path, words):
    with pytest.raises(FileFormatError, match=words) as caught:
        load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("what", "load"), LOADERS.items())
def test_what_is_not_an_npz(tmp_path, what, load):
    assert_one_sentence(load, tmp_path / "absent.npz", f"no such {what} file")
    assert_one_sentence(load, tmp_path, f"no such {what} file")
    for content in (b"", b"just text", b"PK\x03\x04 broken", pickle.dumps({"features": X})):
        (tmp_path / "f.npz").write_bytes(content)
        assert_one_sentence(load, tmp_path / "f.npz", "not a .npz|not a readable")
    np.save(tmp_path / "f.npy", X)
    assert_one_sentence(load, tmp_path / "f.npy", "not a .npz")


@pytest.mark.parametrize(("what", "load"), LOADERS.items())
def test_an_npz_of_something_else(tmp_path, what, load):
    np.savez(tmp_path / "f.npz", others=X)
    assert_one_sentence(load, tmp_path / "f.npz", f"has no array .* not a {what} file; got others")
    np.savez(tmp_path / "f.npz")
    assert_one_sentence(load, tmp_path / "f.npz", "got nothing")
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        for name in ("features", "labels", "lists", "indptr", "indices"):
            archive.writestr(name, "this is text")
    assert_one_sentence(load, tmp_path / "f.npz", "f.npz")


def test_a_pickled_array_is_never_opened(tmp_path):
    np.savez(tmp_path / "f.npz", features=X, labels=np.array(["a", None, 1, 2, 3, 4], dtype=object))
    assert_one_sentence(load_features, tmp_path / "f.npz", r"must be a list of .*; got object")


@pytest.mark.parametrize("at", [0.2, 0.5, 0.9])
def test_damaged_bytes(tmp_path, at):
    np.savez_compressed(tmp_path / "f.npz", features=np.random.default_rng(0).normal(size=(50, 20)))
    content = bytearray((tmp_path / "f.npz").read_bytes())
    middle = int(at * len(content))
    content[middle : middle + 40] = bytes(b ^ 0xFF for b in content[middle : middle + 40])
    (tmp_path / "f.npz").write_bytes(content)
    assert_one_sentence(load_features, tmp_path / "f.npz", "f.npz")
    (tmp_path / "f.npz").write_bytes(content[:middle])
    assert_one_sentence(load_features, tmp_path / "f.npz", "f.npz")


# -- made by hand ---------------------------------------------------------------------------------------


def npy(header, data=b"", version=(1, 0)):
    """The bytes of an array with any header."""
    text = header.encode("latin-1") if isinstance(header, str) else header
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + size + text + data


def header(descr="<f4", shape=(6, 3), order=False):
    return repr({"descr": descr, "fortran_order": order, "shape": shape})


def archive(members, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name twice
        for name, data in members:
            out.writestr(name, data)
    return file.getvalue()


GOOD = ("features.npy", npy(header(), X.tobytes()))


def of_array(name, array):
    file = io.BytesIO()
    np.save(file, array)
    return (f"{name}.npy", file.getvalue())


BY_HAND = {
    "10^12 floats": archive([("features.npy", npy(header(shape=(10**6, 10**6)), X.tobytes()))]),
    "10^12 floats, compressed": archive(
        [("features.npy", npy(header(shape=(10**6, 10**6)), X.tobytes()))], zipfile.ZIP_DEFLATED
    ),
    "sizes that overflow": archive([("features.npy", npy(header(shape=(2**62, 4)), b""))]),
    "a size of thousands of digits": archive(
        [("features.npy", npy(header().replace("6", "6" * 5000), X.tobytes()))]
    ),
    "a nested header": archive([("features.npy", npy("(" * 4000, X.tobytes()))]),
    "a nested shape": archive(
        [("features.npy", npy(header().replace("(6, 3)", "(" * 900 + ")" * 900), X.tobytes()))]
    ),
    "a header that is code": archive([("features.npy", npy("__import__('os').abort()", X.tobytes()))]),
    "a key twice": archive([("features.npy", npy(header()[:-1] + ", 'descr': '<f8'}", X.tobytes()))]),
    "a key more": archive([("features.npy", npy(header()[:-1] + ", 'x': '<f8'}", X.tobytes()))]),
    "a key less": archive([("features.npy", npy("{'descr': '<f4', 'shape': (6, 3)}", X.tobytes()))]),
    "a header beyond the limit": archive(
        [("features.npy", npy(header() + " " * 50_000, X.tobytes(), (2, 0)))]
    ),
    "a blank that is none": archive([("features.npy", npy(header() + "  \xa0  ", X.tobytes()))]),
    "a separator that is no blank": archive([("features.npy", npy(header() + " \x1c ", X.tobytes()))]),
    "a length with a leading zero": archive(
        [("features.npy", npy(header().replace("6", "06"), X.tobytes()))]
    ),
    "quotes that do not match": archive(
        [("features.npy", npy(header().replace("'descr'", "'descr\""), X.tobytes()))]
    ),
    "a name in several lines": archive([("a\nb.npy", npy(header(), X.tobytes()))]),
    "data before the archive": b"x" + archive([GOOD]),
    "a comma too many": archive([("features.npy", npy(header().replace("6,", "6,,"), X.tobytes()))]),
    "brackets that are no tuple": archive(
        [("features.npy", npy(header().replace("(6, 3)", "(18)"), X.tobytes()))]
    ),
    "a negative size": archive([("features.npy", npy(header(shape=(-6, -3)), X.tobytes()))]),
    "another version": archive([("features.npy", npy(header(), X.tobytes(), (9, 0)))]),
    "no header": archive([("features.npy", b"\x93NUM")]),
    "half a header": archive([("features.npy", npy(header())[:20])]),
    "half the data": archive([("features.npy", npy(header(), X.tobytes()[:-4]))]),
    "more data": archive([("features.npy", npy(header(), X.tobytes() + b"\0"))]),
    "two of one name": archive([GOOD, GOOD]),
    "objects": archive([("features.npy", npy(header("|O"), pickle.dumps(X)))]),
    "a struct": archive([of_array("features", np.zeros((6, 3), dtype=[("a", "<f4")]))]),
    "dates": archive([of_array("features", np.zeros((6, 3), dtype="M8[s]"))]),
    "complex features": archive([of_array("features", X.astype(complex))]),
    "features of flags": archive([of_array("features", X > 0)]),
    "features of texts": archive([of_array("features", X.astype(str))]),
    "infinite features": archive([of_array("features", np.where(X > 0, np.inf, X))]),
    "infinite labels": archive([GOOD, of_array("labels", np.full(6, np.inf))]),
    "labels of flags": archive([GOOD, of_array("labels", np.zeros(6, dtype=bool))]),
    "complex labels": archive([GOOD, of_array("labels", np.zeros(6, dtype=complex))]),
    "labels of structs": archive([GOOD, of_array("labels", np.zeros(6, dtype=[("a", "<f4")]))]),
    "labels of dates": archive([GOOD, of_array("labels", np.zeros(6, dtype="M8[D]"))]),
    "labels beyond the classes": archive(
        [
            GOOD,
            of_array("labels", np.full(6, 2**64 - 1, dtype=np.uint64)),
            of_array("classes", np.array(["a"])),
        ]
    ),
    "classes a scalar": archive(
        [GOOD, of_array("labels", np.zeros(6, dtype=int)), of_array("classes", np.array("rose"))]
    ),
    "bytes that are no text": archive([GOOD, of_array("files", np.array([b"\xff\xfe"] * 6))]),
    "characters that are none": archive(
        [GOOD, ("files.npy", npy(header("<U1", (6,)), b"\xff\xff\xff\x7f" * 6))]
    ),
    "half characters": archive([GOOD, ("files.npy", npy(header("<U1", (6,)), b"\x00\xd8\x00\x00" * 6))]),
    "texts without width": archive([GOOD, ("files.npy", npy(header("<U0", (6,))))]),
    "files a matrix": archive([GOOD, of_array("files", np.array([["a"] * 3] * 2))]),
    "a dtype that is none": archive([("features.npy", npy(header("<q7"), X.tobytes()))]),
    "wide numbers": archive([("features.npy", npy(header("<f16"), X.tobytes() * 4))]),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_made_by_hand(tmp_path, case):
    (tmp_path / "f.npz").write_bytes(BY_HAND[case])
    assert_one_sentence(load_features, tmp_path / "f.npz", r"f\.npz")


@pytest.mark.parametrize("field", ["flags", "method", "encrypted"])
def test_archives_of_another_kind(tmp_path, field):
    """What numpy never writes, in both places where a zip archive says it."""
    data = bytearray(archive([GOOD]))
    for start, shift in ((0, 0), (data.index(b"PK\x01\x02"), 2)):
        at = start + (8 if field == "method" else 6) + shift
        struct.pack_into("<H", data, at, {"flags": 0x20, "method": 97, "encrypted": 1}[field])
    (tmp_path / "f.npz").write_bytes(data)
    assert_one_sentence(load_features, tmp_path / "f.npz", "plain or deflated, not encrypted")


def bomb(name, descr, shape):
    """An array of zeros that deflate packs a thousandfold, written without holding it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(*GOOD)
        with out.open(f"{name}.npy", "w") as member:
            member.write(npy(header(descr, shape)))
            left = int(np.prod(shape)) * np.dtype(descr).itemsize
            while left:
                left -= member.write(bytes(min(left, 1 << 22)))
    return file.getvalue()


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.mark.parametrize(
    ("name", "descr", "shape"), [("files", "<U3500000", (6,)), ("labels", "<i8", (10_000_000,))]
)
def test_a_bomb_takes_no_memory(tmp_path, name, descr, shape):
    (tmp_path / "f.npz").write_bytes(bomb(name, descr, shape))
    before = peak()
    assert_one_sentence(load_features, tmp_path / "f.npz", "declares far more than the file holds")
    assert peak() - before < 64 << 20


def test_a_bomb_that_nobody_asked_for_is_not_read(tmp_path):
    (tmp_path / "f.npz").write_bytes(bomb("other", "<f8", (10_000_000,)))
    before = peak()
    np.testing.assert_array_equal(load_features(tmp_path / "f.npz").features, X)
    assert peak() - before < 64 << 20


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 3), }          \n",
        "{'shape': (6L, 3L), 'fortran_order': False, 'descr': '<f4'}",
        '{"descr": "<f4", "fortran_order": False, "shape": (6,3)}',
        " { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 6 , 3 ) } ",
    ],
)
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_headers_of_other_writers_are_read(tmp_path, text, version):
    (tmp_path / "f.npz").write_bytes(archive([("features.npy", npy(text, X.tobytes(), version))]))
    np.testing.assert_array_equal(load_features(tmp_path / "f.npz").features, X)


def test_labels_of_a_small_unsigned_type_are_names(tmp_path):
    np.savez(
        tmp_path / "f.npz",
        features=X,
        labels=np.array([0, 1, 1, 0, 1, 0], dtype=np.uint8),
        classes=[b"a", b"b"],
    )
    assert load_features(tmp_path / "f.npz").labels.tolist() == ["a", "b", "b", "a", "b", "a"]
