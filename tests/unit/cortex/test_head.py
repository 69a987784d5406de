"""The head is read as it was written, or not at all."""

from __future__ import annotations

import pytest

from brain_async.cortex import Head, overall_root_of
from brain_async.cortex.head import decode_head, encode_head
from brain_async.cortex.journal import journal_root_of
from brain_async.errors import LedgerCorruptError

HEAD = Head(seq=7, at=1_700_000_000_000_000, edges=5, labels=2, root=b"r" * 32, peaks=(b"a" * 32, b"b" * 32, b"c" * 32))


def test_a_head_is_read_as_it_was_written() -> None:
    assert decode_head(encode_head(HEAD)) == HEAD
    assert len(encode_head(HEAD)) == 58 + 3 * 32
    assert decode_head(None) == Head()
    assert HEAD.journal_root == journal_root_of(7, HEAD.peaks)
    assert HEAD.overall_root == overall_root_of(HEAD.root, HEAD.journal_root)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xa0",
        encode_head(HEAD)[:-1],
        encode_head(HEAD) + b"\0",
        b"\2" + encode_head(HEAD)[1:],
        encode_head(Head(seq=7, edges=6, labels=2, peaks=HEAD.peaks)),
        encode_head(Head(seq=7, at=1 << 60, peaks=HEAD.peaks)),
        encode_head(Head(seq=8, peaks=HEAD.peaks)),
        encode_head(Head(seq=1 << 63, peaks=HEAD.peaks[:1])),
    ],
)
def test_anything_else_is_refused(value: bytes) -> None:
    with pytest.raises(LedgerCorruptError, match="m/head"):
        decode_head(value)
