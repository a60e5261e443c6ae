"""Types of the choices that users make, for Python, the command line and messages.

``--help`` loads this module, so that it imports nothing.
"""

from typing import Literal

#: What to do with a gold turn that has no prediction: raise an error; count it as wrong in every metric that scores
#: turns, also where gold is empty (in tables per domain or slot it is an empty state, but wrong in each frame, where
#: frames count); score an empty state; or leave the turn out.
Missing = Literal["error", "wrong", "empty", "intersect"]

#: What "dontcare" is; this and the next two are explained where they are chosen, in `conventions.choices`.
Dontcare = Literal["keep", "drop", "drop-gold", "drop-pred", "skip"]

#: What the alternatives of a value (``a|b``) mean.
Multi = Literal["literal", "first", "any", "overlap", "all", "by-kind"]

#: Which values a fuzzy matcher is asked about.
Fuzzy = Literal["text", "all"]

#: Whether a metric's value is a share, which tables show in percent, or a count.
ScoreUnit = Literal["share", "count"]

#: A finer view than the turn: states restricted to one domain, or to one slot.
View = Literal["domain", "slot"]

#: How far towards a dialogue's end its mistakes are: the mean place of their turns, from 0 to 1; the sum of their
#: distances from the middle over the number of turns, as the GCA paper prints it; or as its authors' code computes it.
TailOrientation = Literal["mean", "sum", "released"]

#: How unevenly a dialogue's mistakes spread over its turns: the sum of squared differences from their mean (the GCA
#: paper), or of absolute differences over the mean (its authors' code).
NonUniformity = Literal["paper", "released"]

#: How p of several hypotheses are adjusted for their number: by Holm, Hochberg, Benjamini & Hochberg, Benjamini &
#: Yekutieli, Bonferroni, Westfall & Young's max T (`stats.max_t`), or not at all.
Adjustment = Literal["holm", "hochberg", "bh", "by", "bonferroni", "max-t", "none"]

#: Whether scores of dialogues are correlated, or of turns (which are not independent of each other).
Per = Literal["dialogue", "turn"]

#: The dialogues of which traits are correlated: all in which traits and scores are defined, or as in the GCA paper's
#: released code.
Protocol = Literal["plain", "released"]

#: Where runs are computed: in threads of this process, or on a Ray cluster.
EngineName = Literal["local", "ray"]

#: How often a value counts in the distribution of a dataset's values: for each turn whose state has it, for each turn
#: that sets it, or for each dialogue whose last state has it.
Counting = Literal["cumulative", "update", "final"]

#: How slots are sorted by their bias: alphabetically, the least even values first, or the most frequent slot first.
SlotOrder = Literal["slot", "entropy", "turns"]

#: Output formats of tables.
TableFormat = Literal["text", "json", "csv", "md", "latex"]

#: File types of figures.
FigureFormat = Literal["svg", "pdf", "png"]

#: File types of reports.
ReportFormat = Literal["html", "md", "latex", "json"]

#: What `dstbench ls` lists.
Listing = Literal["formats", "matchers", "metrics", "profiles", "slots", "steps"]
