"""The commands of `brain ledger` and their options. What they do is imported when they run, so that the help is quick."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO
from uuid import UUID

import typer

from brain_async.cli.home import default_home
from brain_async.cli.options import Home, Json
from brain_async.cli.running import failed, folder, run
from brain_async.errors import InvalidInputError, LedgerCorruptError

__all__ = ["ledger"]

ledger = typer.Typer(
    name="ledger",
    no_args_is_help=True,
    help="The edge ledger: its roots, whether it is whole, proofs, and its journal.",
)

_STDIO = Path("-")
_Source = Annotated[UUID, typer.Argument(metavar="SRC", help="Where the edge starts.")]
_Target = Annotated[UUID, typer.Argument(metavar="DST", help="Where it ends.")]
_Type = Annotated[str, typer.Argument(metavar="TYPE", help="Its type, like references.")]
_After = Annotated[int, typer.Option(min=0, help="Start behind this entry.")]


@ledger.command()
def root(home: Home = None, as_json: Json = False) -> None:
    """Print the roots that commit to every edge and to the journal."""
    from brain_async.cli.ledger import head_report, read_head

    _show("ledger root", head_report(run(read_head(folder(home, default_home())))), as_json=as_json)


@ledger.command()
def verify(home: Home = None, as_json: Json = False) -> None:
    """Compute everything again from the records, and name the first difference."""
    from brain_async.cli.ledger import verified_report
    from brain_async.cli.ledger import verify as work

    async def verified() -> dict[str, Any]:
        try:
            return verified_report(await work(folder(home, default_home())))
        except LedgerCorruptError as error:
            return verified_report(error)

    report = run(verified())
    _show("ledger verify", report, as_json=as_json)
    if not report["ok"]:
        raise typer.Exit(1)


@ledger.command()
def prove(src: _Source, type: _Type, dst: _Target, home: Home = None, as_json: Json = False) -> None:
    """Prove that an edge is in the ledger with its record, or that it never was, and check the proof."""
    from brain_async.cli.ledger import proof_report
    from brain_async.cli.ledger import prove as work

    report = proof_report(*run(work(folder(home, default_home()), src, type, dst)))
    _show("ledger prove", report, as_json=as_json)
    if not report["holds"]:
        raise typer.Exit(1)


@ledger.command()
def log(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Entries at most.")] = 20,
    after: _After = 0,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="The newest first; --after then starts before that entry.")
    ] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """List the entries of the journal."""
    from brain_async.cli.ledger import entry_report, read_log

    head, entries, labels = run(read_log(folder(home, default_home()), after=after, reverse=reverse, limit=limit))
    reports = [entry_report(entry, labels) for entry in entries]
    if as_json:
        _write_json("ledger log", {"length": head.seq, "entries": reports})
        return
    for report in reports:
        sys.stdout.write(_entry_line(report))
    sys.stdout.write(f"{len(reports)} of {head.seq} entries\n")


@ledger.command(name="export")
def export_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to, - for stdout.", show_default=False)] = _STDIO,
    after: _After = 0,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Write the journal as a stream, from which `brain ledger import` makes the same ledger."""
    from brain_async.cli.ledger import export_to, head_report

    place = folder(home, default_home())
    if file == _STDIO:
        if as_json:
            raise typer.BadParameter("the report needs stdout: give a FILE", param_hint="--json")
        if sys.stdout.isatty():
            raise typer.BadParameter("the journal is no text: give a FILE, or redirect stdout", param_hint="FILE")
        run(export_to(place, sys.stdout.buffer, after=after))
        return
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        with _opened(partial, "wb") as opened:
            head, written = run(export_to(place, opened, after=after))
        partial.replace(file)
    except OSError as error:
        raise failed(InvalidInputError(f"{file} cannot be written: {error.strerror}", field="file")) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    _show("ledger export", {"file": str(file), "bytes": written, **head_report(head)}, as_json=as_json)


@ledger.command(name="import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An export, - for stdin.", show_default=False)] = _STDIO,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Replay an export into the ledger of a home, which it makes if need be; again, to go on where it was stopped."""
    from brain_async.cli.ledger import head_report, import_from

    place = folder(home, default_home())
    if file == _STDIO:
        before, head = run(import_from(place, sys.stdin.buffer))
    else:
        with _opened(file, "rb") as opened:
            before, head = run(import_from(place, opened))
    _show("ledger import", {"imported": head.seq - before.seq, **head_report(head)}, as_json=as_json)


def _opened(file: Path, mode: str) -> BinaryIO:
    try:
        opened: Any = file.open(mode)
    except (OSError, ValueError) as error:
        raise failed(InvalidInputError(f"{file} cannot be opened: {error}", field="file")) from None
    result: BinaryIO = opened
    return result


def _write_json(command: str, report: dict[str, Any]) -> None:
    from brain_async.cli.report import write_json

    write_json({"command": command, **report, "checks": report.get("checks", [])})


def _show(command: str, report: dict[str, Any], *, as_json: bool) -> None:
    """The report as JSON, or each of its plain values on a line of its own."""
    if as_json:
        _write_json(command, report)
        return
    from brain_async.cli.text import harmless

    shown = {name: value for name, value in report.items() if name not in ("checks", "edge")}
    width = max(map(len, shown))
    for name, value in shown.items():
        said = {True: "yes", False: "no", None: "-"}[value] if isinstance(value, bool | None) else harmless(str(value))
        sys.stdout.write(f"{name.replace('_', ' '):<{width}}  {said}\n")


def _entry_line(report: dict[str, Any]) -> str:
    from brain_async.cli.text import one_line

    edge = report.get("edge")
    what = (
        f"{report['label']} = 0x{report['code']:02x}" if edge is None else f"{edge['src']} {edge['type']} {edge['dst']}"
    )
    if edge is not None and (note := edge["tombstoned_reason"] or (edge["meta"].note if "meta" in edge else "")):
        what += f"  {note}"
    return f"{report['seq']:>6}  {report['at']:%Y-%m-%d %H:%M:%S}  {report['operation']:<6}  {one_line(what)}\n"
