"""How long a server asks us to wait. The rest is tested over HTTP with the embedder and the reranker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from brain_async.http_json import retry_after


def test_retry_after_as_seconds_or_date() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=20)
    assert 18 < retry_after(format_datetime(soon, usegmt=True)) <= 20
    assert retry_after(format_datetime(soon - timedelta(minutes=1), usegmt=True)) == 0
    assert retry_after("2.5") == 2.5
    assert [retry_after(value) for value in ("", "soon", "-3", "nan")] == [0, 0, 0, 0]
