import io
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from ..__main__ import main

DATA = Path(__file__).parents[2] / "data"
MARCH = str(DATA / "march.csv")


def run(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


class CommandLine(unittest.TestCase):
    def test_check_counts_sales_and_receipts(self) -> None:
        self.assertEqual(run("check", MARCH), (0, "47 sales on 36 receipts, all good\n", ""))

    def test_report_has_a_row_for_each_day(self) -> None:
        code, out, _ = run("report", MARCH)
        self.assertEqual(code, 0)
        periods = [line.split()[0] for line in out.splitlines()]
        self.assertEqual(periods[1:-1], [f"2026-03-0{day}" for day in range(2, 10)])

    def test_report_by_week(self) -> None:
        code, out, _ = run("report", MARCH, "--by", "week")
        self.assertEqual(code, 0)
        self.assertEqual(len(out.splitlines()), 4)

    def test_a_bad_line_is_named_and_no_traceback(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            export = Path(folder) / "bad.csv"
            export.write_text("# till\n\nnonsense\n", encoding="utf-8")
            code, out, err = run("check", str(export), "--articles", str(DATA / "articles.csv"))
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, r"^till: line 3: .*\n$")

    def test_an_unknown_article_is_an_error_of_one_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            export = Path(folder) / "odd.csv"
            export.write_text("2026-03-02T07:02,R-1,9999,1,1.00\n", encoding="utf-8")
            code, _, err = run("check", str(export), "--articles", str(DATA / "articles.csv"))
        self.assertEqual((code, err), (1, "till: no article 9999\n"))
