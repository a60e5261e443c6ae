"""The choices that users make, by name: one place for Python, the command line and the messages.

It imports nothing of ours, so that ``--help`` can name them without loading what computes.
"""

from typing import Literal

#: What to do with a gold turn that has no prediction: refuse, count it as wrong in every metric that scores turns
#: (also where its gold is empty; in tables per domain or slot it is an empty state, but wrong in each frame, where
#: frames count), score an empty state, or leave the turn out.
Missing = Literal["error", "wrong", "empty", "intersect"]

#: Which turns count for a domain: those whose gold state has a slot of it, those where gold or prediction has one,
#: all turns of the dialogues in which gold ever has one (TRADE's zero-shot scores), or those in which gold has a frame
#: of it (SGD; where the file does not say which frames there are, as ``gold``).
DomainTurns = Literal["gold", "either", "dialogue", "frames"]

#: On which sides a literal that means "not in the state" is taken out of it; where it is kept, it is a value.
NoneRule = Literal["drop", "drop-gold", "drop-pred", "keep"]

#: What "dontcare" is: a value, taken out of both states or of one, or its slot is not looked at (``skip``) in turns
#: where gold has it.
Dontcare = Literal["keep", "drop", "drop-gold", "drop-pred", "skip"]

#: What the alternatives of a value (``a|b``) mean: nothing (one string), the first counts, any gold one may be
#: predicted, any gold one among any predicted ones, both sides list the same ones, or the slot's kind says it: of a
#: categorical slot (``--schema``) the first counts, of another any gold one may be predicted (SGD).
Multi = Literal["literal", "first", "any", "overlap", "all", "by-kind"]

#: Which values a fuzzy matcher is asked about: text only, or also numbers, times, days and booleans.
Fuzzy = Literal["text", "all"]

#: What a predicted slot that gold does not have counts for: an error, nothing, or an error only in domains that gold's
#: state of the turn has.
Over = Literal["count", "free", "gold-domains"]

#: What gold's values of slots outside the slot set count: what others count, with the predictions of these slots in the
#: same turns (``scored``), so that no turn is right by leaving them out; or nothing (``dropped``), and a turn whose
#: gold has no other values is not scored.
Outside = Literal["scored", "dropped"]

#: How many slot errors a wrong value is in SA (and slots in RSA): one; two; or two where a hyphen in it makes scripts
#: that split ``domain-slot-value`` at the last hyphen see two slots.
WrongCosts = Literal["once", "twice", "hyphen"]

#: Which turns are scored: all, those with a gold state, with a predicted state, or the last of each dialogue.
Turns = Literal["all", "gold", "pred", "last"]

#: What a score is a mean over: turns, or the domains (services) of turns.
Unit = Literal["turn", "frame"]

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
