"""The language of each object that is written: as given, as detected, or the default."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread
import msgspec

from brain_async.errors import BackendError, BrainError
from brain_async.languages import SIMPLE, known_language
from brain_async.ops.deps import Deps
from brain_async.ops.isolation import Draft
from brain_async.stages.deadline import within
from brain_async.text import index_text

__all__ = ["choose_languages"]

DETECTED_CHARS = 2_000
"""What a detector gets to see of a text: more tells it nothing new."""


async def choose_languages(deps: Deps, drafts: Sequence[Draft]) -> None:
    """Give each draft that names no language its own, or its error: where the detector fails, it fails closed.

    What is detected but not known to the analysis is ``simple``; a text that is blank or cannot be told has the default.
    The detector has ``embed_batch_timeout`` seconds for all.
    """
    undecided = [draft for draft in drafts if draft.error is None and not draft.object.language]
    texts = [index_text(draft.object)[:DETECTED_CHARS] for draft in undecided]
    detected: Sequence[str | BrainError | None] = [None] * len(texts)
    if deps.language_detector is not None and any(texts):
        try:
            detecting = anyio.to_thread.run_sync(_detect, deps, texts, abandon_on_cancel=True)
            detected = await within(deps.config.embed_batch_timeout, "the language detector", detecting)
        except BrainError as error:
            detected = [error] * len(texts)
    for draft, found in zip(undecided, detected, strict=True):
        if isinstance(found, BrainError):
            draft.error = found
        else:
            language = found or deps.config.default_language
            draft.object = msgspec.structs.replace(draft.object, language=language)


def _detect(deps: Deps, texts: Sequence[str]) -> list[str | BrainError | None]:
    return [_detect_one(deps, text) if text else None for text in texts]


def _detect_one(deps: Deps, text: str) -> str | BrainError | None:
    detector = deps.language_detector
    try:
        found = detector(text) if detector is not None else None
        return None if not found else known_language(found) or SIMPLE
    except Exception as error:
        failure = BackendError(f"the language detector failed: {type(error).__name__}: {error}")
        failure.__cause__ = error
        return failure
