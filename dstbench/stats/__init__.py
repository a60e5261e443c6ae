"""Statistics of plain numbers and of sums per dialogue, independent of files, tables and metrics.

Correlations and their differences, adjusted p of several hypotheses, comparison of runs by resampling dialogues, and
agreement.
"""

from __future__ import annotations

from dstbench.stats.adjust import benjamini_hochberg as benjamini_hochberg
from dstbench.stats.adjust import benjamini_yekutieli as benjamini_yekutieli
from dstbench.stats.adjust import bonferroni as bonferroni
from dstbench.stats.adjust import hochberg as hochberg
from dstbench.stats.adjust import holm as holm
from dstbench.stats.adjust import max_t as max_t
from dstbench.stats.adjust import resamples_needed as resamples_needed
from dstbench.stats.adjust import smallest_p as smallest_p
from dstbench.stats.agreement import Kappa as Kappa
from dstbench.stats.agreement import kappa as kappa
from dstbench.stats.correlations import Comparison as Comparison
from dstbench.stats.correlations import Matrix as Matrix
from dstbench.stats.correlations import Outcome as Outcome
from dstbench.stats.correlations import compare_independent as compare_independent
from dstbench.stats.correlations import compare_nonoverlapping as compare_nonoverlapping
from dstbench.stats.correlations import compare_overlapping as compare_overlapping
from dstbench.stats.correlations import interval as interval
from dstbench.stats.correlations import matrix as matrix
from dstbench.stats.correlations import pearson as pearson
from dstbench.stats.differences import Tally as Tally
from dstbench.stats.differences import jackknife_se as jackknife_se
from dstbench.stats.differences import linearised_se as linearised_se
from dstbench.stats.differences import linearised_se_of_difference as linearised_se_of_difference
from dstbench.stats.differences import smallest_detectable as smallest_detectable
from dstbench.stats.differences import tally as tally
from dstbench.stats.influence import Jackknifed as Jackknifed
from dstbench.stats.influence import Spread as Spread
from dstbench.stats.influence import influences as influences
from dstbench.stats.influence import jackknifed_correlation as jackknifed_correlation
from dstbench.stats.influence import spread as spread
from dstbench.stats.influence import spread_over_seeds as spread_over_seeds
from dstbench.stats.normal import wilson as wilson
from dstbench.stats.rank_correlations import RankCorrelation as RankCorrelation
from dstbench.stats.rank_correlations import compare_rank_correlations as compare_rank_correlations
from dstbench.stats.rank_correlations import kendall as kendall
from dstbench.stats.rank_correlations import spearman as spearman
from dstbench.stats.resampling import Bootstrap as Bootstrap
from dstbench.stats.resampling import Estimate as Estimate
from dstbench.stats.resampling import Null as Null
from dstbench.stats.resampling import Randomisation as Randomisation
from dstbench.stats.resampling import Replicates as Replicates
from dstbench.stats.resampling import as_exact_floats as as_exact_floats
from dstbench.stats.resampling import swaps as swaps
from dstbench.stats.resampling import weights as weights

__all__ = sorted(name for name, thing in globals().items() if callable(thing) and not name.startswith("_"))  # noqa: PLE0605
