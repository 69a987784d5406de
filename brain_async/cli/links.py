"""Finding the relative links of a document: what joins the files of one folder."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from brain_async.cli.documents import MediaType, storable
from brain_async.cli.markdown import markdown_links
from brain_async.cli.restructured import restructured_links

__all__ = ["find_links"]


def find_links(text: str, media_type: MediaType) -> list[tuple[str, str]]:
    """The relative links of ``text`` as (path as written, decoded, without anchor and query; label), in reading order.

    Each path comes once, with its first label, which is the path when there is no other. Addresses of other hosts,
    absolute paths and links within the document are left out. Plain text has none.
    """
    if media_type == "text/plain":
        return []
    links = markdown_links if media_type == "text/markdown" else restructured_links
    labels: dict[str, str] = {}
    for address, label in links(storable(text)):
        path = _relative_path(address)
        if path and not labels.get(path):
            labels[path] = label
    return [(path, label or path) for path, label in labels.items()]


def _relative_path(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    if parts.scheme or parts.netloc or parts.path.startswith("/"):
        return ""
    return storable(unquote(parts.path))
