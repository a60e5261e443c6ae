"""The options of the second layer, which are left out unless `--all` or the marker asks for them."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", "options: an option that many commands share, of three fourths of these commands"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave them out of the first layer."""
    if config.getoption("--all", default=True) or config.getoption("-m"):
        return
    left_out = [item for item in items if item.get_closest_marker("options")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
