"""The page and the result set it leaves behind."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from brain_async.model.relation import Relation
from brain_async.model.results import ChannelOutcome, DegradeMode, ResultSet, RichObject
from brain_async.stages.page import degrade_mode, degraded_channels, store_page

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Kept:
    """A result set store of one."""

    def __init__(self) -> None:
        self.result_set: ResultSet | None = None

    async def get_result_set(self, result_set_id: UUID) -> ResultSet:
        raise NotImplementedError

    async def put_result_set(self, result_set: ResultSet) -> None:
        self.result_set = result_set


def ids(count: int) -> list[UUID]:
    return [UUID(int=number) for number in range(1, count + 1)]


async def stored(count: int, offset: int, max_ids: int = 1000) -> tuple[ResultSet, bool, int]:
    kept = Kept()
    page = await store_page(kept, [], ids(count), offset=offset, now=NOW, max_ids=max_ids)
    assert kept.result_set is not None
    assert page.result_set_id == kept.result_set.id
    assert kept.result_set.created_at == NOW
    return kept.result_set, page.has_more, page.total


@pytest.mark.parametrize(
    ("count", "offset", "max_ids", "total", "has_more", "kept_offset"),
    [
        (25, 10, 1000, 25, True, 10),
        (10, 10, 1000, 10, False, 10),
        (30, 10, 10, 10, False, 10),
        (0, 10, 10, 0, False, 0),
    ],
)
async def test_ids_are_cut_and_the_offset_never_passes_their_end(
    count: int, offset: int, max_ids: int, total: int, has_more: bool, kept_offset: int
) -> None:
    result_set, more, kept_total = await stored(count, offset, max_ids)
    assert (len(result_set.object_ids), more, kept_total, result_set.offset) == (total, has_more, total, kept_offset)


async def test_an_empty_result_is_kept_as_well() -> None:
    result_set, more, _ = await stored(0, 0)
    assert (result_set.object_ids, more) == ((), False)


async def test_every_result_set_has_its_own_id() -> None:
    assert (await stored(1, 1))[0].id != (await stored(1, 1))[0].id


async def test_relations_are_kept_for_the_kept_ids_only() -> None:
    kept = Kept()
    relations = {object_id: Relation(type="about", depth=1) for object_id in ids(5)}
    await store_page(kept, [], ids(5), offset=0, now=NOW, max_ids=2, relations=relations)
    assert kept.result_set is not None
    assert set(kept.result_set.relations) == set(ids(2))


def outcome(channel: str, status: str) -> ChannelOutcome:
    return ChannelOutcome(channel=channel, status=status)  # type: ignore[arg-type]


def test_what_was_lost_is_named() -> None:
    outcomes = [outcome("lexical", "ok"), outcome("vector", "timeout"), outcome("graph_text", "error")]
    outcomes.append(outcome("trigram", "skipped"))
    assert degraded_channels(outcomes) == ("vector", "graph_text")


@pytest.mark.parametrize(
    ("channel", "status", "mode"),
    [
        ("vector", "error", DegradeMode.LEXICAL_ONLY),
        ("graph_vector", "timeout", DegradeMode.LEXICAL_ONLY),
        ("vector", "skipped", DegradeMode.NONE),
        ("vector", "empty", DegradeMode.NONE),
        ("graph_text", "error", DegradeMode.NONE),
    ],
)
def test_only_a_lost_dense_channel_means_lexical_only(channel: str, status: str, mode: DegradeMode) -> None:
    assert degrade_mode([outcome("lexical", "ok"), outcome(channel, status)]) is mode


async def test_the_page_says_what_its_channels_did() -> None:
    outcomes = [outcome("lexical", "ok"), outcome("vector", "error")]
    objects = [RichObject(id=UUID(int=1), kind="thing")]
    page = await store_page(Kept(), objects, ids(3), offset=1, now=NOW, max_ids=10, outcomes=outcomes)
    assert (page.objects, page.outcomes) == (tuple(objects), tuple(outcomes))
    assert (page.degrade_mode, page.degraded, page.has_more) == (DegradeMode.LEXICAL_ONLY, ("vector",), True)
