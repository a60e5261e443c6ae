"""What stands for a chart where charts are not what is tested."""

import pytest

#: What vl-convert would return of an empty chart.
EMPTY_CHART = '<svg xmlns="http://www.w3.org/2000/svg" width="340" height="9"></svg>'


def draw_empty(patch: pytest.MonkeyPatch) -> None:
    """Make all drawings empty."""
    patch.setattr("vl_convert.vegalite_to_svg", lambda *_, **__: EMPTY_CHART)
