"""A batch of works against the same works run one by one on a plain dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from brain_async.adapters.postgres.kv_batch import Batch
from brain_async.errors import InvalidInputError
from brain_async.ports.kv import Change, Get, Scan, Work
from brain_async.ports.kv_groups import AnyWork
from brain_async.ports.kv_work import run_work

_keys = st.binary(min_size=1, max_size=2).map(lambda drawn: bytes(b"\x00a\xff"[byte % 3] for byte in drawn))
_prefixes = st.sampled_from([b"", b"\0", b"a", b"\xff"])
_requests = st.one_of(
    st.lists(_keys, max_size=3).map(lambda keys: Get(tuple(keys))),
    st.builds(Scan, _prefixes, st.none() | _keys, st.integers(0, 4)),
)
_steps = st.tuples(
    st.lists(_requests, max_size=3), st.lists(_keys, max_size=4), st.sampled_from(["write", "delete", "fail"])
)


def _work(requests: list[Get | Scan], keys: list[bytes], end: str, number: int) -> AnyWork:
    """What it writes depends on all that it was shown, and so does what it asks for last."""

    def work() -> Work[list[list[tuple[bytes, bytes]]]]:
        answers: list[list[tuple[bytes, bytes]]] = []
        for request in requests:
            found = yield request
            answers.append(list(found.items()))
        shown = [key for answer in answers for key, _ in answer]
        answers.append(list((yield Get(tuple(key[::-1] for key in shown[:2]))).items()))
        if end == "fail":
            raise LookupError(number)
        value = b"%d/%d" % (number, sum(len(value) for answer in answers for _, value in answer))
        return Change({key: value if end == "write" or key in shown else None for key in keys}), answers

    return work


def _read(table: Mapping[bytes, bytes], request: Get | Scan) -> dict[bytes, bytes]:
    if isinstance(request, Get):
        return {key: table[key] for key in request.keys if key in table}
    within = (key for key in sorted(table) if key.startswith(request.prefix))
    past = [key for key in within if request.after is None or key > request.after]
    return {key: table[key] for key in past[: request.limit]}


def _run(batch: Batch, table: Mapping[bytes, bytes]) -> int:
    """Feed a batch from a table; returns the number of times it asked."""
    rounds = 0
    while any(missing := batch.advance()):
        rounds += 1
        keys, scans = missing
        batch.read({key: table.get(key) for key in keys}, {scan: _read(table, scan) for scan in scans})
    return rounds


@given(st.dictionaries(_keys, st.just(b"old")), st.lists(_steps, min_size=1, max_size=6))
def test_a_batch_is_its_works_one_after_another(
    table: dict[bytes, bytes], drawn: list[tuple[list[Get | Scan], list[bytes], str]]
) -> None:
    works = [_work(*steps, number) for number, steps in enumerate(drawn)]
    batch = Batch(works)
    _run(batch, table)
    model = dict(table)
    for work, outcome in zip(works, batch.outcomes, strict=True):
        try:
            change, result = run_work(work, lambda request: _read(model, request))
        except LookupError as error:
            failed = error
        else:
            failed = None
        if failed is not None:
            assert (type(outcome.error), str(outcome.error)) == (LookupError, str(failed))
            continue
        assert (outcome.result, outcome.error) == (result, None)
        for key, value in change.writes.items():
            if value is None:
                model.pop(key, None)
            else:
                model[key] = value
    for key, value in batch.writes.items():
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    assert table == model


def _chain(name: bytes, length: int) -> Callable[[], Work[int]]:
    """Reads one key after another, each only known from the last, and a counter that all works share."""

    def work() -> Work[int]:
        key = name
        for _ in range(length):
            key = (yield Get((key,))).get(key, key + b"'")
        count = int((yield Get((b"count",))).get(b"count", b"0"))
        return Change({b"count": b"%d" % (count + 1), key: b"end"}), count

    return work


def test_works_that_read_alike_read_together() -> None:
    batch = Batch([_chain(b"%d" % number, 5) for number in range(64)])
    assert _run(batch, {}) == 6
    assert [outcome.result for outcome in batch.outcomes] == list(range(64))
    assert batch.writes[b"count"] == b"64"


def test_what_cannot_be_written_is_its_works_error() -> None:
    def oversized() -> Work[None]:
        yield from ()
        return Change({bytes(481): b"", b"a": b"1"}), None

    def no_change() -> Work[None]:
        yield from ()
        return None  # type: ignore[return-value]

    def no_generator() -> Work[None]:
        raise StopIteration

    batch = Batch([oversized, no_change, no_generator, _chain(b"a", 1)])
    _run(batch, {})
    assert [type(outcome.error) for outcome in batch.outcomes] == [InvalidInputError, TypeError, TypeError, type(None)]
    assert batch.writes == {b"a'": b"end", b"count": b"1"}
