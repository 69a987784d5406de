from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain_async.model.instant import format_instant, read_instant, to_utc


@given(st.datetimes(timezones=st.just(UTC)))
def test_round_trip(moment: datetime) -> None:
    assert read_instant(format_instant(moment)) == moment


@given(st.text(alphabet="0123456789-:.TZ+ ", max_size=35))
def test_reading_raises_only_value_errors(text: str) -> None:
    try:
        moment = read_instant(text)
    except ValueError:
        return
    assert moment.tzinfo is UTC


def test_a_fraction_is_written_only_when_there_is_one() -> None:
    assert format_instant(datetime(2026, 8, 9, 2, tzinfo=timezone(timedelta(hours=2)))) == "2026-08-09T00:00:00Z"
    assert format_instant(datetime(2026, 8, 9, 0, 0, 0, 7, UTC)) == "2026-08-09T00:00:00.000007Z"


def test_naive_and_out_of_range_datetimes_are_refused() -> None:
    for moment in (datetime(2026, 8, 9), datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))):
        with pytest.raises(ValueError):
            to_utc(moment)
