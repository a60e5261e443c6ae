r"""Tables as a paper prints them: LaTeX in the style of booktabs, with numbers in columns of siunitx."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import polars as pl

from dstbench.io.escape import latex_text, plain_text

_WRAPPED: Final = r"p{.35\linewidth}"  # the layout of columns of wrapped text
_WIDEST_TABLE: Final = 50  # a wider table, in characters of the small font, spans both columns of the page
_GAP: Final = 3  # a column has space beside it, as wide as so many characters
# Longer texts in a cell are wrapped, and so are longer heads; longer words in notes and captions may break.
_WIDEST_CELL: Final = 40
_WIDEST_HEAD: Final = 14
_LONGEST_WORD: Final = 20
_PIECE: Final = 8  # long words break after so many characters, or after a mark
_MOST_BESIDE: Final = 3  # in more columns, small texts are below the numbers, not beside them
# The part of a line about options of the command line, which a paper leaves out.
_OPTION: Final = re.compile(r"(?:; (?:--\w|`\w+ --)[^;]*| \([^()]*--\w[^()]*\)|^--\w.*)$")
_SIGNATURE: Final = re.compile(r"^(signature.*): (\S+)$", re.DOTALL)
# What is in a column of siunitx: a number with its sign and its digits before and after the point, or no number.
_ALIGNED: Final = re.compile(r"<?(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?|-|")
# Other numbers, those with their share in percent, and intervals.
_NUMERIC: Final = re.compile(r"-?[0-9.,]+(?: to -?[0-9.]+| \([0-9.]+\))?|-|")
_LONGEST_LINE: Final = 100_000  # lines are cut after this many characters; a line may name many runs
_PACKAGES: Final = "% \\usepackage{booktabs,graphicx,siunitx}\n"
_TABLE: Final = Path(__file__).with_name("templates") / "table.tex"


class PaperTable(NamedTuple):
    """A table of a paper."""

    table: pl.DataFrame  # its columns: texts, or cells (`cell`); numbers are aligned by their points
    caption: str  # what it shows, in sentences
    label: str  # the name by which the paper refers to it
    notes: Sequence[str] = ()  # lines below the table: how it was computed, and the signature
    groups: Sequence[str | None] = ()  # for each row the title of its group; None: a group without a title
    heads: Mapping[str, str] = MappingProxyType({})  # the heads of columns that are not the columns' names


def cell(text: pl.Expr, name: str, **marks: pl.Expr) -> pl.Expr:
    """A column of numbers, as texts, with marks."""
    absent = {"small": pl.lit(""), "raised": pl.lit(""), "bold": pl.lit(value=False), "underlined": pl.lit(value=False)}
    return pl.struct(mark.alias(kind) for kind, mark in {"text": text, **absent, **marks}.items()).alias(name)


def latex_page(tables: Iterable[PaperTable]) -> str:
    """Tables after a comment with the packages that they need; tables of one label are numbered."""
    numbers = defaultdict[str, Iterator[int]](lambda: count(1))
    labelled = ((table, f"{table.label}-{next(numbers[table.label])}".removesuffix("-1")) for table in tables)
    return "\n".join([_PACKAGES, *(_latex_table(*each) for each in labelled)])


def _latex_table(paper: PaperTable, label: str) -> str:
    with_small = sum(column.dtype == pl.Struct and any(column.struct.field("small")) for column in paper.table)
    below = with_small > _MOST_BESIDE
    heads = [_broken(paper.heads.get(name, name), _WIDEST_HEAD) for name in paper.table.columns]
    columns = [_column(*of_column, below=below) for of_column in zip(paper.table, heads, strict=True)]
    layouts, titles, cells, small, widths = zip(*columns, strict=True)
    across = len(re.sub(r"@?\{.*?\}|\[.*?\]", "", "".join(layouts)))
    group: object = ...  # no title of a group
    rows = ""
    for number, row in enumerate(zip(*cells, strict=True)):
        if paper.groups and group != (group := paper.groups[number]):
            rows += "\\midrule\n" * bool(number)
            rows += (
                "" if group is None else rf"\multicolumn{{{across}}}{{l}}{{\textit{{{_prose(str(group))}}}}} \\" + "\n"
            )
        rows += _row(row)
        rows += _row(texts[number] for texts in small) + "\\addlinespace[2pt]\n" if below else ""
    notes = noted(paper.notes)
    return _TABLE.read_text("utf-8") % {
        "place": "table*" if sum(width + _GAP for width in widths) > _WIDEST_TABLE else "table",
        "columns": "".join(layouts),
        "head": _row(titles).rstrip(),
        "rows": rows,
        "notes": rf"\par\smallskip{{\scriptsize\raggedright {notes}.\par}}" + "\n" if notes else "",
        "caption": _prose(paper.caption),
        "label": label,
    }


def _column(series: pl.Series, heads: Sequence[str], *, below: bool) -> tuple[str, str, list[str], list[str], float]:
    """The layout (perhaps of several columns), head and cells of a column, what is below these, and its width."""
    if series.dtype != pl.Struct:
        texts = series.to_list()
        if not all(map(_ALIGNED.fullmatch, texts)):
            side, longest = "r" if all(map(_NUMERIC.fullmatch, texts)) else "l", max(map(len, texts), default=0)
            layout, cells = side, [_number(text) if side == "r" else latex_text(text) for text in texts]
            if side == "l" and longest > _WIDEST_CELL:
                # Columns of paragraphs are not justified; ``\raggedright`` would need the package array.
                layout, cells = _WRAPPED, [rf"\rightskip0pt plus1fil {_prose(text)}" for text in texts]
            width = max(min(longest, _WIDEST_CELL), *map(len, heads))
            return layout, _stack(heads, side), cells, [""] * len(cells), width
        series = series.to_frame("text").select(cell(pl.col("text"), series.name)).to_series()
    fields = series.struct.unnest()
    texts, small, raised, bold, underlined = (fields[mark].fill_null("" if at < 3 else False).to_list()
                                              for at, mark in enumerate(fields.columns))  # fmt: skip
    digits = [match.groups("") for match in map(_ALIGNED.fullmatch, texts) if match] or [("", "", "")]
    sign, before, after = (max(part, key=len) for part in zip(*digits, strict=True))
    small_texts = [rf"{{\scriptsize {_number(text)}}}" if text else "" for text in small]
    parts = [(f"S[table-format={sign}{len(before) or 1}.{len(after)}]", [*map(_aligned, texts, bold, underlined)])]
    if any(raised):
        parts.append(("@{}l", [rf"$^{{\mathrm{{{text}}}}}$" if text else "" for text in raised]))
    if any(small) and not below:
        parts.append((r"@{\,\,}r", small_texts))
    across = rf"\multicolumn{{{len(parts)}}}{{c}}" if len(parts) > 1 else ""
    longest, up, down = (max(map(len, part), default=0) for part in (texts, raised, small))
    widths = longest + 0.7 * up, 0.9 * down
    return (
        "".join(layout for layout, _ in parts),
        f"{across}{{{_stack(heads, 'c')}}}",
        [" & ".join(row) for row in zip(*(cells for _, cells in parts), strict=True)],
        [f"{across}{{{text}}}" for text in small_texts],
        max(max(widths) if below else sum(widths), *map(len, heads)),
    )


def _aligned(text: str, bold: object, underlined: object) -> str:
    """A number for a column of siunitx, with its marks; a text that is not a number is put in braces."""
    if text in ("-", "") or not _ALIGNED.fullmatch(text):
        return f"{{{_number(text)}}}"
    line = rf"\llap{{\underline{{\hphantom{{{_number(text)}}}}}}}" if underlined else ""
    return (r"\best " if bold else "") + text.replace("<", r"\llap{\textless}") + line


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + " \\\\\n"


def _number(text: str) -> str:
    """A number or an interval with minus signs in place of hyphens; a dash if undefined."""
    return "--" if text == "-" else re.sub(r"-(?=[0-9.])", r"\\textminus{}", latex_text(text))


def _broken(text: str, most: int) -> list[str]:
    """A text in lines of at most so many characters, broken after spaces and marks, and within longer words."""
    lines = [""]
    for piece in re.findall(rf".{{1,{most - 1}}}?(?:[\s_/:|+,-]|$)|.{{1,{most}}}", plain_text(text)):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > most:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]


def _stack(lines: Sequence[str], side: str) -> str:
    shown = r"\\".join(map(latex_text, lines))
    return rf"\shortstack[{side}]{{{shown}}}" if len(lines) > 1 else shown


def _prose(text: str) -> str:
    """A text whose long words may break."""
    words = plain_text(text, _LONGEST_LINE).split(" ")
    pieces = (_broken(word, _PIECE) if len(word) > _LONGEST_WORD else [word] for word in words)
    return " ".join(r"\allowbreak{}".join(map(latex_text, of_word)) for of_word in pieces)


def noted(lines: Iterable[str]) -> str:
    """Lines joined by semicolons; a signature may break anywhere."""
    shown = []
    for line in filter(None, (_OPTION.sub("", line).replace(" --seed ", " seed ") for line in lines)):
        signature = _SIGNATURE.match(line)
        pieces = map(latex_text, _broken(signature[2], _LONGEST_WORD)) if signature else ()
        whole = r"\allowbreak{}".join(pieces)
        breakable = rf": \texttt{{{whole}}}" if signature else ""
        shown.append(_prose(signature[1] if signature else line) + breakable)
    return "; ".join(shown)
