"""Metrics and traits have the names that papers give them."""

from __future__ import annotations

import pytest

from dstbench.analysis.explorer import TRAITS
from dstbench.metrics.registry import REGISTRY, name_of
from dstbench.schema.analysis import DIALOGUES


@pytest.mark.parametrize("name", [*REGISTRY, *TRAITS])
def test_every_metric_and_every_trait_of_dialogues_has_a_name_of_its_own(name: str) -> None:
    assert name_of(name) != name
    assert sum(name_of(other) == name_of(name) for other in {*REGISTRY, *DIALOGUES.columns}) == 1
