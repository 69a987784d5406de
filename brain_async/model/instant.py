"""Instants: aware UTC datetimes, and the strict RFC 3339 text they are read from and written as."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

__all__ = ["format_instant", "read_instant", "to_utc"]

_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_INSTANT = re.compile(
    _DATE + r"(?:T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9])))?"
)


def to_utc(moment: datetime) -> datetime:
    """``moment`` in UTC. Raises ValueError when it is naive, or outside the years 1 to 9999 once converted."""
    if moment.tzinfo is UTC:
        return moment
    if moment.utcoffset() is None:
        raise ValueError("it has no time zone: give an aware datetime")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("it is outside the years 1 to 9999 in UTC") from None


def read_instant(text: str) -> datetime:
    """The UTC instant of RFC 3339 text with an offset, or of a date (YYYY-MM-DD, midnight UTC).

    Stricter than ``datetime.fromisoformat``: no missing offset, no blank separator, no compact, unpadded or lower-case
    form, no leap second. Fractions longer than six digits are truncated to microseconds. Raises ValueError.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError("it is neither RFC 3339 with an offset nor YYYY-MM-DD")
    year, month, day, hour, minute, second, fraction, sign, offset_hours, offset_minutes = match.groups(default="0")
    offset = timedelta(hours=int(offset_hours), minutes=int(offset_minutes))
    zone = timezone(-offset if sign == "-" else offset)
    microsecond = int(fraction[:6].ljust(6, "0"))
    moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), microsecond, zone)
    return to_utc(moment)


def format_instant(moment: datetime) -> str:
    """``moment`` as RFC 3339 text in UTC; a fraction of six digits only when there is one. Raises ValueError as ``to_utc``."""
    return to_utc(moment).isoformat().removesuffix("+00:00") + "Z"
