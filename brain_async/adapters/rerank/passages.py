"""What a cross-encoder is given of a hit, and the order that its scores make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from brain_async.model.object import Object
from brain_async.model.results import RichObject

__all__ = ["NO_PASSAGES", "by_score", "passage_text"]

NO_PASSAGES: Mapping[UUID, Object] = {}


def passage_text(obj: RichObject, passages: Mapping[UUID, Object], chars: int) -> str:
    """Title and summary of ``obj``, then its evidence, best first, a line each, cut to ``chars`` characters.

    Of each part that ``passages`` holds the title and the content, of the others the snippet; of an object without evidence
    its own content. Its kind where it has no text at all, since servers refuse empty documents.
    """
    lines = [obj.title, obj.summary]
    for part in obj.evidence:
        passage = passages.get(part.part_id)
        lines += [part.title, part.snippet if passage is None else passage.content]
    if not obj.evidence and obj.id in passages:
        lines.append(passages[obj.id].content)
    return "\n".join(_distinct_lines(lines))[:chars] or obj.kind


def _distinct_lines(texts: Iterable[str]) -> Iterable[str]:
    # Parts often repeat their parent's title.
    return dict.fromkeys(text for each in texts if (text := each.strip()))


def by_score(objects: Sequence[RichObject], scores: Sequence[float]) -> list[RichObject]:
    """``objects`` by their scores, best first; equals keep the order they have."""
    order = sorted(range(len(objects)), key=lambda index: -scores[index])
    return [objects[index] for index in order]
