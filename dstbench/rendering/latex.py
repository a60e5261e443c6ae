r"""Tables as LaTeX, in the style of the package booktabs, with captions that say how their numbers were computed.

A table that is too wide for a column spans both, and is scaled down if it is still too wide. A table that is too long
for a page continues on the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from dstbench.io.escape import latex_text

if TYPE_CHECKING:
    import polars as pl

# A table with more rows does not fit on a page.
_LONGEST: Final = 45
# The part of a line about options of the command line, which a caption leaves out.
_OPTION: Final = re.compile(r"(?:; --\w[^;]*| \([^()]*--\w[^()]*\))$")
_SIGNATURE: Final = re.compile(r"^(signature.*): (\S+)$", re.DOTALL)
# Numbers, with their share in percent, and intervals.
_NUMERIC: Final = r"^(?:-?[0-9.]+(?: to -?[0-9.]+| \([0-9.]+\))?|-|)$"
# A wider table, in characters of the small font, spans both columns of the page.
_WIDEST_TABLE: Final = 60
# Longer texts in a cell are wrapped.
_WIDEST_CELL: Final = 60
_LONG_TABLE: Final = r"""\begingroup\footnotesize
\begin{longtable}{%(columns)s}
%(caption)s\toprule
%(head)s
\midrule
\endhead
%(rows)s\bottomrule
\end{longtable}
\endgroup
"""
_TABLE: Final = r"""\begin{%(place)s}[t]
\centering\footnotesize
%(caption)s\smallskip
\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%%
\begin{tabular}{%(columns)s}
\toprule
%(head)s
\midrule
%(rows)s\bottomrule
\end{tabular}}
\end{%(place)s}
"""


def latex_page(tables: Sequence[tuple[pl.DataFrame, Sequence[str]]]) -> str:
    """Tables of texts, each with the lines of its caption, after a comment with the packages that they need."""
    needed = "booktabs,graphicx" + (",longtable" if any(table.height > _LONGEST for table, _ in tables) else "")
    return "\n".join([f"% \\usepackage{{{needed}}}\n", *(latex_table(table, caption) for table, caption in tables)])


def latex_table(table: pl.DataFrame, caption: Sequence[str]) -> str:
    """One table of texts.

    Args:
        table: Its texts; columns of numbers are aligned to the right.
        caption: What the table shows, then how it was computed; a signature may break between its parts.
    """
    numeric = [table[name].str.contains(_NUMERIC).all() for name in table.columns]
    rows = [
        _row(_number(text) if is_number else latex_text(text) for text, is_number in zip(row, numeric, strict=True))
        for row in table.iter_rows()
    ]
    widths = [max(texts.str.len_chars().to_list(), default=0) for texts in table]
    columns = zip(numeric, widths, strict=True)
    total_width = sum(max(len(name), width) + 2 for name, width in zip(table.columns, widths, strict=True))
    is_long = table.height > _LONGEST
    caption_text = rf"\caption{{{_caption(caption)}}}" + (r"\\" if is_long else "") + "\n" if caption else ""
    return (_LONG_TABLE if is_long else _TABLE) % {
        "place": "table*" if total_width > _WIDEST_TABLE else "table",
        "columns": "".join("r" if n else r"p{.4\linewidth}" if width > _WIDEST_CELL else "l" for n, width in columns),
        "caption": caption_text,
        "head": _row(map(latex_text, table.columns)),
        "rows": "".join(f"{row}\n" for row in rows),
    }


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _number(text: str) -> str:
    """A number or an interval with minus signs in place of hyphens; a dash if undefined."""
    return "--" if text == "-" else re.sub(r"-(?=[0-9.])", "$-$", text)


def _caption(lines: Sequence[str]) -> str:
    shown = []
    for line in lines:
        text = _OPTION.sub("", line)
        if signature := _SIGNATURE.match(text):
            parts = re.sub(r"(\\textbar\{\}|[+,])", r"\1\\allowbreak{}", latex_text(signature[2]))
            shown.append(rf"{latex_text(signature[1])}: \texttt{{{parts}}}")
        else:
            shown.append(latex_text(text))
    return f"{shown[0]}: {'; '.join(shown[1:])}." if len(shown) > 1 else f"{shown[0]}."
