"""The table of the benchmarks: ratios, verdicts and columns."""

from msgspec import structs

from benchmarks.rows import Row, amount, as_json, as_table


def row(**changes: object) -> Row:
    """Make a row of 30 µs beside a floor of 10 µs."""
    plain = Row(group="append", what="append: write", messages=1_000, cost=30.0, floor=10.0)
    return structs.replace(plain, **changes)


def test_the_ratio_is_the_cost_over_the_floor() -> None:
    """A row without a floor has no ratio."""
    assert row().ratio == 3.0
    assert row(floor=None).ratio is None


def test_the_verdict_compares_the_cost_with_the_limit() -> None:
    """At the limit is a pass, above it a miss, and without a target there is no verdict."""
    assert row(limit=30.0).verdict == "pass"
    assert row(limit=29.9).verdict == "miss"
    assert row().verdict == ""


def test_amounts_are_written_in_the_unit_that_suits_them() -> None:
    """Three digits that say something, from microseconds to seconds and in megabytes."""
    assert [amount(value, "us") for value in (1.234, 12.34, 123.4, 1_234, 2_500_000)] == [
        "1.23 µs",
        "12.3 µs",
        "123 µs",
        "1.23 ms",
        "2.50 s",
    ]
    assert amount(31.44, "MB") == "31.4 MB"


def test_the_table_has_a_heading_for_each_group_and_a_line_for_each_row() -> None:
    """Rows of one group stand together, in their order."""
    table = as_table(
        [
            row(what="one", limit=40.0, target="≤ 4 ×"),
            row(group="restore", what="two"),
            row(what="three"),
        ]
    )

    assert [line.split()[0] for line in table.split("\n") if line] == [
        "what",
        "append",
        "one",
        "three",
        "restore",
        "two",
    ]
    assert "one       1,000  30.0 µs  10.0 µs   3.00  ≤ 4 × (40.0 µs)  pass" in table


def test_the_json_has_ratio_and_verdict() -> None:
    """What the table shows can be read by a program too."""
    (value,) = as_json([row(limit=20.0, target="≤ 2 ×")])

    assert (value["ratio"], value["verdict"], value["cost"]) == (3.0, "miss", 30.0)
