"""Laws that every metric and every format keeps, for those that are not built in.

``python -m dstbench.testing mylab`` tries them on all that a module has. In tests:

>>> import dstbench
>>> from dstbench.testing import check_metric
>>> check_metric(dstbench.parse("jga"), corpora=5)
"""

from dstbench.testing.of_formats import check_format
from dstbench.testing.of_metrics import check_metric

__all__ = ["check_format", "check_metric"]
