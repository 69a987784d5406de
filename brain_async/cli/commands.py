"""The commands and their options. What they do is imported when they run, so that the help is quick."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from brain_async.cli.eval_command import eval_
from brain_async.cli.hints import command_line
from brain_async.cli.home import FILES_NAMESPACE, default_home, demo_home
from brain_async.cli.ledger_commands import ledger
from brain_async.cli.mcp_command import mcp
from brain_async.cli.options import (
    AsTyped,
    DemoHome,
    Explain,
    FilterItems,
    Home,
    Hops,
    Json,
    Kinds,
    Limit,
    Namespace,
    ScopeIds,
)
from brain_async.cli.running import failed as _failed
from brain_async.cli.running import folder as _folder
from brain_async.cli.running import run as _run
from brain_async.cli.serve_command import serve
from brain_async.errors import BrainError

if TYPE_CHECKING:
    from brain_async.model.object import Object
    from brain_async.model.requests import SearchRequest
    from brain_async.model.results import SearchPage

__all__ = ["app"]

app = typer.Typer(
    name="brain",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_ASKING, _FILLING = "Ask", "Fill"
_GO_ON = "stopped: run it again to go on\n"


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"brain_async {version('brain-async')}\n")
        raise typer.Exit


@app.callback()
def brain(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A knowledge base on your own machine: fill it, search it, walk it."""


@app.command(rich_help_panel=_FILLING)
def demo(
    home: DemoHome = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Read and write everything again.")] = False,
    as_json: Json = False,
) -> None:
    """Make a knowledge base of the installed Python packages, and query it."""
    from brain_async.cli.demo import demo_checks, demo_report, run_demo
    from brain_async.cli.progress import show_phases

    with show_phases() as phases:
        done = _run(run_demo(_folder(home, demo_home()), phases, fresh=fresh), stopped=_GO_ON)
    if as_json:
        _write(demo_report(done))
    else:
        from brain_async.cli.show import show_demo

        show_demo(done)
    if not demo_checks(done)[0].holds:
        raise typer.Exit(1)


