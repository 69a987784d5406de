"""The README's example: a knowledge base of two objects, and a question. ``python examples/quickstart.py``"""

import asyncio
from uuid import UUID

from brain_async import Object
from brain_async.local import open_local


async def main() -> None:
    async with open_local("./my-brain") as brain:
        session = brain.session(namespace=UUID(int=7))
        deal = await session.put(Object(kind="deal", title="Acme renewal", properties={"stage": "negotiation"}))
        note = "Procurement wants 20% off. Until legal signs, the renewal is at risk."
        await session.put(Object(kind="note", title="Call in June", content=note, parent_id=deal.id))

        page = await session.search("renewal risk", filters={"kind": "deal"}, limit=5)
        for hit in page.objects:
            print(f"{hit.score:.2f}  {hit.title}: {hit.evidence[0].snippet}")


asyncio.run(main())
