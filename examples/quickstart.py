"""The README's example: a knowledge base of two objects, and a question. ``python examples/quickstart.py``"""

import asyncio
from uuid import UUID

from brain_async import Object
from brain_async.local import open_local


async def main() -> None:
    async with open_local("./my-brain") as brain:
        session = brain.session(namespace=UUID(int=7))
        # With an id of its own, an object is replaced when it is put again.
        deal, note = UUID(int=1), UUID(int=2)
        await session.put(Object(id=deal, kind="deal", title="Acme renewal", properties={"stage": "negotiation"}))
        text = "Procurement wants 20% off. Until legal signs, the renewal is at risk."
        await session.put(Object(id=note, kind="note", title="Call in June", content=text, parent_id=deal))

        page = await session.search("renewal risk", filters={"kind": "deal"}, limit=5)
        for hit in page.objects:
            print(f"{hit.score:.2f}  {hit.title}", *(part.snippet for part in hit.evidence[:1]), sep=": ")


asyncio.run(main())
