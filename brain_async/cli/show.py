"""What the commands print for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from brain_async.cli.demo import Demo, demo_checks
from brain_async.cli.demo_queries import Answer
from brain_async.cli.doctor import Diagnosis
from brain_async.cli.files import MEDIA_TYPES
from brain_async.cli.hints import command_line
from brain_async.cli.ingest import Ingest
from brain_async.cli.pages import explain_tables, hit_rows, link_rows, page_footer
from brain_async.cli.paths import path_text
from brain_async.cli.sync import Problem
from brain_async.cli.text import Highlighter, harmless, one_line, packed_lines
from brain_async.model.drift import ReconcileReport
from brain_async.model.object import Object
from brain_async.model.results import LinkHit, RichObject, SearchPage

__all__ = ["show_demo", "show_diagnosis", "show_ingest", "show_links", "show_object", "show_page", "show_reconcile"]

_WIDEST = 110
_FACT_CHARS = 11


def _console() -> Console:
    console = Console(highlight=False)
    # Lines much longer than these are hard to read, however wide the terminal is.
    console.width = min(console.width, _WIDEST)
    return console


def show_page(
    page: SearchPage,
    *,
    query: str,
    seconds: float,
    explained: Mapping[UUID, Object] | None = None,
    first: int = 1,
    after: str = "",
) -> None:
    """One page of any verb; its first hit has rank ``first``.

    ``explained`` are the objects whose scores are to be explained, by id; ``after`` is said at the end.
    """
    console = _console()
    if page.objects or first == 1:
        console.print(hit_rows(page, Highlighter(query, fuzzy=True), width=console.width, first=first))
    if explained is not None:
        console.print(explain_tables(page, explained, width=console.width, first=first))
    console.print(page_footer(page, seconds, width=console.width))
    if after:
        # One line however long it is, to be copied.
        console.print(Text(after, style="dim"), soft_wrap=True)


def show_links(links: Sequence[LinkHit], *, query: str, seconds: float) -> None:
    """What find_links found."""
    console = _console()
    console.print(link_rows(links, Highlighter(query)))
    console.print(Text(f"{len(links)} links · {_milliseconds(seconds)}", style="dim"))


def show_object(found: RichObject, parts: Sequence[RichObject]) -> None:
    """One object whole, then its parts."""
    console = _console()
    console.print(Text(one_line(found.title) or "(no title)", style="bold"))
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    rows = {"id": str(found.id), "kind": found.kind}
    if found.parent_id is not None:
        rows["part of"] = str(found.parent_id)
    rows |= {key: one_line(str(value)) for key, value in found.properties.items()}
    if found.updated_at is not None:
        rows["updated"] = found.updated_at.isoformat(sep=" ", timespec="seconds")
    for key, value in rows.items():
        facts.add_row(key, Text(value))
    console.print(facts)
    if found.content:
        content = harmless(found.content)
        is_markdown = found.content_type == "text/markdown"
        console.print(Rule(style="dim"), Markdown(content, hyperlinks=False) if is_markdown else Text(content))
    elif found.summary:
        console.print(Rule(style="dim"), Text(harmless(found.summary)))
    if parts:
        console.print(Rule("its parts", style="dim"))
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis")
        for part in parts:
            table.add_row(str(part.id), Text(one_line(part.title)))
        console.print(table)


def show_ingest(done: Ingest) -> None:
    """What an ingest did."""
    console = _console()
    counts = [
        f"{number} {word}"
        for word, number in (
            ("added", done.added),
            ("changed", done.changed),
            ("unchanged", done.unchanged),
            ("deleted", done.deleted),
        )
        if number or word == "unchanged"
    ]
    console.print(Text.assemble("documents: ", (", ".join(counts), "bold")))
    pieces = [
        f"{done.written} objects written, {done.removed} removed",
        f"{done.linked} links written, {done.unlinked} removed",
        f"{done.seconds:.1f} s",
    ]
    console.print(Text("\n".join(packed_lines(pieces, " · ", console.width)), style="dim"))
    console.print(Text(f"in {done.home}", style="dim"), soft_wrap=True)
    for folder in done.empty:
        nothing = f"nothing to ingest in {path_text(folder)}: no {', '.join(MEDIA_TYPES)} file"
        console.print(Text(harmless(nothing), style="yellow"), soft_wrap=True)
    _show_list(console, "skipped", [(path_text(file.path), file.reason) for file in done.skipped])
    _show_list(console, "gone from disk, still stored (use --prune)", [(path, "") for path in done.missing])
    _show_list(
        console,
        "kept, since the path given is gone itself (to delete them: --prune with the folder above)",
        [(path, "") for path in done.kept],
    )
    _show_problems(console, done.problems)


def show_demo(demo: Demo) -> None:
    """The counts, then each query with its answer."""
    console = _console()
    counts = demo.counts
    console.print(
        Text.assemble(
            (f"{counts['packages']} packages", "bold"),
            f", {counts['sections']} sections, {counts['authors']} authors, {counts['edges']} links",
            (" (as the last run left them)" if demo.reused else "", "dim"),
        )
    )
    phases = [f"{phase} {seconds:.2f} s" for phase, seconds in demo.seconds.items() if phase != "total"]
    pieces = [*phases, f"lexical backend: {demo.lexical_backend}"]
    console.print(Text("\n".join(packed_lines(pieces, " · ", console.width)), style="dim"))
    _show_problems(console, demo.problems)
    for number, answer in enumerate(demo.answers, start=1):
        console.print()
        _show_answer(console, number, answer)
    console.print()
    for check in demo_checks(demo):
        mark, style = ("✓", "green") if check.holds else ("✗", "red")
        console.print(Text.assemble((f"{mark} ", style), f"{check.name} {check.value} ", (f"({check.aim})", "dim")))
    hint = command_line("search", "run blocking code in a thread", home=demo.home)
    console.print(Text(f"try: {hint}", style="dim"), soft_wrap=True)


def _show_answer(console: Console, number: int, answer: Answer) -> None:
    console.print(Rule(Text.assemble((f"{number}  {answer.verb}", "bold cyan"), f"  {answer.name}"), align="left"))
    filters = "  ".join(
        f"{key}={', '.join(value) if isinstance(value, list) else value}" for key, value in answer.filters.items()
    )
    console.print(Text.assemble(("“" + answer.query + "”", "italic"), (f"  {filters}" if filters else "", "dim")))
    highlighter = Highlighter(answer.query, fuzzy=answer.verb == "find_exact")
    if answer.links:
        console.print(link_rows(answer.links, highlighter))
        console.print(Text(f"{len(answer.links)} links · {_milliseconds(answer.seconds)}", style="dim"))
        return
    console.print(hit_rows(answer.page, highlighter, width=console.width, first=answer.first, ids=False))
    console.print(page_footer(answer.page, answer.seconds, width=console.width))


def show_reconcile(done: ReconcileReport) -> None:
    """What reconcile did."""
    console = _console()
    before = f"{done.before.pending} pending" + (f", {done.before.differences} differences" if done.full else "")
    console.print(Text(f"before: {before}"))
    console.print(Text(f"the graph was told of {done.nodes} nodes and {done.edges} edges in {done.seconds:.2f} s"))
    for failure in done.failures:
        console.print(Text.assemble(("✗ ", "red"), harmless(f"{failure.object_id or failure.edge}: {failure.message}")))
    if done.ok and done.after.is_zero:
        told = "equals store and links" if done.after.compared else "has been told everything"
        console.print(Text.assemble(("✓ ", "green"), f"the graph {told}"))
    else:
        left = f"{done.after.pending} pending, {done.after.differences} differences left"
        console.print(Text.assemble(("✗ ", "red"), f"{left}: run it again once the graph works"))


def show_diagnosis(found: Diagnosis) -> None:
    """What doctor found."""
    console = _console()
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True, width=_FACT_CHARS)
    table.add_column(overflow="fold")
    for name, value in _facts(found, console.width - _FACT_CHARS - 2):
        table.add_row(name, value)
    console.print(table)
    console.print()
    for problem in found.problems:
        console.print(Text.assemble(("✗ ", "red"), harmless(problem)), soft_wrap=True)
    if not found.is_healthy:
        return
    if found.exists:
        console.print(Text.assemble(("✓ ", "green"), "all is well"))
    else:
        console.print(
            Text.assemble(
                ("✓ ", "green"), f"what is installed is well; there is no knowledge base in {found.home} yet"
            ),
            soft_wrap=True,
        )


def _facts(found: Diagnosis, width: int) -> list[tuple[str, RenderableType]]:
    def versions(pieces: Iterable[str]) -> Text:
        text = Text("\n".join(packed_lines(pieces, "  ", width)) or "none")
        text.highlight_words(["missing"], "red")
        return text

    def packages(extra: str) -> Text:
        return versions(f"{each.name} {each.version or 'missing'}" for each in found.packages if each.extra == extra)

    facts: list[tuple[str, RenderableType]] = [
        ("python", f"{found.python}, {found.platform}"),
        ("installed", packages("")),
        ("extra local", packages("local")),
        ("extra cli", packages("cli")),
        (
            "embedder",
            f"{found.embedder}, {found.dimension} dimensions" if found.embedder else Text("none", style="red"),
        ),
        ("home", f"{found.home}" + ("" if found.exists else " (nothing there yet: `brain demo` or `brain ingest`)")),
    ]
    store = found.store
    if store is None:
        return facts
    # Only pg_textsearch can be there without being used: below 1.3.1 it loses rows, and `auto` leaves it alone.
    unused = [
        f"{name} {number} (loses rows below 1.3.1)" if name == "pg_textsearch" else f"{name} {number}"
        for name, number in store.available.items()
        if name not in store.extensions
    ]
    guard = "a cache that is rebuilt after crashes" if store.lexical_guarded else "kept by the database"
    indexes = Table.grid(padding=(0, 2))
    for name, index in store.indexes.items():
        indexes.add_row(name, f"{index.bytes / 1024:,.0f} KiB", Text("ok" if index.valid else "invalid"))
    return [
        *facts,
        ("postgres", f"{store.server_version}, opened in {found.open_seconds:.2f} s, schema {store.migration}"),
        ("extensions", versions(f"{name} {number}" for name, number in store.extensions.items())),
        ("unused", versions(unused)),
        ("lexical", f"{store.lexical_backend}, {store.lexical_state}: {guard}"),
        ("stored", f"{store.parents} parents, {store.parts} parts, {found.edges} edges, {store.kinds} kinds"),
        ("ledger", f"{found.ledger_head} entries, root {found.ledger_root[:16]}" + _writer(found)),
        ("graph", f"{found.graph_nodes} nodes, {found.graph_edges} edges" + _drift(found)),
        ("indexes", indexes),
    ]


def _writer(found: Diagnosis) -> str:
    return "" if found.writer is None else f", written by process {found.writer}"


def _drift(found: Diagnosis) -> str:
    drift = found.drift
    if drift is None or drift.is_zero:
        return ", in step"
    return f", {drift.pending} writes pending, {drift.differences} differences"


def _show_list(console: Console, title: str, rows: Sequence[tuple[str, str]]) -> None:
    if not rows:
        return
    console.print(Text(f"{title}:", style="yellow"), soft_wrap=True)
    for name, reason in rows:
        console.print(Text(harmless(f"  {name}: {reason}" if reason else f"  {name}")), soft_wrap=True)


def _show_problems(console: Console, problems: Sequence[Problem]) -> None:
    if problems:
        rows = [Text.assemble(("✗ ", "red"), one_line(each.title), f": {harmless(each.message)}") for each in problems]
        console.print(Group(*rows))


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
