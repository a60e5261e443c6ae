"""Types of users' choices, for Python, the command line and messages.

``--help`` loads this module, so it imports nothing.
"""

from typing import Literal

#: What to do with a gold turn that has no prediction: raise an error; count it as wrong; score it as an empty state; or
#: leave it out. A turn that counts as wrong is so in every metric that scores turns, even if gold is empty there; by
#: domain or slot, it counts as an empty state, but is wrong in each frame if the convention scores frames.
Missing = Literal["error", "wrong", "empty", "intersect"]
#: What to do with a predicted state that is none, such as JSON that is cut off: refuse the file, or take the state as
#: empty, or count its turn as wrong.
Unreadable = Literal["error", "empty", "wrong"]
# `conventions.choices` explains these three.
Dontcare = Literal["keep", "drop", "drop-gold", "drop-pred", "skip"]
Multi = Literal["literal", "first", "any", "overlap", "all", "by-kind"]
Fuzzy = Literal["text", "all"]
#: Whether a metric's value is a share, which tables show in percent, or a count.
ScoreUnit = Literal["share", "count"]
#: A finer view than the turn: states restricted to one domain, or to one slot.
View = Literal["domain", "slot"]
#: How far towards the end of a dialogue its mistakes are: the mean position of their turns, from 0 to 1 (``mean``); the
#: sum of their distances from the middle, divided by the number of turns, as in the GCA paper (``sum``); or as in its
#: authors' code (``released``).
TailOrientation = Literal["mean", "sum", "released"]
#: How unevenly a dialogue's mistakes are spread over its turns: the sum of squared differences from their mean (GCA
#: paper), or of absolute differences divided by the mean (its authors' code).
NonUniformity = Literal["paper", "released"]
#: How the p of several hypotheses are adjusted for their number: by the method of Holm, Hochberg, Benjamini &
#: Hochberg, Benjamini & Yekutieli, or Bonferroni; by Westfall & Young's max T (`stats.max_t`); or not at all.
Adjustment = Literal["holm", "hochberg", "bh", "by", "bonferroni", "max-t", "none"]
#: Whether scores per dialogue are correlated, or per turn (then whole dialogues are resampled).
Per = Literal["dialogue", "turn"]
#: Dialogues whose traits are correlated: all with traits and scores, or those that the GCA paper's code takes.
Protocol = Literal["plain", "released"]
#: What computes: the threads of this process, or a Ray cluster.
EngineName = Literal["local", "ray"]
#: How often a value counts in the distribution of a dataset's values: once for each turn whose state has it, for each
#: turn that sets it, or for each dialogue whose last state has it.
Counting = Literal["cumulative", "update", "final"]
#: Rules for missing annotations that come with dstbench in addition to the default ones: those of papers.
Preset = Literal["qian2021"]
#: How slots are sorted by their bias: alphabetically, the least even values first, or the most frequent slot first.
SlotOrder = Literal["slot", "entropy", "turns"]
TableFormat = Literal["text", "json", "csv", "md", "latex"]
FigureFormat = Literal["svg", "pdf", "png"]
ReportFormat = Literal["html", "md", "latex", "json"]
#: What `dstbench ls` lists.
Listing = Literal["formats", "gold", "matchers", "metrics", "profiles", "slots", "steps"]
