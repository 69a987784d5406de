"""An agent loop that goes on after a restart of its process, in the middle of a result. ``python examples/agent_loop.py``

``python examples/agent_loop.py 2`` stops after two turns of the model, as if the process had died there; run it again
without a number, and it asks for the next page. The model is a script, so nothing leaves the machine; put a client of a
chat completions API in its place.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from brain_async import Object, SearchContext, Session
from brain_async.local import open_local
from brain_async.tools import Toolset, run_openai_tool_calls, to_openai

HOME, CHECKPOINT = Path("my-brain"), Path("agent.json")
NAMESPACE = UUID(int=7)
QUESTION = "Which renewals are at risk?"
DEALS = ("Acme", "Borealis", "Cobalt", "Dynamo", "Ember")


def scripted_model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Searches, asks for page after page, and then lists the titles: decided from the messages alone, as by a real model."""
    assert {"search", "continue"} <= {tool["function"]["name"] for tool in tools}
    pages = [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
    if pages and not pages[-1]["has_more"]:
        titles = [hit["title"] for page in pages for hit in page["objects"]]
        return {"role": "assistant", "content": f"{len(titles)} renewals are at risk: {', '.join(sorted(titles))}"}
    name, arguments = ("search", {"query": "renewal at risk", "limit": 2})
    if pages:
        name, arguments = ("continue", {"result_set_id": pages[0]["result_set_id"], "limit": 2})
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": f"call_{len(pages)}", "type": "function", "function": function}]}


def load() -> tuple[list[dict[str, Any]], SearchContext]:
    """The conversation as the last checkpoint left it, or a new one."""
    context = SearchContext(NAMESPACE)
    if not CHECKPOINT.exists():
        return [{"role": "user", "content": QUESTION}], context
    saved = json.loads(CHECKPOINT.read_text())
    context.restore(saved["context"])
    return saved["messages"], context


def save(messages: list[dict[str, Any]], context: SearchContext) -> None:
    """Keep the messages and the place in the result together: whichever process goes on sees both or neither."""
    state = context.export()
    partial = CHECKPOINT.with_suffix(".partial")
    partial.write_text(json.dumps({"messages": messages, "context": state.decode() if state else None}))
    partial.replace(CHECKPOINT)


def forget() -> None:
    """The conversation is over."""
    CHECKPOINT.unlink(missing_ok=True)


async def fill(session: Session) -> None:
    """Put the deals and their notes; the ids are the same every time, so a second run replaces them."""
    for name in DEALS:
        deal, note = uuid5(NAMESPACE_URL, f"deal/{name}"), uuid5(NAMESPACE_URL, f"note/{name}")
        await session.put(Object(id=deal, kind="deal", title=name))
        text = f"{name}: the renewal is at risk until legal signs."
        await session.put(Object(id=note, kind="note", title="Call", content=text, parent_id=deal))


async def main(turns: int) -> None:
    messages, context = load()
    async with open_local(HOME) as brain:
        if len(messages) == 1:
            await fill(brain.session(context=context))
        toolset = Toolset(brain, context)
        tools = to_openai(toolset.specs())
        for _ in range(turns):
            message = scripted_model(messages, tools)
            messages.append(message)
            if "tool_calls" not in message:
                print(message["content"])
                forget()
                return
            answers = await run_openai_tool_calls(toolset, message["tool_calls"])
            messages += answers
            save(messages, context)
            page = json.loads(answers[-1]["content"])
            print(message["tool_calls"][0]["function"]["name"], [hit["title"] for hit in page["objects"]])
    print("stopped: run it again to go on")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
