"""How a result is shown: a `Layout` of `View`s, each a table of some columns of a frame, in any format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import polars as pl

from dstbench.errors import percent
from dstbench.metrics.registry import name_of, sign_of
from dstbench.rendering.latex import PaperTable, cell
from dstbench.rendering.terminal import screen
from dstbench.rendering.text_tables import RAISED, UNDEFINED, Styles
from dstbench.schema.core import Table

#: Whether the score of a row with a column `unit` is a count; otherwise it is a share.
IS_COUNT: Final = pl.col("unit") == "count"
_LEAST_P: Final = 0.0001  # smaller p are shown as smaller than this
#: The name of scores with exact matching, beside fuzzy ones.
EXACT: Final = "exact"
_WIDE: Final = "\0wide"  # the values of `View.wide`, in the table that is made wide
_FIELD: Final = re.compile(r"{(\w+)(?::(\w+))?}")
# What begins a part of a cell that LaTeX prints small, and that is left out where it is undefined.
_SMALL: Final = re.compile(r" (?=[±\[])")
# The parts of a signature that say which data was scored.
_OF_DATA: Final = ("by", "gold", "d", "t")
# The columns whose values are names of metrics or traits.
_NOTATIONS: Final = ("metric", "trait", "first", "second", "pair")


class OwnLines(str):
    """Lines by dstbench or its caller, without text from files; in any other string, line breaks are escaped."""

    __slots__ = ()


class View(NamedTuple):
    """A table of a result.

    Cells are templates: texts with columns in braces, and perhaps their kind (``{failing} of {dialogues}``,
    ``{rate:share}``). A cell is undefined where its first column is null; so is a part that begins with ± or a bracket,
    which is then left out. In titles of columns, ``{}`` is the value of `wide`.
    """

    title: str  # ``{}`` is the value of `split`
    rows: pl.DataFrame
    table: Table | None = None  # the declaration of the rows' columns; columns that it does not have are texts
    keys: Sequence[str] = ()  # the columns that name a row
    cells: Mapping[str, str] = MappingProxyType({})  # title of a column to its cells; empty: the rows are texts already
    wide: str | None = None  # a column each of whose values has columns of its own: several rows become one
    beside: Mapping[str, str] = MappingProxyType({})  # further columns of a wide table, which have none per value
    split: str | None = None  # a column each of whose values has a table of its own; in LaTeX, a group of rows
    rest: str = ""  # the title of rows in which `split` is null, which are below a line in LaTeX
    raised: str | None = None  # a column with raised letters beside the scores
    best: Sequence[str] | None = None  # within which columns' values the best score is bold; None: no score is
    underlined: Sequence[str] | None = None  # the same, underlined in LaTeX
    caption: str | None = None  # in LaTeX; None: the first clause of the title
    heads: Mapping[str, str] = MappingProxyType({})  # heads of columns in LaTeX that are not the names papers use
    styles: Styles = MappingProxyType({})  # title of a column to the styles of its cells in a terminal

    def head(self, most: int, of: int | None = None) -> View:
        """Its first rows; the title says how many of how many they are, if they are not all."""
        if self.rows.height <= most:
            return self
        return self._replace(
            title=f"{self.title}, the first {most} of {of or self.rows.height:,}", rows=self.rows.head(most)
        )

    def parts(self) -> Iterator[tuple[str, pl.DataFrame, Styles]]:
        """Titles and tables of texts, and the styles of their cells."""
        table = self.marked()
        if self.split is None:
            yield self.title, *_flat(table, self.styles)
            return
        for (value,), part in table.group_by(self.split, maintain_order=True):
            filled_columns = part.select(column for column in part if column.name != self.split and column.count())
            title = type(self.title)(self.title.replace("{}", str(value or self.rest)))
            yield title, *_flat(filled_columns, self.styles)

    def paper(self, label: str, notes: Sequence[str]) -> PaperTable:
        """The table as a paper prints it."""
        table, groups = self.marked(), list[str]()
        if self.split is not None:
            groups, table = list(table[self.split]), table.drop(self.split)
            if self.split in _NOTATIONS:
                groups = [name_of(name) for name in groups] if len({*groups}) > 1 else []
        table = table.with_columns(pl.col(pl.String).fill_null(UNDEFINED))
        if self.caption is None:
            caption, *more = re.split(r"\n|; ", self.title)
            return PaperTable(table, f"{caption[:1].upper()}{caption[1:]}.", label, [*more, *notes], groups, self.heads)
        heads = {name: name.capitalize() for name in (*self.keys, *self.beside)}
        if self.wide in _NOTATIONS:  # metrics, perhaps with exact matching
            exact = f" {EXACT}"
            heads |= {name: name_of(name.removesuffix(exact)) + f",{exact}" * name.endswith(exact)
                      for name in table.columns if name not in heads}  # fmt: skip
        for key in {*_NOTATIONS} & {*self.keys}:
            table = table.with_columns(pl.col(key).replace({name: name_of(name) for name in table[key]}))
        return PaperTable(table, self.caption, label, notes, groups, {**heads, **self.heads})

    def marked(self) -> pl.DataFrame:
        """The table: texts, and cells with marks (see `latex.cell`)."""
        if not self.cells:
            return self.rows
        names = [*self.keys, *([self.split] if self.split else [])]
        shown = self.rows.select(
            *(_written(name, self.table).alias(name) for name in self.keys),
            *(pl.col(name).cast(pl.String) for name in names[len(self.keys) :]),
            *([] if self.wide is None else [pl.col(self.wide).cast(pl.String).alias(_WIDE)]),
            *(self._cell(title, template) for title, template in {**self.cells, **self.beside}.items()),
        )
        if self.wide is None:
            return shown
        wide, taken = shown.unique(names, keep="first", maintain_order=True), [*names, *self.beside]
        wide = wide.select(taken)
        for value in shown[_WIDE].unique(maintain_order=True):
            own = {}
            for title in self.cells:  # a run with the name of another column gets invisible spaces at the end
                name = title.replace("{}", value)
                while name in taken:
                    name += " "
                own[name] = title
                taken.append(name)
            part = shown.filter(pl.col(_WIDE) == value).select(names, **own)
            wide = wide.join(part, on=names, how="left", maintain_order="left", nulls_equal=True)
        return wide.select(pl.exclude(list(self.beside)), *self.beside)

    def _cell(self, title: str, template: str) -> pl.Expr:
        """The cells of a column: texts, or with marks."""
        first, *small = _SMALL.split(template)
        text, marks = text_of(first, self.table), dict[str, pl.Expr]()
        if small:
            parts = [text_of(part, self.table, absent=None) for part in small]
            marks["small"] = pl.concat_str(parts, separator=" ", ignore_nulls=True)
        if self.raised:
            marks["raised"] = pl.col(self.raised).fill_null("")
        for mark, within in (("bold", self.best), ("underlined", self.underlined)):
            if within is not None:
                marks[mark] = _is_best(
                    text, sign(self.rows) * pl.col(EXACT if title.endswith(EXACT) else "value"), within
                )
        return cell(text, title, **marks) if marks else text.alias(title)


class Layout(NamedTuple):
    """How a result is shown: text has the smallest tables that say what was found, and the rest on request."""

    views: Sequence[View]
    notes: Sequence[str] = ()  # lines below the tables, without which the numbers would be misunderstood
    findings: Sequence[str] = ()  # sentences above them: what was found
    label: str = "results"  # the name by which a paper refers to its table
    paper: Sequence[View] = ()  # the tables that a paper prints; none: the first of `views`
    paper_notes: Sequence[str] | None = None  # lines below these; None: all lines below the tables
    first: Sequence[View] = ()  # the tables that text shows first, in place of `views`; none: `views`
    about: Sequence[str] = ()  # further lines below the tables: how the numbers were computed
    signatures: Sequence[str] = ()  # in lines; text shows the parts that say which convention was used
    rest: str = ""  # what text shows on request only, in words

    @property
    def below(self) -> list[str]:
        """All lines below the tables."""
        return [*self.notes, *self.about, *self.signatures]

    def in_short(self) -> Layout:
        """What text shows first, perhaps with whole signatures."""
        signatures = self.signatures if screen().signature else [_short(line) for line in self.signatures]
        rest = [f"--all: {self.rest}"] if self.rest else []
        notes = [*self.notes, *signatures, *rest]
        return self._replace(views=self.first or self.views, notes=notes, about=(), signatures=())

    @property
    def shown(self) -> list[View]:
        """Its views, without those that have no rows."""
        return [view for view in self.views if view.rows.height or not view.cells]

    @property
    def sections(self) -> list[tuple[str, pl.DataFrame]]:
        """Titles and tables of texts."""
        return [(title, table) for view in self.shown for title, table, _ in view.parts()]

    @property
    def for_paper(self) -> list[PaperTable]:
        """The tables that a paper prints."""
        notes = self.below if self.paper_notes is None else self.paper_notes
        label = screen().label or f"tab:{self.label}"
        return [view.paper(label, notes) for view in self.paper or self.shown[:1]]


def plain(*names: str, **renamed: str) -> dict[str, str]:
    """Cells with the columns as they are; ``title="column"`` renames one."""
    return {title: f"{{{name}}}" for title, name in {**dict(zip(names, names, strict=True)), **renamed}.items()}


def lines(*texts: str | tuple[str, object]) -> list[str]:
    """The texts, of those with a condition the ones whose condition holds."""
    return [text if isinstance(text, str) else text[0] for text in texts if isinstance(text, str) or text[1]]


def level_of(rows: pl.DataFrame) -> str:
    """The confidence level of the rows' intervals, in percent; empty: there are no rows."""
    return percent(rows["level"][0]) if rows.height and rows["level"][0] is not None else ""