@app.command(rich_help_panel=_FILLING)
def ingest(
    # One that cannot be read is reported, and stops no other.
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files, and folders of files.", readable=False)
    ],
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete the documents below these folders whose file is gone.")
    ] = False,
    language: Annotated[
        str, typer.Option("--language", help="The language of their text, by name or code: german, de.")
    ] = "english",
    home: Home = None,
    namespace: Annotated[
        UUID, typer.Option(envvar="BRAIN_NAMESPACE", help="Where the documents go.", show_default=False)
    ] = FILES_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Add Markdown, reStructuredText and text files (.md .markdown .rst .txt); again, to write only what changed."""
    from brain_async.cli.ingest import ingest_report, run_ingest
    from brain_async.cli.progress import show_phases

    with show_phases() as phases:
        running = run_ingest(_folder(home, default_home()), namespace, paths, phases, prune=prune, language=language)
        done = _run(running, stopped=_GO_ON)
    if as_json:
        _write(ingest_report(done))
    else:
        from brain_async.cli.show import show_ingest

        show_ingest(done)
    if not done.is_complete:
        raise typer.Exit(1)


@app.command(rich_help_panel=_ASKING)
def search(
    query: Annotated[str, typer.Argument(help="An open question.")],
    kind: Kinds = None,
    filter_: FilterItems = None,
    limit: Limit = 0,
    scope_id: ScopeIds = None,
    explain: Explain = False,
    as_typed: AsTyped = False,
    home: Home = None,
    namespace: Namespace = None,
    as_json: Json = False,
) -> None:
    """Find what answers a question, with the passages that do."""
    from brain_async.cli import query as asking

    request = _search_request(
        query, kind, filter_, limit, scope_id, explain=explain or not as_json, respell=False if as_typed else None
    )
    folder = _folder(home, default_home())
    (page, parts), seconds = _run(asking.search(folder, namespace, request))
    shown = " ".join([query, *(put for _, put in page.respelled)])
    _show_page(
        "search", folder, page, seconds, limit, query=shown, as_json=as_json, explained=parts if explain else None
    )


@app.command(rich_help_panel=_ASKING)
def exact(
    query: Annotated[str, typer.Argument(help="An id, a title, a path-like phrase; typos are forgiven.")],
    kind: Kinds = None,
    filter_: FilterItems = None,
    limit: Limit = 0,
    scope_id: ScopeIds = None,
    explain: Explain = False,
    home: Home = None,
    namespace: Namespace = None,
    as_json: Json = False,
) -> None:
    """Find something by its id, title or name."""
    from brain_async.cli import query as asking

    request = _search_request(query, kind, filter_, limit, scope_id, explain=explain or not as_json)
    folder = _folder(home, default_home())
    (page, parts), seconds = _run(asking.exact(folder, namespace, request))
    _show_page(
        "exact", folder, page, seconds, limit, query=query, as_json=as_json, explained=parts if explain else None
    )


@app.command(rich_help_panel=_ASKING)
def objects(
    query: Annotated[str, typer.Argument(help="What they are about.")],
    kind: Kinds = None,
    filter_: FilterItems = None,
    limit: Limit = 0,
    home: Home = None,
    namespace: Namespace = None,
    as_json: Json = False,
) -> None:
    """Find whole objects of given kinds rather than passages."""
    from brain_async.cli import query as asking

    filters = _checked(asking.parse_filters, filter_ or (), kind or ())
    folder = _folder(home, default_home())
    page, seconds = _run(asking.objects(folder, namespace, query, filters=filters, limit=limit))
    _show_page("objects", folder, page, seconds, limit, query=query, as_json=as_json)


@app.command(rich_help_panel=_ASKING)
def expand(
    object_id: Annotated[UUID, typer.Argument(metavar="ID", help="Where to start.")],
    relation: Annotated[
        list[str] | None, typer.Option("--relation", "-r", help="Walk this relation; repeatable.", show_default=False)
    ] = None,
    hops: Hops = 1,
    direction: Annotated[str, typer.Option(help="out, in or both.")] = "both",
    contains: Annotated[bool, typer.Option("--contains", help="Its parts too.")] = False,
    limit: Limit = 0,
    home: Home = None,
    namespace: Namespace = None,
    as_json: Json = False,
) -> None:
    """Walk from an object to its parts (without --relation) and its neighbours."""
    from brain_async.cli import query as asking

    if direction not in ("out", "in", "both"):
        raise typer.BadParameter("use out, in or both", param_hint="--direction")
    folder = _folder(home, default_home())
    page, seconds = _run(
        asking.expand(
            folder,
            namespace,
            object_id,
            relations=relation or (),
            containment=contains,
            hops=hops,
            direction=direction,
            limit=limit,
        )
    )
    _show_page("expand", folder, page, seconds, limit, as_json=as_json)


@app.command(rich_help_panel=_ASKING)
def read(
    object_id: Annotated[UUID, typer.Argument(metavar="ID", help="The object.")],
    home: Home = None,
    namespace: Namespace = None,
    as_json: Json = False,
) -> None:
    """Show one object whole, and the list of its parts."""
    from brain_async.cli import query as asking

    (found, parts), seconds = _run(asking.read(_folder(home, default_home()), namespace, object_id))
    if as_json:
        _write({"command": "read", "seconds": round(seconds, 4), "object": found, "parts": parts, "checks": []})
    else:
        from brain_async.cli.show import show_object

        show_object(found, parts)


@app.command(rich_help_panel=_ASKING)
def links(
    relation: Annotated[str, typer.Argument(help="The relation, like references or requires.")],
    query: Annotated[str, typer.Argument(help="Words of the note.")],
    limit: Limit = 0,
    home: Home = None,
    namespace: Namespace = None,
    as_json: Json = False,
) -> None:
    """Find links of one relation by the text of their notes."""
    from brain_async.cli import query as asking

    found, seconds = _run(asking.links(_folder(home, default_home()), namespace, relation, query, limit=limit))
    if as_json:
        from brain_async.cli.report import links_report

        _write(links_report("links", found, seconds=seconds))
    else:
        from brain_async.cli.show import show_links

        show_links(found, query=query, seconds=seconds)


@app.command(name="continue", rich_help_panel=_ASKING)
def continue_(limit: Limit = 0, home: Home = None, as_json: Json = False) -> None:
    """Show the next page of the newest result."""
    from brain_async.cli import query as asking

    folder = _folder(home, default_home())
    (page, first), seconds = _run(asking.continue_(folder, limit=limit))
    _show_page("continue", folder, page, seconds, limit, as_json=as_json, first=first)


app.command(rich_help_panel="Serve")(serve)
app.command(rich_help_panel="Serve")(mcp)
app.command(name="eval", rich_help_panel="Look after")(eval_)
app.add_typer(ledger, rich_help_panel="Look after")


@app.command(rich_help_panel="Look after")
def doctor(home: Home = None, as_json: Json = False) -> None:
    """Say what runs, in which versions, what is missing, and how to get it."""
    from brain_async.cli.doctor import diagnose, doctor_report

    diagnosis = _run(diagnose(_folder(home, default_home())))
    if as_json:
        _write(doctor_report(diagnosis))
    else:
        from brain_async.cli.show import show_diagnosis

        show_diagnosis(diagnosis)
    if not diagnosis.is_healthy:
        raise typer.Exit(1)


@app.command(rich_help_panel="Look after")
def reconcile(
    full: Annotated[bool, typer.Option("--full", help="Compare everything, and repair what differs.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Tell the graph what it still has to be told of objects and links."""
    from brain_async.cli.progress import show_phases
    from brain_async.cli.reconcile import reconcile_report, run_reconcile

    with show_phases() as phases:
        done = _run(run_reconcile(_folder(home, default_home()), phases, full=full))
    if as_json:
        _write(reconcile_report(done))
    else:
        from brain_async.cli.show import show_reconcile

        show_reconcile(done)
    if not (done.ok and done.after.is_zero):
        raise typer.Exit(1)


