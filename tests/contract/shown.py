"""What a person reads in tables, taken apart: the one place in the contract that knows how results are laid out.

`of_text` and `of_markdown` take pages apart into the same `Table`. `VIEWS` says of each table which rows of
the JSON it shows, and of each of its columns which key. Tests of the contract speak of keys, so that only this module
changes where a layout does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Row = dict[str, Any]


class Table(NamedTuple):
    """A table as it is shown: cells are texts without markup."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


# --- text and Markdown -----------------------------------------------------------------------------------------------


def of_text(text: str) -> list[Table]:
    """The tables of a text, each with the line above it as its title; columns are apart where no line has a letter."""
    lines, parsed = text.split("\n"), []
    for at, line in enumerate(lines):
        if not re.fullmatch(r" *-{3,} *", line):
            continue
        top = at
        while top and lines[top - 1].strip():
            top -= 1
        end = next((n for n in range(at, len(lines)) if not lines[n].strip()), len(lines))
        body = [*lines[top:at], *lines[at + 1 : end]]
        width = max(map(len, body))
        body = [line.ljust(width) for line in body]
        blank = [all(line[column] == " " for line in body) for column in range(width)]
        edges = [m.span() for m in re.finditer(r"0(?:0|10)*", "".join("01"[is_blank] for is_blank in blank))]
        cells = [tuple(line[start:stop].strip() for start, stop in edges) for line in body]
        head = tuple(" ".join(filter(None, parts)) for parts in zip(*cells[: at - top], strict=True))
        title = next((lines[n] for n in range(top - 1, -1, -1) if lines[n].strip()), "") if top > 1 else ""
        parsed.append(Table(title, head, tuple(_unwrapped(cells[at - top :]))))
    return parsed


