"""dstbench: evaluation of dialogue state tracking over one long table.

score            scores of runs, overall or by domain, slot, turn, length
Evaluator        scores in a training loop: add states, compute, reset
check            what a reviewer would ask of a run before you believe its scores
compare          which runs are better than others: intervals, tests, p
compare_metrics  which metrics tell runs apart, and whether they agree
correlate        correlations of metrics, traits of dialogues, people's ratings
diagnose         where runs fail, and by which errors
sensitivity      what one error costs under each metric, early and late
sweep            scores of the same predictions under every profile
reconcile        which choices of convention lead from a published score to yours
diff             what a new checkpoint fixed and broke
traits           traits of dialogues, with their scores
fuzzy_pairs      values that only fuzzy matching accepts
report           one page on all of this, dialogue by dialogue (Report)
query            any question in SQL
turns            the turn table: counts per turn, for questions in Polars
rows             the judged rows, lazily: a slot's values in a turn, and what they add to counts

open_runs        runs (Run) from files, frames or states in memory
scan             the same as one lazy long table
read             the states in a native file
contexts         what was said in a dataset
to_long          states as a long table
to_turns         a long table as a turn table
write_long       a run as a Parquet file

parse            a metric from its notation; Metric is the base class for your own
profile          a named convention, with your own choices (Convention)
canonical_slot   a slot's canonical name
engine           where scores are computed: in threads, or on a cluster
audit            of a dataset: bias, missing annotations, versions, replacement
stats            tests, intervals and correlations of plain numbers
signature        signatures: parsed, explained, compared

Errors: DstbenchError, UsageError; warnings: DstbenchWarning. `dstbench help` has a topic per task.
>>> import dstbench
>>> dstbench.score([{"dialogue_id": "D1", "turn": 0, "gold": {}, "pred": {}}]).value("jga")
1.0
"""

from importlib import import_module
from pathlib import Path
from re import MULTILINE, findall
from typing import TYPE_CHECKING

from dstbench._version import __version__ as __version__
from dstbench.schema.record import Shown as _Shown

if TYPE_CHECKING:  # `as` makes a name public for type checkers
    from dstbench import audit as audit
    from dstbench import signature as signature
    from dstbench import stats as stats
    from dstbench.analysis.changes import diff as diff
    from dstbench.analysis.check import check as check
    from dstbench.analysis.compare import compare as compare
    from dstbench.analysis.compare_metrics import compare_metrics as compare_metrics
    from dstbench.analysis.correlate import correlate as correlate
    from dstbench.analysis.diagnose import diagnose as diagnose
    from dstbench.analysis.evaluator import Evaluator as Evaluator
    from dstbench.analysis.fuzzy_pairs import fuzzy_pairs as fuzzy_pairs
    from dstbench.analysis.query import query as query
    from dstbench.analysis.reconcile import reconcile as reconcile
    from dstbench.analysis.rows import rows as rows
    from dstbench.analysis.sensitivity import sensitivity as sensitivity
    from dstbench.analysis.sweep import sweep as sweep
    from dstbench.analysis.traits import traits as traits
    from dstbench.conventions.convention import Convention as Convention
    from dstbench.conventions.profiles import profile as profile
    from dstbench.conventions.slots import canonical_slot as canonical_slot
    from dstbench.errors import DstbenchError as DstbenchError
    from dstbench.errors import DstbenchWarning as DstbenchWarning
    from dstbench.errors import UsageError as UsageError
    from dstbench.metrics import Metric as Metric
    from dstbench.metrics import parse as parse
    from dstbench.readers import read as read
    from dstbench.readers.contexts import contexts as contexts
    from dstbench.rendering.report import Report as Report
    from dstbench.rendering.report import report as report
    from dstbench.runs.align import to_long as to_long
    from dstbench.runs.open import open_runs as open_runs
    from dstbench.runs.open import scan as scan
    from dstbench.runs.open import write_long as write_long
    from dstbench.runs.run import Run as Run
    from dstbench.scoring.partitions import engine as engine
    from dstbench.scoring.score import score as score
    from dstbench.scoring.score import turns as turns
    from dstbench.scoring.turns import to_turns as to_turns

# The module of each public name: as the imports above say, which are done when a name is first used, so that
# `import dstbench` is fast.
_IMPORTS = r"^    from dstbench\.([\w.]+) import (\w+) as"
_HOME = {name: module for module, name in findall(_IMPORTS, Path(__file__).read_text("utf-8"), MULTILINE)}
# Modules that are public, with all their names: `dstbench.signature.parse`, `dstbench.stats.holm`.
_MODULES = ("audit", "signature", "stats")

__all__ = sorted([*_HOME, *_MODULES, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"dstbench.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'dstbench' has no attribute {name!r}")
    globals()[name] = public = getattr(import_module(f"dstbench.{_HOME[name]}"), name)
    return public


def __dir__() -> list[str]:
    return __all__


_Shown._as_html = lambda result: import_module("dstbench.rendering.html").as_html(result)
