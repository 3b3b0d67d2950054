"""Damage of every kind changes the checksum; how the bytes come in does not."""

import hashlib

import numpy as np
import pytest

from grande_gnn.internal.block_sums import BlockSums

BLOCK = 32768
DATA = np.random.default_rng(0).bytes(5 * BLOCK + 1234)


def digest_of(*pieces):
    sums = BlockSums()
    for piece in pieces:
        sums.update(piece)
    return sums.hexdigest()


def test_the_formula():
    padded = DATA + bytes(-len(DATA) % BLOCK)
    rows = [
        [int.from_bytes(padded[i + j : i + j + 8], "little") for j in range(0, BLOCK, 8)]
        for i in range(0, len(padded), BLOCK)
    ]
    along, across = [sum(row) for row in rows], [sum(column) for column in zip(*rows, strict=True)]
    expected = [len(DATA), *along, *across]
    assert digest_of(DATA) == hashlib.sha256(
        b"".join((n % 2**64).to_bytes(8, "little") for n in expected)
    ).hexdigest()  # fmt: skip


@pytest.mark.parametrize("length", [1, 7, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_pieces_do_not_matter(length):
    pieces = [DATA[start : start + length] for start in range(0, len(DATA), length)]
    if length == 1:
        pieces = [*pieces[: 2 * BLOCK], DATA[2 * BLOCK :]]
    assert digest_of(*pieces) == digest_of(DATA)
    assert digest_of(b"", *pieces, b"") == digest_of(DATA)


def changed(start, new):
    return DATA[:start] + new + DATA[start + len(new) :]


def test_every_flipped_bit_is_found():
    whole, rng = digest_of(DATA), np.random.default_rng(1)
    for position in (0, 7, 8, BLOCK - 1, BLOCK, len(DATA) - 1, *rng.integers(0, len(DATA), 50).tolist()):
        for bit in range(8):
            assert digest_of(changed(position, bytes([DATA[position] ^ 1 << bit]))) != whole


DAMAGE = {
    "nothing left": b"",
    "cut": DATA[:-1],
    "cut to whole blocks": DATA[: 5 * BLOCK],
    "a zero more": DATA + b"\0",
    "a block lost": DATA[BLOCK:],
    "a block twice": DATA[:BLOCK] + DATA,
    "a block of zeros": changed(BLOCK, bytes(BLOCK)),
    "a page of zeros": changed(4096, bytes(4096)),
    "two blocks swapped": DATA[BLOCK : 2 * BLOCK] + DATA[:BLOCK] + DATA[2 * BLOCK :],
    "two words swapped": DATA[8:16] + DATA[:8] + DATA[16:],
    "two pages swapped": DATA[4096:8192] + DATA[:4096] + DATA[8192:],
    "words of two blocks swapped": changed(
        0, DATA[BLOCK : BLOCK + 8] + DATA[8:BLOCK] + DATA[:8]
    ),
    "a byte lost": DATA[:100] + DATA[101:],
}  # fmt: skip


@pytest.mark.parametrize("how", DAMAGE)
def test_damage_is_found(how):
    assert digest_of(DAMAGE[how]) != digest_of(DATA)


def test_zeros_are_told_apart_by_their_number():
    assert len({digest_of(bytes(n)) for n in (0, 1, 8, BLOCK, BLOCK + 1, 2 * BLOCK)}) == 6
