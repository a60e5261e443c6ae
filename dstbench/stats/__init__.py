"""Statistics of plain numbers and of sums per dialogue, independent of files, tables and metrics.

Correlations and their differences, adjusted p of several hypotheses, comparison of runs by resampling dialogues, and
agreement.
"""

# fmt: off
# isort: off
from dstbench.stats.adjust import (
    benjamini_hochberg, benjamini_yekutieli, bonferroni, hochberg, holm, max_t,
)
from dstbench.stats.agreement import Kappa, kappa
from dstbench.stats.correlations import (
    Comparison, Outcome, compare_independent, compare_nonoverlapping, compare_overlapping, interval, pearson,
)
from dstbench.stats.differences import (
    jackknife_se, linearised_se, smallest_detectable,
)
from dstbench.stats.influence import Jackknifed, Spread, influences, jackknifed_correlation, spread, spread_over_seeds
from dstbench.stats.normal import wilson
from dstbench.stats.rank_correlations import RankCorrelation, compare_rank_correlations, kendall, spearman
from dstbench.stats.resampling import (
    Bootstrap, Estimate, Null, Randomisation, Replicates, as_exact_floats,
)

__all__ = [
    "Bootstrap", "Comparison", "Estimate", "Jackknifed", "Kappa", "Null", "Outcome", "Randomisation",
    "RankCorrelation", "Replicates", "Spread", "as_exact_floats", "benjamini_hochberg", "benjamini_yekutieli",
    "bonferroni", "compare_independent", "compare_nonoverlapping", "compare_overlapping", "compare_rank_correlations",
    "hochberg", "holm", "influences", "interval", "jackknife_se", "jackknifed_correlation", "kappa", "kendall",
    "linearised_se", "max_t", "pearson", "smallest_detectable", "spearman", "spread", "spread_over_seeds", "wilson",
]
