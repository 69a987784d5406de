"""`brain ledger`: what stands in a home's edge ledger, whether it is whole, proofs, and its journal as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from brain_async.cli.report import Check
from brain_async.cortex import (
    EdgeProof,
    EdgeRecord,
    Head,
    JournalEntry,
    Ledger,
    LedgerView,
    Verified,
    encode_proof,
    verify_proof,
)
from brain_async.cortex.cbor import from_micros
from brain_async.cortex.edge_data import decode_edge_data
from brain_async.cortex.transfer import export_journal
from brain_async.errors import InvalidInputError, LedgerCorruptError, NotFoundError

__all__ = [
    "entry_report",
    "export_to",
    "head_report",
    "import_from",
    "proof_report",
    "prove",
    "read_head",
    "read_log",
    "verified_report",
    "verify",
]

_CHUNK = 1 << 16


@asynccontextmanager
async def _open_ledger(home: Path, *, read_only: bool = True) -> AsyncIterator[Ledger]:
    """The ledger in ``home``. Raises NotFoundError when there is none to read, and as ``open_lmdb``."""
    # Imported here: showing the help needs no storage driver.
    from brain_async.adapters.lmdb import open_lmdb

    folder = home / "ledger"
    if read_only and not _is_file(folder / "data.mdb"):
        raise NotFoundError(f"there is no edge ledger in {home}: `brain ledger import FILE` makes one of an export")
    async with open_lmdb(folder, read_only=read_only) as store:
        yield Ledger(store)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


@asynccontextmanager
async def _open_view(home: Path) -> AsyncIterator[LedgerView]:
    async with _open_ledger(home) as ledger, ledger.snapshot() as view:
        yield view


async def read_head(home: Path) -> Head:
    """Where the ledger stands."""
    async with _open_view(home) as view:
        return await view.head()


async def verify(home: Path) -> Verified:
    """Compute the ledger again. Raises LedgerCorruptError."""
    async with _open_ledger(home) as ledger:
        return await ledger.verify()


async def prove(home: Path, src: UUID, type: str, dst: UUID) -> tuple[bytes, EdgeProof, str]:
    """(root, proof of the edge under it, label of its type)."""
    async with _open_view(home) as view:
        proof = await view.prove(src, type, dst)
        return await view.root(), proof, await view.type_label(proof.type)


async def read_log(
    home: Path, *, after: int, reverse: bool, limit: int
) -> tuple[Head, list[JournalEntry], dict[int, str]]:
    """(head, at most ``limit`` entries, the labels of their types)."""
    async with _open_view(home) as view:
        entries: list[JournalEntry] = []
        async for entry in view.iter_journal(after=after, reverse=reverse):
            entries.append(entry)
            if len(entries) >= limit:
                break
        codes = {entry.record.type for entry in entries if entry.record is not None}
        return await view.head(), entries, {code: await view.type_label(code) for code in sorted(codes)}


async def export_to(home: Path, file: BinaryIO, *, after: int = 0) -> tuple[Head, int]:
    """Write the journal past ``after`` into ``file``: (where the ledger stands, bytes written)."""
    async with _open_view(home) as view:
        written = 0
        try:
            async for chunk in export_journal(view, after=after):
                written += file.write(chunk)
            file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise InvalidInputError(f"the export cannot be written: {error.strerror}", field="file") from error
        return await view.head(), written


async def import_from(home: Path, file: BinaryIO) -> tuple[Head, Head]:
    """Replay an exported journal into the ledger, made when it is missing: (where it stood, where it stands)."""
    async with _open_ledger(home, read_only=False) as ledger:
        before = await ledger.head()
        return before, await ledger.import_journal(_chunks(file))


def _chunks(file: BinaryIO) -> Iterable[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def head_report(head: Head) -> dict[str, Any]:
    """The numbers and roots of a ledger; hashes in hex."""
    return {
        "seq": head.seq,
        "at": from_micros(head.at) if head.seq else None,
        "edges": head.edges,
        "labels": head.labels,
        "root": head.root.hex(),
        "journal_root": head.journal_root.hex(),
        "overall_root": head.overall_root.hex(),
    }


def verified_report(found: Verified | LedgerCorruptError) -> dict[str, Any]:
    """What verifying found: the numbers and roots it computed, or the first difference."""
    if isinstance(found, LedgerCorruptError):
        return {
            "ok": False,
            "error": str(found),
            "where": found.where,
            "checks": [_check("verified", str(found), False)],
        }
    fields = {name: getattr(found, name) for name in found.__struct_fields__}
    hashed = {name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()}
    return {"ok": True, **hashed, "checks": [_check("verified", "no difference", True)]}


def proof_report(root: bytes, proof: EdgeProof, label: str) -> dict[str, Any]:
    """The proof in hex, what it says, and whether it holds under the root."""
    encoded = encode_proof(proof)
    holds = verify_proof(root, encoded)
    edge = proof.edge
    return {
        "src": UUID(bytes=proof.src),
        "type": label,
        "dst": UUID(bytes=proof.dst),
        "included": proof.included,
        "edge": None if edge is None else _edge_report(edge, label),
        "root": root.hex(),
        "proof": encoded.hex(),
        "bytes": len(encoded),
        "holds": holds,
        "checks": [_check("proof", "holds" if holds else "does not hold", holds)],
    }


def entry_report(entry: JournalEntry, labels: dict[int, str]) -> dict[str, Any]:
    """One entry; the edge as it was written, or the label that was registered."""
    report: dict[str, Any] = {"seq": entry.seq, "operation": entry.operation.name.lower(), "at": entry.at}
    if entry.record is None:
        return {**report, "label": entry.label, "code": entry.code}
    return {
        **report,
        "by": entry.by,
        "previous": entry.previous,
        "edge": _edge_report(entry.record, labels[entry.record.type]),
    }


def _edge_report(edge: EdgeRecord, label: str) -> dict[str, Any]:
    report: dict[str, Any] = {
        "src": edge.src_id,
        "type": label,
        "dst": edge.dst_id,
        "created_at": edge.created_at,
        "created_by": edge.created_by,
        "weight": edge.weight,
        "data": edge.data.hex(),
        "tombstoned": edge.tombstoned,
        "tombstoned_at": edge.tombstoned_at,
        "tombstoned_reason": edge.tombstoned_reason,
        "tombstoned_by": edge.tombstoned_by,
    }
    try:
        meta, namespace_id = decode_edge_data(edge.data)
    except LedgerCorruptError:  # the data of another host, which is none of ours
        return report
    return {**report, "namespace_id": namespace_id, "meta": meta}


def _check(name: str, value: str, holds: bool) -> Check:
    return Check(name, value, "no difference" if name == "verified" else "holds", holds)