def _short(signature: str) -> str:
    """A line with a signature, without the parts that say which data was scored, and metrics that are built in."""
    whose, _, parts = signature.partition(": ")
    if parts.startswith("the same with "):
        return signature
    metrics, *settings = parts.split("|")
    others = "+".join(metric for metric in metrics.split("+") if "@" in metric)  # with the package that they are from
    kept = [part for part in (others, *settings) if part and part.partition(":")[0] not in _OF_DATA]
    return f"{whose}: {'|'.join(kept)} (whole: --signature)"


def text_of(template: str, table: Table | None = None, absent: str | None = UNDEFINED) -> pl.Expr:
    """Texts with the numbers of columns, by a template (see `View`); `absent` where the first column is null."""
    columns = _FIELD.findall(template)
    shown = pl.format(_FIELD.sub("{}", template), *(_written(name, table, kind) for name, kind in columns))
    return pl.when(pl.col(columns[0][0]).is_not_null()).then(shown).otherwise(pl.lit(absent))


def _written(name: str, table: Table | None, kind: str = "") -> pl.Expr:
    """A column as texts; a dash where it is null."""
    if not kind:
        kind = table.columns[name].kind if table is not None and name in table.columns else "text"
    return _WRITTEN[kind](name).fill_null(UNDEFINED)


