"""Notes, folded into a line for each kind."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from dstbench.cli.output import folded
from dstbench.errors import DstbenchWarning

KINDS = ("odd turns", "even slots", "no names")
WARNINGS = st.lists(
    st.builds(
        lambda kind, file, n: DstbenchWarning(
            f"{n} {kind} (first: {file}{n})", file=f"some/{file}.json", kind=kind, count=n
        ),
        st.sampled_from(KINDS),
        st.sampled_from("abcdefg"),
        st.integers(1, 5),
    ),
    max_size=20,
)


@given(WARNINGS)
def test_each_kind_has_one_line_and_no_count_is_lost(warnings: list[DstbenchWarning]) -> None:
    lines = folded(warnings)
    kinds = list(dict.fromkeys(warning.kind for warning in warnings))
    assert len(lines) == len(kinds)
    for line, kind in zip(lines, kinds, strict=True):
        distinct = {str(warning): warning for warning in warnings if warning.kind == kind}
        assert kind in line
        if len(distinct) == 1:
            assert line in distinct
            continue
        assert line.endswith(" (--verbose lists them)")
        files = {warning.file for warning in distinct.values()}
        total = sum(warning.count or 0 for warning in distinct.values())
        assert (f"{len(files)} files: " in line) == (len(files) > 1)
        told = re.findall(rf"(\d+) (?:in|{kind})", line)
        assert sum(map(int, told)) == total, line


def test_files_of_one_name_are_told_apart() -> None:
    told = [DstbenchWarning("x", file=f"{n}/run.json", kind="odd", count=n) for n in (1, 2)]
    assert folded(told) == ["2 files: odd: 2 in 2/run.json, 1 in 1/run.json (--verbose lists them)"]
