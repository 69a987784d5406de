"""Bounds of scans, and works run to their end."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brain_async.errors import InvalidInputError
from brain_async.ports.kv import Change, Get, Scan, Work
from brain_async.ports.kv_work import check_keys, run_work, scan_bounds

# Few byte values, so that keys, prefixes and bounds meet.
_keys = st.binary(max_size=4).map(lambda drawn: bytes(b"\x00\x01\xfe\xff"[byte % 4] for byte in drawn))


@given(_keys, _keys, st.none() | _keys, st.booleans())
@example(b"\xff\xff\x00", b"\xff\xff", None, False)
@example(b"a", b"", b"a", True)
def test_bounds_hold_exactly_the_keys_of_a_scan(key: bytes, prefix: bytes, after: bytes | None, reverse: bool) -> None:
    low, high = scan_bounds(prefix, after, reverse=reverse)
    wanted = key.startswith(prefix) and (after is None or (key < after if reverse else key > after))
    assert (low <= key and (high is None or key < high)) == wanted


def test_a_work_is_answered_until_it_returns_and_closed_when_an_answer_fails() -> None:
    closed = []

    def work() -> Work[int]:
        try:
            found = yield Get((b"a",))
            more = yield Scan(b"b")
        finally:
            closed.append(True)
        return Change({b"a": b"1"}), len(found) + len(more)

    asked = []

    def answer(request: Get | Scan) -> dict[bytes, bytes]:
        asked.append(request)
        return {b"x": b""}

    assert run_work(work, answer) == (Change({b"a": b"1"}), 2)
    assert asked == [Get((b"a",)), Scan(b"b")]

    def broken(request: Get | Scan) -> dict[bytes, bytes]:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        run_work(work, broken)
    assert closed == [True, True]


@pytest.mark.parametrize("length", [0, 481])
def test_keys_of_other_lengths_are_refused(length: int) -> None:
    with pytest.raises(InvalidInputError, match=f"not {length}") as refused:
        check_keys([b"good", bytes(length)])
    assert refused.value.field == "key"
    check_keys([bytes(480), b"\0"])
