"""The tables of docs/benchmarks.md, and that they are what the committed reports say."""

import pytest

import tables

REPORT = {
    "benchmark": "bench_x",
    "parameters": {"documents": 20000, "labels": {"1%": 200}},
    "figures": {
        "search_c1": {"ours": {"p50_ms": 1.5, "rate": 12_345.6}, "theirs": {"p50_ms": 3.0}},
        "search_c16": {"ours": {"p50_ms": 4.5, "rate": 9.0}, "theirs": {"p50_ms": 6.0}},
        "versions": {"a": "1.0", "b": "2.0"},
    },
    "checks": [
        {"name": "p50_vs_theirs", "value": 0.5, "aim": "<= 1", "holds": True},
        {"name": "rate_vs_theirs", "value": 0.5, "aim": ">= 1", "holds": False},
    ],
    "machine": {"python": "3.11.7", "cores": 2, "load_average": [0.1, 0.2, 0.3]},
}


def rendered(words: str) -> list[str]:
    text = f"before\n\n<!-- {words} -->\nwhat was there\n<!-- end -->\n\nafter\n"
    lines = tables.render(text, {"bench_x": REPORT}).splitlines()
    assert lines[:3] == ["before", "", f"<!-- {words} -->"]
    assert lines[-4:] == ["", "<!-- end -->", "", "after"]
    return lines[4:-4]


def test_each_mapping_of_figures_is_a_row() -> None:
    assert rendered("table bench_x figures/search_c1 head=system") == [
        "| system | p50 ms | rate |",
        "| --- | ---: | ---: |",
        "| ours | 1.5 | 12,345.6 |",
        "| theirs | 3.0 |  |",
    ]


def test_a_pattern_puts_its_key_before_each_row() -> None:
    assert rendered("table bench_x figures/search_c* columns=p50_ms rows=ours")[2:] == [
        "| search_c1 | ours | 1.5 |",
        "| search_c16 | ours | 4.5 |",
    ]


def test_across_turns_the_first_key_into_columns() -> None:
    assert rendered("table bench_x figures/search_c* across head=system columns=p50_ms") == [
        "| system | search c1 | search c16 |",
        "| --- | ---: | ---: |",
        "| ours | 1.5 | 4.5 |",
        "| theirs | 3.0 | 6.0 |",
    ]
    assert rendered("table bench_x figures/search_c* across rows=ours")[0] == (
        "|  | search c1 p50 ms | search c1 rate | search c16 p50 ms | search c16 rate |"
    )


def test_rows_can_be_left_out() -> None:
    assert rendered("table bench_x figures/search_c1 without=th*")[2:] == ["| ours | 1.5 | 12,345.6 |"]


def test_a_mapping_of_values_is_a_row_each() -> None:
    assert rendered("table bench_x figures/versions") == [
        "|  | value |",
        "| --- | --- |",
        "| a | 1.0 |",
        "| b | 2.0 |",
    ]


def test_values_beside_mappings_are_a_row_of_their_own() -> None:
    mixed = {"search": {"ours": {"p50": 1}, "ratio": 0.5}}
    assert tables.rows_of(mixed) == [(("search",), {"ratio": 0.5}), (("search", "ours"), {"p50": 1})]


def test_values_outside_and_inside_mappings_are_all_shown() -> None:
    assert tables.rows_of({"rate": 3, "rss": [1, 2], "search": {"p50": 1}}) == [
        (("rate",), {"value": 3}),
        (("rss",), {"value": [1, 2]}),
        (("search",), {"p50": 1}),
    ]


def test_checks_say_whether_they_hold() -> None:
    assert rendered("checks bench_x")[:2] == ["| check | measured | aim | holds |", "| --- | ---: | --- | --- |"]
    assert rendered("checks bench_x")[2:] == [
        "| `p50_vs_theirs` | 0.5 | <= 1 | yes |",
        "| `rate_vs_theirs` | 0.5 | >= 1 | no |",
    ]
    assert rendered("checks bench_x rate*")[2:] == ["| `rate_vs_theirs` | 0.5 | >= 1 | no |"]


def test_the_machine_is_named_with_versions_and_parameters() -> None:
    assert rendered("machine bench_x") == [
        "Machine: cores 2, load average 0.1 / 0.2 / 0.3. Versions: python 3.11.7. "
        'Parameters: documents 20000, labels {"1%": 200}.'
    ]


def test_rendering_twice_changes_nothing() -> None:
    text = "<!-- checks bench_x -->\n<!-- end -->\ntext\n<!-- machine bench_x -->\n<!-- end -->\n"
    once = tables.render(text, {"bench_x": REPORT})
    assert tables.render(once, {"bench_x": REPORT}) == once


@pytest.mark.parametrize(
    "words", ["table bench_y figures", "table bench_x figures/none", "table bench_x nothing/at/all"]
)
def test_what_is_not_there_is_an_error(words: str) -> None:
    with pytest.raises(KeyError):
        rendered(words)


def test_the_document_is_what_the_committed_reports_say() -> None:
    text = tables.DOCUMENT.read_text(encoding="utf-8")
    assert "<!-- machine bench_peers -->" in text
    assert tables.render(text, tables.load_reports(tables.REPORTS)) == text
