"""A checksum against corruption that costs little more than reading: sums along blocks and across them.

The bytes are taken as 64-bit words, 4,096 of them in a row, the last row filled up with zeros:

    along     r_i = Σ_j w_ij  modulo 2⁶⁴      one sum per block of 32 KiB
    across    c_j = Σ_i w_ij  modulo 2⁶⁴      one sum per place in a block

The checksum is the SHA-256 of the number of bytes and all these sums. A change inside one block changes the sums across,
and a change at one place of several blocks changes the sums along, so both are always found, and with them every
changed, swapped or lost block; what can escape are changes in four or more words that cancel out in both directions.
SHA-256 of all bytes takes ten times as long. Neither is a signature: whoever changes a file can compute a new one.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockSums"]

_WORDS = 4096
_BYTES = 8 * _WORDS


class BlockSums:
    """The checksum of bytes that come in pieces of any length.

    >>> sums = BlockSums()
    >>> sums.update(b"the same bytes, ")
    >>> sums.update(b"in two pieces")
    >>> whole = BlockSums()
    >>> whole.update(b"the same bytes, in two pieces")
    >>> sums.hexdigest() == whole.hexdigest()
    True
    """

    def __init__(self) -> None:
        self._length = 0
        self._across = np.zeros(_WORDS, dtype="<u8")
        self._along: list[NDArray[np.uint64]] = []
        self._rest = b""
        """Bytes that do not fill a block yet."""

    def update(self, piece: bytes | memoryview) -> None:
        """Add the next bytes."""
        data = memoryview(piece).cast("B")
        self._length += len(data)
        if self._rest:
            missing = min(_BYTES - len(self._rest), len(data))
            self._rest += bytes(data[:missing])
            data = data[missing:]
            if len(self._rest) < _BYTES:
                return
            self._add(memoryview(self._rest))
        whole = len(data) // _BYTES * _BYTES
        if whole:
            self._add(data[:whole])
        self._rest = bytes(data[whole:])

    def _add(self, blocks: memoryview) -> None:
        words = np.frombuffer(blocks, dtype="<u8").reshape(-1, _WORDS)
        self._along.append(words.sum(axis=1, dtype="<u8"))
        self._across += words.sum(axis=0, dtype="<u8")

    def hexdigest(self) -> str:
        """The checksum of everything so far, 64 hexadecimal digits."""
        last = np.frombuffer(self._rest.ljust(_BYTES, b"\0"), dtype="<u8")
        digest = hashlib.sha256(self._length.to_bytes(8, "little"))
        for sums in (*self._along, last.sum(dtype="<u8", keepdims=True), self._across + last):
            digest.update(np.ascontiguousarray(sums, dtype="<u8").data)
        return digest.hexdigest()
