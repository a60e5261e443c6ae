r"""Tables as LaTeX, in the style of the package booktabs, with captions that say how their numbers were made.

A table that is too wide for a column goes over both, and is scaled down where that does not do; one that is too long
for a page goes on on the next.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dstbench.io.escape import latex_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

# More rows than this do not fit on a page.
_LONGEST: Final = 45
# What a line says of the command line, which a paper's reader does not have.
_OPTION: Final = re.compile(r"(?:; --\w[^;]*| \([^()]*--\w[^()]*\))$")
_SIGNATURE: Final = re.compile(r"^(signature.*): (\S+)$", re.DOTALL)
# Numbers and intervals.
_NUMERIC: Final = r"^(?:-?[0-9.]+(?: to -?[0-9.]+)?|-|)$"
# Letters of the small font that fit a column of text.
_COLUMN: Final = 60
# A column with longer texts than this breaks them.
_WIDEST: Final = 60
_SHRUNK: Final = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def latex_page(tables: Sequence[tuple[pl.DataFrame, Sequence[str]]]) -> str:
    """Tables of texts, each with the lines of its caption; and, as a comment, the packages that they need."""
    needed = "booktabs,graphicx" + (",longtable" if any(table.height > _LONGEST for table, _ in tables) else "")
    return "\n".join([f"% \\usepackage{{{needed}}}\n", *(latex_table(table, caption) for table, caption in tables)])


def latex_table(table: pl.DataFrame, caption: Sequence[str]) -> str:
    """One table of texts.

    Args:
        table: Its texts; columns of numbers are flush right.
        caption: What it shows, and then how that was found; a signature may be broken between its parts.
    """
    numeric = [table[name].str.contains(_NUMERIC).all() for name in table.columns]
    columns = "".join("r" if n else _text_column(table[name]) for name, n in zip(table.columns, numeric, strict=True))
    rows = [
        _row([_number(text) if n else latex_text(text) for text, n in zip(row, numeric, strict=True)])
        for row in table.iter_rows()
    ]
    head = [r"\toprule", _row([latex_text(name) for name in table.columns]), r"\midrule"]
    told = [rf"\caption{{{_caption(caption)}}}"] if caption else []
    widths = (max([len(name), *table[name].str.len_chars().to_list()]) + 2 for name in table.columns)
    place = "table*" if sum(widths) > _COLUMN else "table"
    if table.height > _LONGEST:
        lines = [
            r"\begingroup\footnotesize",
            rf"\begin{{longtable}}{{{columns}}}",
            *(line + r"\\" for line in told),
            *head,
            r"\endhead",
            *rows,
            r"\bottomrule",
            r"\end{longtable}",
            r"\endgroup",
        ]
    else:
        lines = [
            rf"\begin{{{place}}}[t]",
            r"\centering\footnotesize",
            *told,
            r"\smallskip",
            _SHRUNK,
            rf"\begin{{tabular}}{{{columns}}}",
            *head,
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\end{{{place}}}",
        ]
    return "".join(f"{line}\n" for line in lines)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _text_column(texts: pl.Series) -> str:
    return r"p{.4\linewidth}" if (texts.str.len_chars().max() or 0) > _WIDEST else "l"  # type: ignore[operator]


def _number(text: str) -> str:
    """A number or an interval, with minus signs and not hyphens; undefined is a dash."""
    return "--" if text == "-" else re.sub(r"-(?=[0-9.])", "$-$", text)


def _caption(lines: Sequence[str]) -> str:
    title, *rest = (_line(_OPTION.sub("", line)) for line in lines)
    return f"{title}: {'; '.join(rest)}." if rest else f"{title}."


def _line(line: str) -> str:
    found = _SIGNATURE.match(line)
    if not found:
        return latex_text(line)
    parts = re.sub(r"(\\textbar\{\}|[+,])", r"\1\\allowbreak{}", latex_text(found[2]))
    return rf"{latex_text(found[1])}: \texttt{{{parts}}}"