def _decimals(value: pl.Expr, digits: int) -> pl.Expr:
    return value.round(digits).cast(pl.Decimal(38, digits), strict=False).cast(pl.String)


def _score(name: str) -> pl.Expr:
    """Shares in percent; counts as they are, without decimals if none of the column has any."""
    value = pl.col(name)
    whole = (value.filter(IS_COUNT) % 1 == 0).all()
    count = pl.when(whole).then(value.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(_decimals(value, 2))
    return pl.when(IS_COUNT).then(count).otherwise(_decimals(100 * value, 2))


_WRITTEN: Final[Mapping[str, Callable[[str], pl.Expr]]] = {
    "text": lambda name: pl.col(name).cast(pl.String),
    "count": lambda name: pl.col(name).cast(pl.String),
    "flag": lambda name: pl.col(name).replace_strict({True: "*", False: ""}, default=UNDEFINED, return_dtype=pl.String),
    "number": lambda name: pl.col(name).round(3).cast(pl.String),
    "decimal": lambda name: _decimals(pl.col(name), 2),
    "share": lambda name: _decimals(100 * pl.col(name), 2),
    "score": _score,
    "r": lambda name: _decimals(pl.col(name), 3),
    "ratio": lambda name: _decimals(pl.col(name), 1),
    "p": lambda name: pl.col(name).map_elements(lambda p: f"<{_LEAST_P:g}" if p < _LEAST_P else f"{p:.4f}", pl.String),
}


def sign(rows: pl.DataFrame) -> pl.Expr:
    """1 for rows of a metric whose higher scores are the better ones, -1 for the others, null if that is unknown."""
    signs = {metric: sign_of(metric) for metric in rows["metric"].unique()}
    return pl.col("metric").replace_strict(signs, default=None, return_dtype=pl.Float64).cast(pl.Float64)


def _is_best(text: pl.Expr, merit: pl.Expr, over: Sequence[str]) -> pl.Expr:
    """Whether a score, as it is shown, is the best of those whose rows have these columns' values in common."""
    best = text.sort_by(merit, descending=True, nulls_last=True).first()
    is_one = pl.all_horizontal(merit.is_not_null(), *(pl.col(name).is_not_null() for name in over))
    return is_one & ((text == best) & (merit.count() > 1)).over(over)


def with_names(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Rows whose columns of metrics and traits (default: `metric`) have the names of papers in place of notations."""
    names = {text: name_of(text) for column in columns or ("metric",) for text in rows[column].unique()}
    named = pl.col(columns or ("metric",)).replace_strict(names, default=None, return_dtype=pl.String)
    return rows.with_columns(named)


def _flat(table: pl.DataFrame, styles: Styles) -> tuple[pl.DataFrame, Styles]:
    """The table with cells as texts, and with the styles of the best scores."""
    own, texts = {}, {}
    for column in table:
        if column.dtype != pl.Struct:
            texts[column.name] = column.fill_null(UNDEFINED)
            continue
        cells = column.struct.unnest()
        own[column.name] = ["bold" if best else "" for best in cells["bold"]]
        raised = [text.translate(RAISED) for text in cells["raised"].fill_null("")]
        most = max(map(len, raised), default=0)  # so that the numbers before them are below each other
        cells = cells.with_columns(raised=pl.Series(raised, dtype=pl.String).str.pad_end(most))
        parts = (pl.col("text") + pl.col("raised"), pl.col("small").str.replace("^±", "± "))
        shown = pl.concat_str(parts, separator=" ").str.strip_chars_end().fill_null(UNDEFINED)
        texts[column.name] = cells.select(shown).to_series()
    return pl.DataFrame(texts), {**own, **styles}
