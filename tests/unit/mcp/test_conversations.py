"""Which call goes on with which result set."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from brain_async import NamespaceRequiredError, ResultSet, SearchContext
from brain_async.mcp.conversations import Conversations
from brain_async.model.object import NIL_UUID

NAMESPACE = UUID(int=1)


async def searched(conversations: Conversations) -> SearchContext:
    context = conversations.context_of({})
    await context.put_result_set(ResultSet(id=uuid4(), object_ids=(UUID(int=9),)))
    conversations.keep(context)
    return context


def id_of(context: SearchContext) -> str:
    assert context.active is not None
    return str(context.active.id)


async def test_a_call_that_names_a_result_set_gets_its_context() -> None:
    conversations = Conversations(NAMESPACE)
    one, other = await searched(conversations), await searched(conversations)
    assert conversations.context_of({"result_set_id": f" {id_of(one).upper()} "}) is one
    assert conversations.context_of({"result_set_id": id_of(other)}) is other


@pytest.mark.parametrize("given", [None, 3, "", "x", str(UUID(int=5)), ["a"]])
async def test_any_other_call_gets_a_context_of_its_own(given: object) -> None:
    conversations = Conversations(NAMESPACE)
    known = await searched(conversations)
    context = conversations.context_of({"result_set_id": given})
    assert context is not known
    assert (context.namespace_id, context.active) == (NAMESPACE, None)


async def test_the_least_recently_used_are_forgotten() -> None:
    conversations = Conversations(NAMESPACE, most=2)
    first, second = await searched(conversations), await searched(conversations)
    conversations.keep(first)
    third = await searched(conversations)
    assert conversations.context_of({"result_set_id": id_of(first)}) is first
    assert conversations.context_of({"result_set_id": id_of(third)}) is third
    assert conversations.context_of({"result_set_id": id_of(second)}) is not second


async def test_a_call_without_a_result_leaves_nothing() -> None:
    conversations = Conversations(NAMESPACE, most=1)
    known = await searched(conversations)
    conversations.keep(SearchContext(NAMESPACE))
    assert conversations.context_of({"result_set_id": id_of(known)}) is known


def test_the_nil_namespace_is_refused() -> None:
    with pytest.raises(NamespaceRequiredError):
        Conversations(NIL_UUID)
