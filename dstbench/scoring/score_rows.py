"""The rows that `dstbench.score` returns: a frame that also gives one value, or all of them by name."""

from __future__ import annotations

from typing import Any, Literal, overload

import polars as pl

from dstbench.errors import UsageError, check_known, first_repeated


class Scores(pl.DataFrame):
    """Score rows: a Polars frame that also gives one value (`value`), or all of them by name (`to_dict`).

    Args:
        data: The rows, with the columns that `dstbench.score` describes.

    >>> from dstbench import score
    >>> north = {"hotel-area": "north"}
    >>> scores = score([{"dialogue_id": "MUL1", "turn": 0, "gold": north, "pred": north}], metrics="jga,f1")
    >>> scores.value("jga"), scores.to_dict()
    (1.0, {'jga': 1.0, 'f1': 1.0})
    """

    def __init__(self, data: pl.DataFrame) -> None:
        super().__init__(data)

    def value(self, metric: str, **group: Any) -> float | None:
        """One value: a fraction, or a count for count metrics; None if it is undefined.

        Args:
            metric: The metric, as the column `metric` has it.
            **group: Which row to take, if there are several: ``run="star"``, ``domain="hotel"``.

        Raises:
            UsageError: There is no such row, or there are several.
        """
        check_known([metric], self["metric"].unique(maintain_order=True), "there is no score of {!r}")
        check_known(group, self._keys, "scores have no column {!r} to choose by")
        rows = self.filter(metric=metric)
        for key, wanted in group.items():
            names = rows[key].unique(maintain_order=True).to_list()
            if wanted not in names:
                check_known([str(wanted)], map(str, names), f"there is no score of {metric} with the {key} {{!r}}")
            rows = rows.filter(pl.col(key) == wanted)
        if rows.height > 1:
            apart = [key for key in self._keys if rows[key].n_unique() > 1]
            example = ", ".join(f"{key}={rows[key][0]!r}" for key in apart)
            raise UsageError(f"there are {rows.height:,} scores of {metric}", hint=f"value({metric!r}, {example})")
        value: float | None = rows["value"].item()
        return value

    @overload  # type: ignore[override] # without an argument, it is not what frames give
    def to_dict(self, *, as_series: None = None) -> dict[str, float | None]: ...
    @overload
    def to_dict(self, *, as_series: Literal[True]) -> dict[str, pl.Series]: ...
    @overload
    def to_dict(self, *, as_series: Literal[False]) -> dict[str, list[Any]]: ...

    def to_dict(self, *, as_series: bool | None = None) -> dict[str, Any]:
        """The values by name, for loggers and JSON.

        Args:
            as_series: If given, the columns are returned, as `polars.DataFrame.to_dict` returns them.

        Returns:
            For each row: its metric (``jga``) to its value (None: undefined). If there are several runs or groups,
            their names come first: ``star/jga``, ``star/hotel/jga``.

        Raises:
            UsageError: Two rows would have the same name.
        """
        if as_series is not None:
            return super().to_dict(as_series=as_series)
        keys = [key for key in self._keys if key != "run" or self["run"].n_unique() > 1]
        names = self.select(pl.concat_str(pl.col(*keys, "metric").cast(pl.String), separator="/")).to_series()
        if repeated := first_repeated(names):
            raise UsageError(
                f"two scores would be called {repeated!r}", hint="a slash is in the name of a run or group"
            )
        return dict(zip(names, self["value"], strict=True))

    @property
    def _keys(self) -> list[str]:
        """The columns that tell rows of one metric apart: the run, and what scores are grouped by."""
        return self.columns[: self.columns.index("metric")]
