"""The choices that users make, by name: one place for Python, the command line and the messages.

It imports nothing of ours, so that ``--help`` can name them without loading what computes.
"""

from typing import Literal

#: What to do with a gold turn that has no prediction: refuse, count it as wrong in every metric that scores turns
#: (also where its gold is empty; in tables per domain or slot it is an empty state, but wrong in each frame, where
#: frames count), score an empty state, or leave the turn out.
Missing = Literal["error", "wrong", "empty", "intersect"]

#: What "dontcare" is; this and the next two are explained where they are chosen, in `conventions.choices`.
Dontcare = Literal["keep", "drop", "drop-gold", "drop-pred", "skip"]

#: What the alternatives of a value (``a|b``) mean.
Multi = Literal["literal", "first", "any", "overlap", "all", "by-kind"]

#: Which values a fuzzy matcher is asked about.
Fuzzy = Literal["text", "all"]

#: What a metric's value is: a share, which tables show in percent, or a count.
ScoreUnit = Literal["share", "count"]

#: A finer view than the turn: states restricted to one domain, or to one slot.
View = Literal["domain", "slot"]

#: How far towards a dialogue's end its mistakes are: the mean of their turns' places, from 0 to 1; the sum of their
#: distances from the middle by the number of turns, as the GCA paper's formula is printed; or as its authors' code has
#: it.
TailOrientation = Literal["mean", "sum", "released"]

#: How unevenly a dialogue's mistakes spread over its turns: the sum of squared differences from their mean, as the GCA
#: paper has it, or of absolute differences by the mean, as its authors' code has it.
NonUniformity = Literal["paper", "released"]

#: How p of several hypotheses are adjusted for their number: after Holm, Hochberg, Benjamini & Hochberg, Benjamini &
#: Yekutieli, Bonferroni, by the largest of shared resamples (Westfall & Young), or not at all.
Adjustment = Literal["holm", "hochberg", "bh", "by", "bonferroni", "max-t", "none"]

#: What scores are correlated: those of dialogues, or turns (which are not independent of each other).
Per = Literal["dialogue", "turn"]

#: Which dialogues the correlations of traits are over, and in what form: all in which traits and scores are defined, as
#: they are; or as the GCA paper's authors took them.
Protocol = Literal["plain", "released"]

#: Who works on the partitions of runs: threads of this process, or a Ray cluster.
EngineName = Literal["local", "ray"]

#: When a value counts in the distribution of a dataset's values: in every turn whose state holds it, in those in which
#: it is set, or in each dialogue's last state.
Counting = Literal["cumulative", "update", "final"]

#: How tables are printed.
TableFormat = Literal["text", "json", "csv", "md", "latex"]

#: How figures are drawn.
FigureFormat = Literal["svg", "pdf", "png"]

#: What a report is written as.
ReportFormat = Literal["html", "md", "latex", "json"]

#: What `dstbench ls` lists.
Listing = Literal["formats", "matchers", "metrics", "profiles", "slots", "steps"]
