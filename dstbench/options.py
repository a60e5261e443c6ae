"""The choices that users make, by name: one place for Python, the command line and the messages.

It imports nothing of ours, so that ``--help`` can name them without loading what computes.
"""

from typing import Literal

#: What to do with a gold turn that has no prediction: refuse, count it as wrong in every metric that scores turns
#: (also where its gold is empty; in tables per domain or slot it is an empty state), score an empty state, or leave
#: the turn out.
Missing = Literal["error", "wrong", "empty", "intersect"]

#: Which turns count for a domain: those whose gold state has a slot of it, or those where gold or prediction has one.
DomainTurns = Literal["gold", "either"]

#: A finer view than the turn: states restricted to one domain, or to one slot.
View = Literal["domain", "slot"]

#: How tables are printed.
TableFormat = Literal["text", "json", "csv", "md"]

#: What `dstbench ls` lists.
Listing = Literal["formats", "metrics", "profiles", "slots"]
