"""Gold in a folder of several splits: each run is scored on the split that has its dialogues.

Conventions: a run's split is the only one that has dialogues of the predictions. Ids may repeat: in SGD, most of the
test set's are in the training set, too. Then it is the only split that has all turns of the predictions, or the only
one that has all of them and no other turns of their dialogues. Only this split's states are read; of the other splits,
dialogues and turns are read until these rule the split out.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.errors import DstbenchError, warn
from dstbench.readers.folder import SPLITS, may_be_read, split_files
from dstbench.readers.options import AS_USUAL, ReadOptions
from dstbench.readers.states import States, error_in, warn_of_notes
from dstbench.runs.load import named_parts, renamed

if TYPE_CHECKING:  # readers import many modules, which long tables do not need
    from dstbench.readers import Format, Source

_KEY: Final = ["dialogue", "turn"]
#: The order in which splits are looked at: predictions are most often of the test set.
_ORDER: Final = ("test", "dev", "train")


# How a split may have predictions, and what is said of it where it is the only one that does.
_OVERLAPS: Final = {
    "some": "in which it has dialogues",
    "whole": "that has all its turns",
    "exact": "in which its dialogues have no other turns",
}


class SplitGold:
    """Gold in a folder of several splits, whose `files` are of at least two; `options` say how runs are read."""

    def __init__(self, folder: Source, files: list[Source], options: ReadOptions) -> None:
        self.source = folder.name
        self._folder = folder
        self._options = options.for_gold()
        self._files = {split: [file for file in files if file.split == split] for split in _ORDER}
        self._files = {split: files for split, files in self._files.items() if files}
        self.splits = list(self._files)
        self._states: dict[str, States] = {}

    def of(self, states: States) -> States:
        """The gold states of the split that has these predictions."""
        if states.pred is None:
            what = f"only gold tells which dialogues it has ({states.format}), and {self.source} has several splits"
            raise error_in(states, what, f"choose one: --split {next(iter(self._files))}")
        split = self._split_of(states.source, states.pred.turns)
        if split not in self._states:
            from dstbench.readers import read

            self._states[split] = renamed(read(self._folder, split=split, keys=self._options.keys), self._options)
            warn_of_notes(self._states[split])
        return self._states[split]

    def _split_of(self, source: str, predicted: pl.DataFrame) -> str:
        """The split of predictions that have these turns, in the file `source`."""
        dialogues = predicted.select(pl.col("dialogue").unique())
        of_kind: dict[str, list[str]] = {kind: [] for kind in _OVERLAPS}
        for split in self._files:
            has, lacks, more = 0, 0, 0
            for turns in self._turns(split):
                of_dialogues = turns.join(dialogues, on="dialogue", how="semi")
                of_file = predicted.join(turns.select(pl.col("dialogue").unique()), on="dialogue", how="semi")
                shared = of_file.join(of_dialogues, on=_KEY, how="semi").height
                has, lacks = has + of_file.height, lacks + of_file.height - shared
                more += of_dialogues.height - shared
                if lacks and of_kind["whole"]:  # another split has all turns
                    break
            is_whole = not lacks and has == predicted.height
            for kind, is_of_kind in zip(_OVERLAPS, (has, is_whole, is_whole and not more), strict=True):
                of_kind[kind] += [split] if is_of_kind else []
        for kind, reason in _OVERLAPS.items():  # the first kind that only one split is of
            if len(of_kind[kind]) == 1:
                (split,) = of_kind[kind]
                warn(f"scored on the split {split}, the only one of {self.source} {reason}", file=source)
                return split
        if some := sorted(of_kind["exact"] or of_kind["whole"] or of_kind["some"]):
            what = f"predictions in the splits {', '.join(some)} of {self.source}"
            raise DstbenchError(what, file=source, hint=f"choose one: --split {some[-1]}")
        return next(iter(self._files))  # then alignment says that no turn is in both sides

    def _turns(self, split: str) -> Iterator[pl.DataFrame]:
        """The turns (dialogue, turn) of each data file of a split."""
        from dstbench.readers import sniff

        form: Format | None = None
        for file in self._files[split]:
            if not may_be_read(file):
                continue
            turns = None if form is None else form.outlined(file)
            if turns is None and (sniffed := sniff(file)) is not None:
                form = sniffed
                turns = form.turns(file)
            file.forget()
            if turns is not None:
                yield turns


def split_gold(gold: Any, split: str | None = None, options: ReadOptions = AS_USUAL) -> SplitGold | None:
    """Gold of several splits; None: it is not in a folder of several splits, or one of them is chosen (`split`)."""
    parts = named_parts(gold)
    if split is not None or len(parts) != 1 or not isinstance(parts[0][1], (str, PathLike)):
        return None
    from dstbench.readers import Source

    folder = Source(fspath(parts[0][1]))
    if not folder.is_folder:
        return None
    files, _ = split_files(folder)
    for file in files:
        file.keys = options.for_gold().keys
    splits = {file.split for file in files} & set(SPLITS.values())
    return SplitGold(folder, files, options) if len(splits) > 1 else None