def _unwrapped(rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Rows of which each may go on in lines whose first cell is empty."""
    row: tuple[str, ...] | None = None
    for line in rows:
        if row is not None and (not line[0] or row[0].endswith(",")):
            row = tuple(" ".join(filter(None, parts)) for parts in zip(row, line, strict=True))
            continue
        if row is not None:
            yield row
        row = line
    if row is not None:
        yield row


def of_markdown(text: str) -> list[Table]:
    """The tables of a Markdown page."""
    parsed, title, rows = [], "", list[tuple[str, ...]]()
    for line in [*text.split("\n"), ""]:
        if line.startswith("### "):
            title = _bare(line[4:])
        elif line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip()[1:-1])
            rows.append(tuple(_bare(cell.strip()) for cell in cells))
        elif rows:
            assert all(re.fullmatch(r"---:?", mark) for mark in rows[1])
            parsed.append(Table(title, rows[0], tuple(rows[2:])))
            title, rows = "", []
    return parsed


def _bare(text: str) -> str:
    """Markdown's text without escapes."""
    text = re.sub(r"\\([\\`*_{}\[\]()#+.!|<>~-])", r"\1", text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# --- what a cell shows -----------------------------------------------------------------------------------------------


class Shows(NamedTuple):
    """What the cells of a column show: keys of the row in JSON, and how their values are written.

    Attributes:
        keys: One key, or two of an interval.
        scale: ``unit``: percent if the row's unit is ``share``, else as it is; otherwise a factor.
        where: What else must be so of the row, by key: for columns of wide tables, a value or the columns' title.
    """

    keys: tuple[str, ...]
    scale: str | float = "unit"
    where: Mapping[str, str] = {}


def is_shown(cell: str, shows: Shows, row: Row) -> bool:
    """Whether a cell shows what the row of the JSON has."""
    values = [row[key] for key in shows.keys]
    if not shows.keys:
        return True  # a text that is in no row
    if values[0] is None:
        return cell in ("-", "")
    if isinstance(values[0], bool):
        return cell == ("*" if values[0] else "")
    if isinstance(values[0], str):
        return cell.strip("'") == values[0].replace("_", " " if " " in cell else "_")
    scale = (100 if row["unit"] == "share" else 1) if shows.scale == "unit" else shows.scale
    parts = [part for part in re.split(r" to |, | ?[()\[\]]", cell) if part] if len(values) > 1 else [cell]
    if len(parts) != len(values):
        return False
    return all(_is_rounded(text, value * scale) for text, value in zip(parts, values, strict=True))


def _is_rounded(text: str, value: float) -> bool:
    """Whether a number is written with its decimals rightly rounded, or as smaller than a bound."""
    if bound := re.fullmatch(r"<\s*(0?\.\d+)", text):
        return value < float(bound[1])
    if not re.fullmatch(r"-?[\d,]*\.?\d+(?:e-\d+)?", text):
        return False
    number = text.replace(",", "")
    decimals = len(number.partition(".")[2].partition("e")[0])
    half = 0.5 * 10.0**-decimals * (10.0 ** int(number.partition("e")[2]) if "e" in number else 1)
    return abs(float(number) - value) <= half + 1e-9 and not re.match(r"-0\.?0*$", number)


def share(key: str, **where: str) -> Shows:
    """A share, in percent."""
    return Shows((key,), 100, where)


def number(key: str, **where: str) -> Shows:
    """A number as it is."""
    return Shows((key,), 1, where)


def value(key: str, **where: str) -> Shows:
    """A score: the row's unit says how it is written."""
    return Shows((key,), "unit", where)


def interval(scale: str | float = "unit", low: str = "low", high: str = "high", **where: str) -> Shows:
    """An interval."""
    return Shows((low, high), scale, where)


class View(NamedTuple):
    """Which rows of the JSON a table shows.

    Attributes:
        table: The JSON's key.
        title: The pattern of the table's title; its groups are keys of the rows.
        keys: Columns whose cells say which row it is: title of the column to key (``low``: the cell is a range).
        cells: Patterns of the other columns' titles to what they show; ``{1}`` is the pattern's first group.
        where: What else is so of all its rows.
        every: Whether each row of the JSON is shown.
        triangle: Whether it is a matrix of pairs (`first`, `second`) with one thing below the diagonal, another above.
        lists: Whether a row is of several profiles.
    """

    table: str
    title: str
    keys: Mapping[str, str]
    cells: Mapping[str, Shows]
    where: Mapping[str, Any] = {}
    every: bool = True
    triangle: bool = False
    lists: bool = False


class Shown(NamedTuple):
    """A cell, what it has to show, and the row of the JSON that it is of."""

    cell: str
    shows: Shows
    row: Row


def prepared(command: str, result: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """The rows of the JSON, with what tables compute of them: differences both ways round, and joined rows."""
    rows = {name: list(part) for name, part in result.items()}
    if command == "score":
        rows["scores"] = [row | {"none": None} for row in result["scores"]]
    elif command == "compare":
        rows["differences"] = [row | {"id": n} for n, row in enumerate(result["differences"])]
        rows["differences"] += [_turned(row) for row in rows["differences"]]
    elif command == "diagnose":
        rows["runs"] = [row | {"failing_share": row["failing"] / row["dialogues"]} for row in result["runs"]]
        for name in ("errors_by_domain", "errors_by_slot"):
            rows[name] = _by_kind(result[name])
    elif command == "traits":
        rows["differences"] = [
            row | {"of": " - ".join(f"r({row[key].replace(',', ', ')})" for key in ("first", "second"))}
            for row in result["differences"]
        ]
    elif command == "compare-metrics":
        power = {row["metric"]: row for row in result["power"]}
        rows["spread"] = [power[row["metric"]] | row for row in result["spread"]]
    elif command == "sensitivity":
        bias = {
            (row["kind"], row["metric"]): {f"bias_{key}": value for key, value in row.items()} for row in result["bias"]
        }
        rows["costs"] = [
            row | bias[row["kind"], row["metric"]] | {"range": f"{row['start']:.0%}"[:-1]} for row in result["costs"]
        ]
    elif command == "correlate":
        rows["rated"] = [row | {"coefficient": row["coefficient"].capitalize()} for row in result.get("rated", [])]
        one_way = [
            row | {"coefficient": row["coefficient"].capitalize()} for row in result.get("rated_differences", [])
        ]
        rows["rated_differences"] = [*one_way, *map(_turned, one_way)]
    elif command == "audit diff":
        whole = {**result["versions"][0], "domain": "all", "slot": "all"}
        rows["whole"] = [
            {"of": of, "before": whole["before"], "after": whole["after"], "both": whole[of],
             f"only in {whole['before']}": whole[f"{of}_before"], f"only in {whole['after']}": whole[f"{of}_after"],
             "changed": whole[f"changed_{of}"], "share": whole[f"share_{of}"]}
            for of in ("dialogues", "turns")
        ]  # fmt: skip
        for name, more in (("domains", [whole]), ("slots", [])):
            rows[name] = [
                row | {"differ": row["changed_dialogues"], "differ@": row["changed_turns"],
                       "share": row["share_dialogues"], "share@": row["share_turns"]}
                for row in (*result[name], *more)
            ]  # fmt: skip
        rows["changes"] = [row | {"kind": row["kind"].replace("_", " ")} for row in result["changes"]]
    return rows


def _by_kind(rows: Sequence[Row]) -> list[Row]:
    """The counts of classes, added up by kind."""
    by_kind: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("run", "domain", "slot", "kind") if name in row)
        total = by_kind.setdefault(key, {**row, "n": 0})
        total["n"] += row["n"]
        for of in ("gold", "predicted", "inactive"):
            total[f"of_{of}"] = total["n"] / row[of] if row[of] else None
    return [*by_kind.values()]


def _turned(row: Row) -> Row:
    """A difference with the other run first."""
    named = "run" if "wins" in row else "metric"
    swapped = {named: "other", "other": named, "wins": "losses", "losses": "wins"}
    negated = {"difference": "difference", "low": "high", "high": "low", "zou_low": "zou_high", "zou_high": "zou_low"}
    new = {key: row[other] for key, other in swapped.items() if other in row}
    return {**row, **new, **{key: None if row[of] is None else -row[of] for key, of in negated.items() if of in row}}


def read(command: str, tables: Sequence[Table], result: Mapping[str, Sequence[Row]]) -> Iterator[Shown]:
    """Every cell of the tables of a command, with the row of the JSON that it is of: see `read_views`."""
    return read_views(command, VIEWS[command], tables, prepared(command, result))


def read_views(
    command: str,
    views: Sequence[View],
    tables: Sequence[Table],
    result: Mapping[str, Sequence[Row]],
    *,
    ordered: bool = False,
) -> Iterator[Shown]:
    """Every cell of the tables, with the row of the JSON that it is of.

    Args:
        command: What failures name.
        views: What the tables show.
        tables: The tables.
        result: The rows of the JSON, prepared.
        ordered: Whether tables have their rows in the order of the JSON.

    Raises:
        AssertionError: A table, a column or a row of the JSON is in no view, or a cell is of no row.
    """
    shown_rows = dict[str, set[int]]()
    for table in map(_with_errors, tables):
        view, title = next(((view, m) for view in views if (m := re.fullmatch(view.title, table.title))), (None, None))
        assert view, f"{command}: no view of the table {table.title!r} with {table.columns}"
        assert title
        fixed = {**view.where, **title.groupdict()}
        rows = [row for row in result[view.table] if all(_names(text, row, key) for key, text in fixed.items())]
        seen = shown_rows.setdefault(view.table, set()) if view.every else set[int]()
        places = {row.get("id", id(row)): at for at, row in reversed([*enumerate(rows)])}
        last = -1
        for cells in _one_by_one(table, "profile") if view.lists else table.rows if not view.triangle else ():
            heads = [f"{head}@" if head in table.columns[:at] else head for at, head in enumerate(table.columns)]
            of_row = dict(zip(heads, cells, strict=True))
            keys = {key: of_row[column] for column, key in view.keys.items() if column in of_row}
            mine = [row for row in rows if all(_names(text, row, key) for key, text in keys.items())]
            at = min((places[row.get("id", id(row))] for row in mine), default=-1)
            assert at > last or not ordered, f"{table.title}: {keys} is not where the JSON has it"
            last = at
            for column, cell in of_row.items():
                if column in view.keys:
                    continue
                shows = _of_column(view, column)
                where = dict(shows.where)
                exact = (
                    mine[:1]
                    if not shows.keys
                    else [row for row in mine if all(_names(text, row, key) for key, text in where.items())]
                )
                has = {str([row[key] for key in shows.keys]) for row in exact}
                assert len(has) == 1, f"{table.title}: {keys | where} is of {len(exact)} rows of {view.table}"
                seen |= {row.get("id", id(row)) for row in exact}
                yield Shown(cell, shows, exact[0])
        if view.triangle:
            for shown_cell in _of_triangle(table, rows, view.cells):
                seen.add(id(shown_cell.row))
                yield shown_cell
    for name, seen in shown_rows.items():
        wanted = {row.get("id", id(row)) for row in result[name]}
        assert seen == wanted, f"{command}: {len(wanted - seen)} rows of {name} not shown"


def _one_by_one(table: Table, column: str) -> Iterator[tuple[str, ...]]:
    """Rows of which a cell lists several names, as rows of one name each."""
    at = table.columns.index(column)
    for cells in table.rows:
        for name in cells[at].split(", "):
            yield (*cells[:at], name, *cells[at + 1 :])


def _of_triangle(table: Table, rows: Sequence[Row], cells: Mapping[str, Shows]) -> Iterator[Shown]:
    """The cells of a matrix of pairs: what `cells` calls ``below`` the diagonal, and ``above`` it."""
    names = table.columns[1:]
    assert [line[0] for line in table.rows] == [*names]
    for at, line in enumerate(table.rows):
        assert not line[at + 1]
        for other in range(len(names)):
            if other == at:
                continue
            first, second = sorted((at, other))
            pair = [row for row in rows if {row["first"], row["second"]} == {names[first], names[second]}]
            assert len(pair) == 1, f"{table.title}: {len(pair)} rows of {names[first]} and {names[second]}"
            yield Shown(line[other + 1], cells["below" if other < at else "above"], pair[0])


def _with_errors(table: Table) -> Table:
    """The table with its rows ``±`` as columns ``± of …`` of the rows above them."""
    if not any(row[0] == "±" for row in table.rows):
        return table
    columns = (*table.columns, *(f"± of {name}" for name in table.columns[1:]))
    rows = [(*row, *error[1:]) for row, error in zip(table.rows[::2], table.rows[1::2], strict=True)]
    return Table(table.title, columns, tuple(rows))


def _of_column(view: View, column: str) -> Shows:
    for pattern, shows in view.cells.items():
        if match := re.fullmatch(pattern, column):
            fill = [column, *match.groups("")]
            return Shows(
                tuple(key.format(*fill) for key in shows.keys),
                shows.scale,
                {key: text.format(*fill) for key, text in shows.where.items()},
            )
    raise AssertionError(f"{view.title}: no key for the column {column!r}")


def _names(text: str, row: Row, key: str) -> bool:
    """Whether a text names the row by this key; a range names it by its lower end."""
    has = row[key]
    if key in ("gold", "pred"):
        text = text.strip("'")
    if isinstance(has, float):
        return _is_rounded(text.partition(" to ")[0], has)
    return text == ("-" if has is None else str(has)) or (has is None and not text)


_DIFFERENCES = {
    r"difference": value("difference"),
    r"\d+ %": interval(),
    r"p": number("p"),
    r"p [\w-]+": number("p_adjusted"),
    r"\*": Shows(("significant",)),
    r"wins": number("wins"),
    r"losses": number("losses"),
    r"discordant": number("discordant"),
    r"detectable": value("detectable"),
}
_ERRORS_BY = {
    r"(gold|predicted|inactive)": Shows(("{1}",), 1),
    r"(missed|wrong|over) (of_\w+)": Shows(("{2}",), 100, {"kind": "{1}"}),
}
_TIMING = {
    r"(missed|late|over|early)": Shows(("{1}",), 1),
    r"% (late|early)": Shows(("{1}_share",), 100),
}


_MATRIX = {"below": number("r"), "above": interval(1)}
_CORRELATIONS = View("matrix", r"(?P<run>.+): correlations(?! with).*", {}, _MATRIX, triangle=True)
_R_DIFFERENCES = {
    r"r (first|second)": number("r_{1}"),
    r"difference": number("difference"),
    r"\d+ % interval": interval(1),
    r"p": number("p"),
    r"p, adjusted": number("p_adjusted"),
    r"by Zou .*": interval(1, "zou_low", "zou_high"),
    r"n": number("n_first"),
}
_CHANGED = {
    r"(added|removed|changed|respelled)": number("{1}"),
    r"(earlier|later)": number("moved_{1}"),
    r"(dialogues|turns)": number("{1}"),
    r"differ(@?)": number("differ{1}"),
    r"%(@?)": share("share{1}"),
}

#: Each command to its tables.
VIEWS: Mapping[str, Sequence[View]] = {
    "score": [
        View("scores", r"", {key: key for key in ("run", "domain", "slot", "turn", "length", "n_gold", "dialogue")}, {
            r"(turns|dialogues)": number("{1}"),
            r"± of (.+) exact": Shows(("none",), 1, {"metric": "{1}"}),
            r"± of (.+)": value("se", metric="{1}"),
            r"(.+) exact": value("exact", metric="{1}"),
            r"accuracy \((.+)\)": value("value", metric="{1}"),
            r"(.+)": value("value", metric="{1}"),
        }),
    ],
    "traits": [
        View("bins", r"Mean scores by (?P<trait>\w+), .*", {"run": "run", "bin": "low"}, {
            r"n of (.+)": number("dialogues", metric="{1}"),
            r"(.+)": share("value", metric="{1}"),
        }),
        View("correlations", r"(?P<run>.+): correlations.*", {}, _MATRIX, triangle=True),
        View("differences", r"Differences of correlations.*", {"run": "run", "of": "of"}, _R_DIFFERENCES),
    ],
    "correlate": [
        _CORRELATIONS,
        View("rated", r"(?P<run>.+): correlations with the ratings.*", {"metric": "metric"}, {
            r"(.+)": Shows(("value", "low", "high"), 1, {"coefficient": "{1}"}),
        }),
        View("rated_differences", r"(?P<run>.+): (?P<metric>\w+) less others.*",
             {"than": "other", "coefficient": "coefficient"}, _R_DIFFERENCES, every=False),
    ],
    "compare-metrics": [
        View("spread", r"Metrics over .*", {"metric": "metric"}, {
            r"sd/se": number("signal_to_noise"),
            r"apart": number("apart"),
            r"holm": number("apart_adjusted"),
            r"detectable": value("median_detectable"),
            r"(\w+)": value("{1}"),
        }),
        View(
            "agreement", r"Kendall's tau .*", {}, {"below": number("tau"), "above": number("reversed")}, triangle=True
        ),
        View("dependence", r"Correlations of dialogues.*", {"metric": "metric"}, {
            r"(.+)": Shows(("r", "low", "high"), 1, {"trait": "{1}"}),
        }),
    ],
    "sensitivity": [
        View("costs", r"(?P<kind>\w+): .*", {"metric": "metric"}, {
            r"(\d+)-\d+ %": share("loss", range="{1}"),
            r"bias": share("bias_bias"),
            r"\d+ % interval": interval(100, "bias_low", "bias_high"),
            r"relative": number("bias_relative"),
        }),
    ],
    "sweep": [
        View("sweep", r"(?P<metric>\w+)", {"profile": "profile"}, {r"(.+)": value("value", run="{1}")}, lists=True),
        View("sweep", r"", {"profile": "profile"}, {
            r"changed .*": Shows(()),
            r"(.+)": value("value", metric="{1}"),
        }, lists=True),
    ],
    "pairs": [
        View("pairs", r"", {key: key for key in ("run", "slot", "gold", "pred")}, {r"turns": number("turns")}),
    ],
    "check": [
        View("checks", r"Outcomes", {"check": "check"}, {r"(.+)": Shows(("status",), 1, {"run": "{1}"})}),
        View("checks", r"(?P<check>(?!Outcomes).+)", {"run": "run"}, {r"(status|found)": Shows(("{1}",))}, every=False),
        View("checks", r"", {"run": "run", "check": "check"}, {r"(status|found)": Shows(("{1}",))}),
    ],
    "audit diff": [
        View("whole", r"From (?P<before>.+) to (?P<after>.+)", {"": "of"}, {
            r"in both": number("both"),
            r"only in .*": Shows(("{0}",), 1),
            r"differ": number("changed"),
            r"%": share("share"),
        }),
        View("domains", r"By domain: .*", {"domain": "domain"}, _CHANGED),
        View("slots", r"By slot: .*", {"slot": "slot"}, _CHANGED),
        View("changes", r"Most frequent changes.*", {key: key for key in ("slot", "before", "after", "kind")}, {
            r"(turns|dialogues)": number("{1}"),
        }, every=False),
    ],
    "compare": [
        View("scores", r"Scores and \d+ % intervals", {"run": "run"}, {
            r"\d+ % of (.+)": interval(metric="{1}"),
            r"(.+)": value("value", metric="{1}"),
        }),
        View("models", r"Models: .*", {"model": "model"}, {
            r"n": number("runs"),
            r"sd of (.+)": value("sd", metric="{1}"),
            r"\d+ % of (.+)": interval(metric="{1}"),
            r"(.+)": value("value", metric="{1}"),
        }),
        View("differences", r"Differences in (?P<metric>.+)", {"run": "run", "other": "other"}, _DIFFERENCES),
    ],
    "diagnose": [
        View("runs", r"Dialogues; .*", {"run": "run"}, {
            r"% failing": share("failing_share"),
            r"< \d+ gold slots": number("with_few_slots"),
            r"% < \d+": share("share_with_few_slots"),
            r"(dialogues|turns|failing|recovered)": Shows(("{1}",), 1),
        }),
        View("first_failures", r"First wrong turn .*", {"t/n": "low"}, {r"(.+)": number("dialogues", run="{1}")}),
        View("gold_slots", r"Largest number .*", {"slots": "n_gold_max"}, {r"(.+)": number("dialogues", run="{1}")}),
        View("by_turn", r"JGA by turn.*", {"turn": "turn"}, {
            r"n of (.+)": number("turns", run="{1}"),
            r"(.+)": share("value", run="{1}"),
        }),
        View("by_length", r"JGA by number of turns.*", {"length": "length"}, {
            r"n of (.+)": number("dialogues", run="{1}"),
            r"(.+)": share("value", run="{1}"),
        }),
        View("errors_by_domain", r"By domain: slots.*", {"run": "run", "domain": "domain"}, _ERRORS_BY, every=False),
        View("errors_by_slot", r"By slot", {"run": "run", "slot": "slot"}, _ERRORS_BY, every=False),
        View("errors", r"Slots of turns by class; .*", {"run": "run", "class": "class", "kind": "kind"}, {
            r"n": number("n"), r"(of_\w+)": Shows(("{1}",), 100),
        }),
        View("errors", r"Slots of turns that are not right.*", {"class": "class"}, {
            r"(.+)": number("n", run="{1}"),
        }, every=False),
        View("timing", r"Timing of errors.*", {"run": "run"}, _TIMING),
        View("timing_by_slot", r"Timing by slot", {"run": "run", "slot": "slot"}, _TIMING, every=False),
    ],
}  # fmt: skip
