from grande_gnn.labelling.exports.copied_images import copy_numbered


def test_copies_have_plain_names_and_the_same_content(hostile, tmp_path):
    names = copy_numbered(tmp_path / "copies", hostile, "a test")
    assert names == [f"{i:06d}.png" for i in range(7)] + ["000007.gif"]
    for name, file in zip(names, hostile.files, strict=True):
        assert (tmp_path / "copies" / name).read_bytes() == (hostile.root / file).read_bytes()
    assert len(list((tmp_path / "copies").iterdir())) == 8
