"""Laws that every metric and every format keeps, for those that are not built in.

``python -m dstbench.testing mylab`` tries them on all that a module has. In tests:

>>> import dstbench
>>> from dstbench.testing import check_metric
>>> check_metric(dstbench.parse("jga"), corpora=5)

The names below are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dstbench.testing.laws import Outcome
    from dstbench.testing.of_formats import check_format, try_format
    from dstbench.testing.of_metrics import check_metric, try_metric

_HOME = {
    "Outcome": "laws",
    "check_format": "of_formats",
    "check_metric": "of_metrics",
    "try_format": "of_formats",
    "try_metric": "of_metrics",
}

__all__ = ["Outcome", "check_format", "check_metric", "try_format", "try_metric"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'dstbench.testing' has no attribute {name!r}")
    return getattr(import_module(f"dstbench.testing.{_HOME[name]}"), name)
