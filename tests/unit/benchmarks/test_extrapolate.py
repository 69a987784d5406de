"""The fits of what a query costs by size, and that docs/scale.md says what they and the committed reports say."""

import extrapolate
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tables

SIZES = (10_000, 100_000, 1_000_000)


@given(base=st.floats(0.01, 10), exponent=st.floats(0, 1))
def test_a_power_law_is_found_again(base: float, exponent: float) -> None:
    power, _ = extrapolate.fits({size: base * size**exponent for size in SIZES})
    assert power.slope == pytest.approx(exponent, abs=1e-6)
    assert power.error < 1e-6
    assert power.at(10**9) == pytest.approx(base * 10 ** (9 * exponent), rel=1e-4)


@given(base=st.floats(1, 10), slope=st.floats(0, 5))
def test_a_logarithm_is_found_again(base: float, slope: float) -> None:
    _, log = extrapolate.fits(dict(zip(SIZES, (base, base + slope, base + 2 * slope), strict=True)))
    assert log.error < 1e-6
    assert log.at(10**9) == pytest.approx(base + 5 * slope)


def test_the_error_says_how_far_off_a_fit_is() -> None:
    power, log = extrapolate.fits(dict(zip(SIZES, (1.0, 4.0, 1.0), strict=True)))
    assert log.at(10_000) == pytest.approx(2.0)
    assert log.error == pytest.approx(((1 + 0.25 + 1) / 3) ** 0.5)
    assert power.error > 0.4


def test_an_estimate_is_between_the_laws_and_never_below_the_largest_size() -> None:
    falling = dict(zip(SIZES, (12.0, 4.0, 8.0), strict=True))
    low, high = extrapolate.estimate(falling, 10**9)
    assert low == 8.0
    assert high == pytest.approx(64.0)  # the last tenfold doubled it


def test_one_size_is_no_growth() -> None:
    with pytest.raises(ValueError, match="two sizes"):
        extrapolate.fits({10_000: 1.0})


def test_the_document_is_what_the_committed_reports_say() -> None:
    text = extrapolate.DOCUMENT.read_text(encoding="utf-8")
    reports = tables.load_reports(tables.REPORTS)
    assert "<!-- extrapolate -->" in text
    assert "<!-- table bench_processes" in text
    assert extrapolate.render(text, reports) == text