def _search_request(
    query: str,
    kinds: list[str] | None,
    filters: list[str] | None,
    limit: int,
    scope_ids: list[UUID] | None,
    *,
    explain: bool,
    respell: bool | None = None,
) -> SearchRequest:
    from brain_async.cli.query import parse_filters
    from brain_async.model.requests import SearchRequest

    return SearchRequest(
        query=query,
        filters=_checked(parse_filters, filters or (), kinds or ()),
        limit=limit,
        scope_ids=scope_ids or (),
        respell=respell,
        explain=explain,
    )


def _checked(parse: Any, *arguments: Any) -> Any:
    try:
        return parse(*arguments)
    except BrainError as error:
        raise _failed(error) from None


def _write(report: dict[str, Any]) -> None:
    from brain_async.cli.report import write_json

    write_json(report)


def _show_page(
    command: str,
    home: Path,
    page: SearchPage,
    seconds: float,
    limit: int,
    *,
    query: str = "",
    as_json: bool,
    explained: Mapping[UUID, Object] | None = None,
    first: int = 1,
) -> None:
    if as_json:
        from brain_async.cli.report import page_report

        _write(page_report(command, page, seconds=seconds))
        return
    from brain_async.cli.show import show_page

    if page.has_more:
        after = f"more: {command_line('continue', *(['-n', str(limit)] if limit else []), home=home)}"
    else:
        after = "no more results" if command == "continue" else ""
    show_page(page, query=query, seconds=seconds, explained=explained, first=first, after=after)
