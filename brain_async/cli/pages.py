"""A page of hits for people: rank, title, kind and score, the passage that answered, and how the channels fared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from brain_async.cli.report import best_ranks
from brain_async.cli.text import Highlighter, one_line, packed_lines
from brain_async.model.object import Object
from brain_async.model.results import HitExplanation, LinkHit, RichObject, SearchPage

__all__ = ["explain_tables", "hit_rows", "link_rows", "page_footer"]

_INDENT = 4
_KIND_CHARS = 10
_SCORE_CHARS = 6
_CHANNEL_CHARS = 12
_EXCERPT_LINES = 2


def hit_rows(
    page: SearchPage, highlighter: Highlighter, *, width: int, first: int = 1, ids: bool = True
) -> RenderableType:
    """Each hit as a row, the excerpt below it, and in dim what led to it and, with ``ids``, its id."""
    if not page.objects:
        return Text("nothing found", style="yellow")
    scored = any(hit.score is not None for hit in page.objects)
    header = _columns(scored)
    header.add_row(*(Text(name, style="dim") for name in ("#", "title", "kind", *(["score"] if scored else []))))
    rows: list[RenderableType] = [header]
    for rank, hit in enumerate(page.objects, start=first):
        row = _columns(scored)
        title = Text(one_line(hit.title) or "(no title)", style="bold")
        score = [] if not scored else [Text("" if hit.score is None else f"{hit.score:.3f}", style="cyan")]
        row.add_row(Text(str(rank), style="dim"), title, Text(hit.kind, style="magenta"), *score)
        rows.append(row)
        lines = [*_excerpt(hit, highlighter, width - _INDENT), *_reasons(hit, width - _INDENT, ids=ids)]
        rows += [Padding(line, (0, 0, 0, _INDENT)) for line in lines]
    return Group(*rows)


def _columns(scored: bool) -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=_INDENT - 2, justify="right")
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_column(width=_KIND_CHARS, no_wrap=True, overflow="ellipsis")
    if scored:
        table.add_column(width=_SCORE_CHARS, justify="right")
    return table


def _excerpt(hit: RichObject, highlighter: Highlighter, width: int) -> Iterator[Text]:
    evidence = hit.evidence[0] if hit.evidence else None
    text = evidence.snippet if evidence is not None else hit.summary
    # Words do not fill their lines: a tenth less than would fit keeps to the lines meant.
    chars = int(width * _EXCERPT_LINES * 0.9)
    heading = _heading(evidence.title, hit.title, width // 2) if evidence is not None else ""
    if text.strip() or heading:
        shown = Text()
        if heading:
            shown.append(f"{heading}: ", style="green")
        yield shown + highlighter.excerpt(text, max(40, chars - len(shown)))


def _reasons(hit: RichObject, width: int, *, ids: bool) -> Iterator[Text]:
    """The relation that led to the hit or its rank in each channel, and its id, on one line where both fit."""
    reason = ""
    if hit.relation is not None:
        arrow = {"out": "→", "in": "←"}.get(hit.relation.direction, "")
        reason = f"hop {hit.relation.depth} · {arrow} {hit.relation.type}"
        if hit.relation.meta.note:
            reason += f" · {one_line(hit.relation.meta.note.partition(chr(10))[0])}"
    elif ranks := best_ranks(hit):
        places = [f"{name} {rank}" for name, rank in sorted(ranks.items(), key=lambda item: item[1])]
        reason = f"rank in {' · '.join(places)}"
    lines = [text for text in (reason, str(hit.id) if ids else "") if text]
    if len(lines) == 2 and len(reason) + len(lines[1]) + 3 <= width:
        lines = [" · ".join(lines)]
    yield from (Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in lines)


def _heading(path: str, title: str, chars: int) -> str:
    """The path of headings without the title of the whole, and from the left without what does not fit."""
    steps = one_line(path).split(" > ")
    if steps[0].casefold() == one_line(title).casefold():
        steps = steps[1:]
    shown = _shortened(steps[-1], chars) if steps else ""
    for step in reversed(steps[:-1]):
        if len(step) + 3 + len(shown) > chars:
            break
        shown = f"{step} > {shown}"
    return shown


def _shortened(title: str, chars: int) -> str:
    """``title`` in at most ``chars`` characters: cut between words, and then with an ellipsis."""
    if len(title) <= chars:
        return title
    cut = title[: chars - 1]
    return f"{(cut.rpartition(' ')[0] or cut).rstrip(' ,.;:-')}…"


def link_rows(links: Sequence[LinkHit], highlighter: Highlighter) -> RenderableType:
    """Each link as source, relation and target, with its note below."""
    if not links:
        return Text("nothing found", style="yellow")
    rows: list[RenderableType] = []
    for rank, hit in enumerate(links, start=1):
        row = _columns(scored=True)
        title = Text.assemble((one_line(hit.source.title), "bold"), " → ", (one_line(hit.target.title), "bold"))
        row.add_row(
            Text(str(rank), style="dim"),
            title,
            Text(hit.relation_type, style="magenta"),
            Text(f"{hit.score:.3f}", style="cyan"),
        )
        note = Text(one_line(hit.meta.note), no_wrap=True, overflow="ellipsis")
        highlighter.mark(note)
        rows += [row, Padding(note, (0, 0, 0, _INDENT))]
    return Group(*rows)


def page_footer(page: SearchPage, seconds: float, *, width: int) -> Text:
    """How many of how many, how long it took, how each channel fared, and what was lost; lines end between two of these."""
    pieces = [f"{len(page.objects)} of {page.total}", f"{seconds * 1000:.0f} ms"]
    pieces += [
        f"{outcome.channel} {outcome.hits} ({outcome.seconds * 1000:.0f} ms)"
        for outcome in page.outcomes
        if outcome.status in ("ok", "empty")
    ]
    if skipped := [outcome.channel for outcome in page.outcomes if outcome.status == "skipped"]:
        pieces.append(f"not asked: {', '.join(skipped)}")
    footer = Text("\n".join(packed_lines(pieces, " · ", width)), style="dim")
    if page.respelled:
        changes = ", ".join(f"{one_line(put)} for {one_line(typed)}" for typed, put in page.respelled)
        footer.append(f"\nsearched {changes}", style="yellow")
    for outcome in page.outcomes:
        if outcome.status in ("error", "timeout"):
            footer.append(f"\nlost: {outcome.channel} ({outcome.status}): {one_line(outcome.detail)}", style="red")
    return footer


def explain_tables(page: SearchPage, parts: Mapping[UUID, Object], *, width: int, first: int = 1) -> RenderableType:
    """Per hit its parts with their scores, and below each what every channel gave it: rank, raw score, share.

    ``parts`` are the objects explained, by id.
    """
    rows: list[RenderableType] = []
    for number, hit in enumerate(page.objects, start=first):
        rows.append(Text(f"{number}  {one_line(hit.title)}", style="bold", no_wrap=True, overflow="ellipsis"))
        for explanation in hit.explain:
            total = f"{explanation.score:.4f}"
            if explanation.boost:
                total += f" = ({explanation.fused:.4f} + {explanation.boost:.4f}) x decay {explanation.decay:.3f}"
            elif f"{explanation.decay:.3f}" != "1.000":
                total += f" = {explanation.fused:.4f} x decay {explanation.decay:.3f}"
            name = _part_name(hit, parts.get(explanation.id), width - len(total) - _INDENT - 2)
            part = Text.assemble((name, "green"), "  ", (total, "cyan"), no_wrap=True, overflow="ellipsis")
            rows += [Padding(part, (0, 0, 0, _INDENT)), Padding(_channels(explanation), (0, 0, 0, 2 * _INDENT))]
    return Group(*rows)


def _part_name(hit: RichObject, part: Object | None, chars: int) -> str:
    """What tells the parts of a hit apart: the number of a section, and its heading as far as it fits."""
    if part is None or part.key == hit.id:
        return "the object itself" if part is not None else "a part that is gone"
    name = "a part" if part.position is None else f"section {part.position + 1}"
    heading = _heading(part.title, hit.title, chars - len(name) - 2)
    return f"{name}: {heading}" if heading else name


def _channels(explanation: HitExplanation) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=_CHANNEL_CHARS)
    for found in explanation.channels:
        table.add_row(found.channel, f"rank {found.rank}", f"raw {found.score:.3f}", f"share {found.share:.4f}")
    return table
