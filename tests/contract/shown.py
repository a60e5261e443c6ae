"""What a person reads in tables, taken apart: the one place in the contract that knows how results are laid out.

`of_text`, `of_markdown` and `of_latex` take pages apart into the same `Table`. `VIEWS` says of each table which rows of
the JSON it shows, and of each of its columns which key; `PAPER` says it of LaTeX's tables that are not those of the
text. Tests of the contract speak of keys, so that only this module changes where a layout does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
        title_at = next((n for n in range(top - 1, -1, -1) if lines[n].strip()), 0)
        turn = next((n for n in range(title_at, -1, -1) if not lines[n].startswith("  ")), 0)
        if lines[turn].startswith("turn "):
            title = "; ".join(map(str.strip, lines[turn : title_at + 1]))
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
    parsed, title, rows = list[Table](), "", list[tuple[str, ...]]()
    for line in [*text.split("\n"), ""]:
        if line.startswith("### "):
            title = bare(line[4:])
        elif line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip()[1:-1])
            rows.append(tuple(bare(cell.strip()) for cell in cells))
        elif rows:
            assert all(re.fullmatch(r"---:?", mark) for mark in rows[1])
            parsed.append(Table(title, rows[0], tuple(rows[2:])))
            title, rows = "", []
        elif ": the same predictions" in line:  # the run of the tables above, of one run each
            parsed[-1] = parsed[-1]._replace(title=parsed[-1].title or bare(line))
    return parsed


def bare(text: str) -> str:
    """Markdown's text without escapes."""
    text = re.sub(r"\\([\\`*_{}\[\]()#+.!|<>~-])", r"\1", text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


_HEADS = r"\\multicolumn\{(\d+)\}\{c\}\{(.*)\}"
_COMMANDS = {
    r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~", r"\textasciigrave{}": "`",
    r"\textless": "<", r"\textgreater": ">", r"\textbar": "|", r"\textquotesingle": "'", r"\textminus": "-",
    r"\textpm": "±", r"$\infty$": "∞", r"$\lambda$": "λ", r"$\rightarrow$": "→", r"\allowbreak": "",
    r"\rightskip0pt plus1fil ": "",
    r"\best ": "", r"\scriptsize ": "", r"\mathrm": "", r"\llap": "", r"\textit": "", r"\shortstack[c]": "",
    r"\shortstack[l]": "", r"\shortstack[r]": "", "-{}": "-", ",{}": ",", r"\\": " ",
}  # fmt: skip


def of_latex(text: str) -> list[Table]:
    """The tables of a LaTeX page, under their captions.

    Beside the column NAME of numbers, `NAME !` says which are bold (``*``), `NAME ^` what is raised, and `NAME ±` what
    is small, beside or below them. In tables of groups, the column `group` has their titles.
    """
    pattern = (
        r"\\begin\{tabular\}\{(.*)\}\n\\toprule\n(.*) \\\\\n\\midrule\n((?:.*\n)*?)\\bottomrule\n"
        r"(?:.*\n)*?\\caption\{(.*)\}"
    )
    parsed = list[Table]()
    for layout, head, body, caption in re.findall(pattern, text):
        kinds = re.findall(r"S\[.*?\]|@\{.*?\}[lr]|p\{.*?\}|[lr]", layout)
        names = list[str]()
        for kind, cell in zip(kinds, _cells(head), strict=True):
            beside = {"@{}l": " ^", r"@{\,\,}r": " ±"}.get(kind, "")
            base = names[-1].removesuffix(" ^") if beside else _plain(cell)
            names.append(base + beside)
        names = [f"{name}\0{at}" for at, name in enumerate(names)]
        rows = list[dict[str, str]]()
        group = ""
        for line in body.replace(" \\\\\n\\addlinespace[2pt]", " \\\\ small").split("\n"):
            cells = _cells(line.partition(" \\\\")[0])
            if line.startswith("\\multicolumn"):
                group = _plain(line.partition("{l}")[2][1:].removesuffix(r"} \\"))
            elif line.endswith("small"):
                small = zip(names, map(_plain, cells), strict=True)
                rows[-1] |= {name.replace("\0", " ±\0"): text for name, text in small if text}
            elif line and not line.startswith(("\\midrule", "\\add")):
                row = {name: _plain(cell) for name, cell in zip(names, cells, strict=True)}
                bold = {
                    name.replace("\0", " !\0"): "*" if r"\best" in cell else ""
                    for name, kind, cell in zip(names, kinds, cells, strict=True)
                    if kind.startswith("S")
                }
                rows.append({**({"group": group} if group else {}), **row, **bold})
        keys = dict.fromkeys(name for row in rows for name in row)
        lines = tuple(tuple(row.get(name, "") for name in keys) for row in rows)
        columns = tuple(name.partition("\0")[0] for name in keys)
        parsed.append(Table(_plain(caption), columns, lines))
    return parsed


def unmarked(table: Table) -> Table:
    """A table none of whose numbers is bold, without what would say so."""
    kept = [at for at, name in enumerate(table.columns) if not name.endswith(" !")]
    assert not any(row[at] for row in table.rows for at in range(len(row)) if at not in kept)
    rows = tuple(tuple(row[at] for at in kept) for row in table.rows)
    return Table(table.title, tuple(table.columns[at] for at in kept), rows)


def unquoted(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Rows whose values have no quotes around them."""
    return tuple(tuple(re.sub(r"^'(.*)'$", r"\1", cell) for cell in row) for row in rows)


def _cells(line: str) -> list[str]:
    """The cells of a row; one across several columns is in the first of them."""
    cells = []
    for cell in re.split(r"(?<!\\)&", line):
        across = re.fullmatch(_HEADS, cell.strip())
        cells += [across[2], *[""] * (int(across[1]) - 1)] if across else [cell.strip()]
    return cells


def _plain(cell: str) -> str:
    """LaTeX's text without its commands."""
    for command, meant in _COMMANDS.items():
        cell = cell.replace(command, meant)
    cell = re.sub(r"\$\^(.*)\$", r"\1", cell)
    cell = re.sub(r"(?<!\\)[{}]", "", cell)
    cell = re.sub(r"\\([{}$&#_%])", r"\1", cell).strip()
    return "-" if cell == "--" else cell


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
    if len(values) > 2 or "shown_se" in shows.keys:
        values = [value for value in values if value is not None]
    if not values or values[0] is None:
        return cell in ("-", "")
    if isinstance(values[0], bool):
        return cell == ("*" if values[0] else "")
    if isinstance(values[0], str):
        return cell.strip("'") == values[0].replace("_", " " if " " in cell else "_")
    scale = (100 if row["unit"] == "share" else 1) if shows.scale == "unit" else shows.scale
    cell = cell.removeprefix("±")
    if "zou_low" in shows.keys:
        low, high = values
        if cell.endswith(" (differs)") == ((row["p"] <= 0.05) == (not low <= 0 <= high)):
            return False
        cell = cell.removesuffix(" (differs)")
    parts = [part for part in re.split(r" to |, | ± | ?[()\[\]]", cell) if part] if len(values) > 1 else [cell]
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
        lists: The column of which a cell lists several names.
    """

    table: str
    title: str
    keys: Mapping[str, str]
    cells: Mapping[str, Shows]
    where: Mapping[str, Any] = {}
    every: bool = True
    triangle: bool = False
    lists: str = ""


class Shown(NamedTuple):
    """A cell, what it has to show, and the row of the JSON that it is of."""

    cell: str
    shows: Shows
    row: Row


def prepared(command: str, result: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """The rows of the JSON, with what tables compute of them: differences both ways round, and joined rows."""
    rows = {name: [row | {"title": TITLES.get(row.get("metric", ""))} for row in part] for name, part in result.items()}
    if command == "score":
        rows["scores"] = [
            row
            | {
                "none": None,
                "shown_se": None if ({*_BY.values()} - {"run"}) & {*row} else row["se"],
                "exact_best": _is_best(row, rows["scores"], "exact"),
                "best": _is_best(row, rows["scores"]) and not ({*_BY.values()} - {"run"}) & {*row},
            }
            for row in rows["scores"]
        ]
    elif command == "compare":
        rows["scores"] = [
            row | {"best": _is_best(row, rows["scores"]), "beats": ",".join(_beaten(row, result["differences"]))}
            for row in rows["scores"]
        ]
        rows["models"] = [row | {"best": _is_best(row, rows["models"])} for row in rows.get("models", [])]
        rows["differences"] = [row | {"id": n} for n, row in enumerate(result["differences"])]
        rows["differences"] += [_turned(row) for row in rows["differences"]]
    elif command == "diagnose":
        rows["runs"] = [row | {"failing_share": row["failing"] / row["dialogues"]} for row in result["runs"]]
        rows["whole"] = [
            row
            | {"recovered_share": row["recovered"] / row["failing"] if row["failing"] else None}
            | {kind: sum(error[f"of_{of}"] for error in result["errors"]
                         if (error["run"], error["kind"]) == (row["run"], kind))
               for kind, of in (("missed", "gold"), ("wrong", "gold"), ("over", "predicted"))}
            for row in rows["runs"]
        ]  # fmt: skip
        for name in ("errors_by_domain", "errors_by_slot"):
            rows[name] = _by_kind(result[name])
    elif command == "traits":
        for key in ("differences", "given_differences"):
            rows[key] = [
                row | {"of": " - ".join(f"r({row[side].replace(',', ', ')})" for side in ("first", "second"))}
                for row in result[key]
            ]
        rows["whole"] = [
            row | {"of": f"{TITLES[row['second']]}, {TITLES[row['first']]}"}
            for row in result["correlations"]
            if "_" in row["first"] and "_" not in row["second"]
        ]
    elif command == "compare-metrics":
        power = {row["metric"]: row for row in result["power"]}
        rows["spread"] = [power[row["metric"]] | row for row in rows["spread"]]
        titles = {"somers_d": "Somers' d", "soft_accuracy": "soft accuracy"}
        rows["validity"] = [row | {"title": titles.get(row["measure"], row["measure"])} for row in rows["validity"]]
    elif command == "sensitivity":
        bias = {
            (row["kind"], row["metric"]): {f"bias_{key}": value for key, value in row.items()} for row in result["bias"]
        }
        rows["costs"] = [
            row | bias[row["kind"], row["metric"]] | {"range": f"{row['start']:.0%}"[:-1]} for row in rows["costs"]
        ]
        own = {
            (row["way"], row["kind"], row["metric"]): {f"bias_{key}": value for key, value in row.items()}
            for row in result["own_bias"]
        }
        rows["own_costs"] = [
            row | own[row["way"], row["kind"], row["metric"]] | {"range": f"{row['start']:.0%}"[:-1]}
            for row in rows["own_costs"]
        ]
    elif command == "correlate":
        rows["rated"] = [row | {"coefficient": row["coefficient"].capitalize()} for row in rows["rated"]]
        rows["whole"] = [
            row | {f"{side}_title": TITLES[row[side]] for side in ("first", "second")}
            for row in result["matrix"]
            if row["run"] == "pooled" or len({row["run"] for row in result["matrix"]}) == 1
            if "rating" not in (row["first"], row["second"])
        ]
        rows["differences"] = [
            row
            | {"runs": row["run"] if row["run"] == row["other_run"] else f"{row['run']} - {row['other_run']}"}
            | {f"r({row[side].replace(',', ', ')})": row[f"r_{side}"] for side in ("first", "second")}
            for row in result["differences"]
        ]
        one_way = [
            row | {"coefficient": row["coefficient"].capitalize()} for row in result.get("rated_differences", [])
        ]
        rows["rated_differences"] = [*one_way, *map(_turned, one_way)]
    elif command == "sweep":
        rows["sweep"] = [
            row | {"best": _is_best(row, [own for own in rows["sweep"] if own["profile"] == row["profile"]])}
            for row in rows["sweep"]
        ]
    elif command in OWN:
        rows |= OWN[command](rows)
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


#: Metrics of which less is better.
LESS: Sequence[str] = ("wrong", "missed", "over", "error-turns")
#: Metrics and traits as papers call them.
TITLES: Mapping[str, str] = {
    "jga": "JGA", "sa": "SA", "rsa": "RSA", "gca": "GCA", "fga": "FGA", "f1": "F1",
    "fga:lam=0.25": "FGA (λ = 0.25)", "wrong": "Wrong slots", "missed": "Missed slots", "over": "Over-predicted slots",
    "error-turns": "Error turns", "to_mean": "Tail orientation", "nu_paper": "Non- uniformity",
}  # fmt: skip


def _is_best(row: Row, rows: Sequence[Row], key: str = "value") -> bool:
    """Whether a row has the best value of its metric, if there are several rows."""
    values: list[Any] = [own.get(key) for own in rows if own["metric"] == row["metric"]]
    return None not in values and len(values) > 1 and row[key] == (min if row["metric"] in LESS else max)(values)


def _beaten(row: Row, differences: Sequence[Row]) -> list[str]:
    """The runs that a row's run is significantly better than."""
    both_ways = [own for one in differences if one["metric"] == row["metric"] for own in (one, _turned(one))]
    sign = -1 if row["metric"] in LESS else 1
    return sorted(
        own["other"]
        for own in both_ways
        if own["run"] == row["run"] and own["significant"] and sign * own["difference"] > 0
    )


def _of_show(rows: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """What `show` shows of one dialogue: a row per run, and slots with the marks of their kinds."""
    scale = {row["metric"]: 100 if row["unit"] == "share" else 1 for row in rows["signatures"]}
    if "slots" not in rows:
        return {"dialogues": [row | {of: row[of] * scale[of] for of in scale} for row in rows["dialogues"]]}
    runs = list(dict.fromkeys(row["run"] for row in rows["changes"]))
    letters = dict(zip(runs, "AB", strict=False))
    marks = {"correct": "=", "missed": "-", "wrong": "x", "over": "+"}
    whole = [
        {
            "run": f"{letters[run]}: {run}" if len(runs) > 1 else run,
            **{
                own["metric"]: own["value"] * scale[own["metric"]]
                for own in rows["scores"]
                if own["run"] == run and own["turn"] is None
            },
            **{f"{kind} changes": sum(row[kind] for row in rows["changes"] if row["run"] == run) for kind in marks},
        }
        for run in runs
    ]
    slots = [
        row | {"letter": letters[row["run"]], "mark": marks[row["kind"]] + "~" * row["carried"]}
        for row in rows["slots"]
    ]
    return {"whole": whole, "slots": slots}


def _of_replacement(rows: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """What was replaced, by slot, and what was not, by slot and value."""

    def counted(table: str, *keys: str) -> list[Row]:
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in rows[table]:
            groups.setdefault(tuple(row[key] for key in keys), []).append(row)
        return [
            {
                **dict(zip(keys, key, strict=True)),
                "dialogues": len({row["dialogue"] for row in group}),
                **{f"n_{name}": len({row[name] for row in group}) for name in ("value", "new") if name in group[0]},
                **{name: sum(row[name] for row in group) for name in ("states",) if name in group[0]},
                **{name: group[0][name] for name in ("said", "annotated") if name in group[0]},
            }
            for key, group in groups.items()
        ]

    unsaid = [row for row in rows["refused"] if row["reason"] == "not said"]
    rows = {**rows, "refused": [row for row in rows["refused"] if row not in unsaid]}
    return {"replaced": counted("replaced", "slot"), "refused": counted("refused", "slot", "value"), "unsaid": unsaid}


def _of_missing(rows: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Slots that lack an annotation; the rates of each speaker beside those of both."""
    modified = [
        row | {"name": row["slot"] or row["domain"] or "total", "percent": 100 * row["share"]}
        for row in rows["modified"]
        if row["dialogues"]
    ]
    of_speaker = {(row["slot"], row["speaker"]): row for row in rows["shares"]}
    rates = [
        row
        | {f"{speaker}_rate": of_speaker[row["slot"], speaker]["rate"] for speaker in ("user", "system")}
        | {"by_system": of_speaker[row["slot"], "system"]["missing"] / row["missing"]}
        for row in rows["rates"]
        if row["missing"]
    ]
    return {"modified": modified, "rates": rates}


def _of_bias(rows: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Rows by the short names of countings; values that a split lacks, and of how many a value is."""
    new = {
        name: [row | {"count": row["counting"][:3]} for row in rows[name]] for name in ("slots", "values", "overlap")
    }
    counts = {(row["split"], row["count"], row["slot"]): row["n"] for row in new["slots"]}
    there = {(row["split"], row["count"], row["slot"], row["value"]): row for row in new["values"]}
    absent = {"n": 0, "share": 0.0}
    new["values"] = [
        {**there.get((split, count, slot, value), absent), "split": split, "count": count, "slot": slot, "value": value,
         "of": counts[split, count, slot]}
        for count, slot, value in {key[1:] for key in there} for split in {key[0] for key in there}
    ]  # fmt: skip
    return new


#: What tables of a command compute of its JSON.
OWN: Mapping[str, Callable[[Mapping[str, list[Row]]], dict[str, list[Row]]]] = {
    "show": _of_show,
    "audit replace": _of_replacement,
    "audit inconsistency": _of_missing,
    "audit bias": _of_bias,
    "audit memorisation": lambda rows: {"slots": [row for row in rows["slots"] if row["ungrounded"]]},
    "audit contradictions": lambda rows: {"slots": [r for r in rows["slots"] if r["contradicting"] or r["unsaid"]]},
    "audit review": lambda rows: {
        "additions": [row | {"slot": row["slot"] or "all"} for row in rows["additions"]],
        "dialogues": [row | {"complete_share": row["complete"] / row["dialogues"]} for row in rows["dialogues"]],
    },
}


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


def read(
    command: str, tables: Sequence[Table], result: Mapping[str, Sequence[Row]], views: Mapping[str, Sequence[View]] = {}
) -> Iterator[Shown]:
    """Every cell of the tables of a command, with the row of the JSON that it is of: see `read_views`.

    `views` says which rows and keys tables show; none: `VIEWS`.
    """
    return read_views(command, (views or VIEWS)[command], tables, prepared(command, result))


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
    for table in map(_with_names, tables):
        view, title = next(((view, m) for view in views if (m := re.fullmatch(view.title, table.title))), (None, None))
        assert view, f"{command}: no view of the table {table.title!r} with {table.columns}"
        assert title
        fixed = {**view.where, **{key: text for key, text in title.groupdict().items() if text is not None}}
        rows = [row for row in result[view.table] if all(_names(text, row, key) for key, text in fixed.items())]
        seen = shown_rows.setdefault(view.table, set()) if view.every else set[int]()
        places = {row.get("id", id(row)): at for at, row in reversed([*enumerate(rows)])}
        last = -1
        for cells in _one_by_one(table, view.lists) if view.lists else table.rows if not view.triangle else ():
            heads = [f"{head}@" if head in table.columns[:at] else head for at, head in enumerate(table.columns)]
            of_row = dict(zip(heads, cells, strict=True))
            keys = {key: of_row[column] for column, key in view.keys.items() if column in of_row}
            if "group" in view.keys and "group" in of_row:
                keys[view.keys["group"]] = of_row["group"].partition(": ")[0]
            mine = [row for row in rows if all(_names(text, row, key) for key, text in keys.items())]
            at = min((places[row.get("id", id(row))] for row in mine), default=-1)
            assert at > last or not ordered, f"{table.title}: {keys} is not where the JSON has it"
            last = at
            for column, cell in of_row.items():
                if column in view.keys:
                    continue
                if column.endswith(" !") and not any(pattern.endswith("!") for pattern in view.cells):
                    assert not cell, f"{table.title}: {column} has a mark"
                    continue
                shows = _of_column(view, column)
                where = dict(shows.where)
                exact = (
                    mine[:1]
                    if not shows.keys
                    else [row for row in mine if all(_names(text, row, key) for key, text in where.items())]
                )
                if not exact and not cell:
                    continue  # there is no such row
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
            place = "below" if other < at else "above"
            if place in cells:
                yield Shown(line[other + 1], cells[place], pair[0])
            else:
                assert not line[other + 1]


def _with_names(table: Table) -> Table:
    """The table with raised letters, of the rows that one is better than, as the names of these rows."""
    if table.columns[:1] != ("",) or not any(name.endswith(" ^") for name in table.columns):
        return table
    names = {row[0]: row[1] for row in table.rows}
    assert [*names] == [*"abcdefghijklmnopqrstuvwxyz"][: len(names)]
    rows = [
        tuple(
            ",".join(sorted(names[letter] for letter in cell)) if head.endswith(" ^") else cell
            for head, cell in zip(table.columns, row, strict=True)
        )
        for row in table.rows
    ]
    return Table(table.title, table.columns[1:], tuple(row[1:] for row in rows))


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
_RECONCILED = {
    r"value|change": Shows(("{0}",), 100), r"from the published score": Shows(("off",), 100),
    r"choice|meaning": Shows(("{0}",)),
}  # fmt: skip
_FIXED = {
    r"fixed|broken|net|p": number("{0}"), r"dialogues (better|worse)": number("{1}"), r"\*": Shows(("significant",)),
}  # fmt: skip
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

_OF_VERSIONS = {r"runs": number("runs"), r"(.+) \(n=\d+\)": value("value", version="{1}")}
#: The marks and classes of slots; the second run's are beside its predictions.
_OF_LETTER = {
    "": Shows(("mark",), 1, {"letter": "A"}), "@": Shows(("mark",), 1, {"letter": "B"}),
    "class": Shows(("class",), 1, {"letter": "A"}), "class@": Shows(("class",), 1, {"letter": "B"}),
}  # fmt: skip
_UNSAID = {r"% ungrounded": share("rate"), r"% frequent": share("share"), r"(.+)": Shows(("{1}",), 1)}

#: Each command to its tables.
VIEWS: Mapping[str, Sequence[View]] = {
    "score": [
        View("scores", r"|.* has the highest .*", {key: key for key in
             ("run", "domain", "slot", "turn", "length", "n_gold", "dialogue")}, {
            r"(turns|dialogues)": number("{1}"),
            r"(.+) exact": value("exact", metric="{1}"),
            r"accuracy \((.+)\)": value("value", metric="{1}"),
            r"(.+)": Shows(("value", "shown_se"), "unit", {"metric": "{1}"}),
        }),
    ],
    "traits": [
        View("bins", r"Mean scores by (?P<trait>\w+), .*", {"run": "run", "bin": "low"}, {
            r"n of (.+)": number("dialogues", metric="{1}"),
            r"(.+)": share("value", metric="{1}"),
        }),
        View("correlations", r"(?P<run>(?!Given).+): correlations.*", {}, _MATRIX, triangle=True),
        View("differences", r"Differences of correlations.*", {"run": "run", "of": "of"}, _R_DIFFERENCES),
        View("given", r"Given mistakes and turns: correlations, .*", {"run": "run", "first": "first"}, {
            r"(.+)": Shows(("r", "low", "high"), 1, {"second": "{1}"}),
        }),
        View("given_differences", r"Given mistakes and turns: differences .*", {"run": "run", "of": "of"},
             _R_DIFFERENCES),
    ],
    "correlate": [
        _CORRELATIONS,
        View("matrix", r"(?P<run>.+): number of rows", {}, {"below": number("n")}, triangle=True),
        View("differences", r"Differences of correlations .*", {"run": "runs"}, {
            r"(r\(.+\))": number("{1}"), **_R_DIFFERENCES,
        }),
        View("tests", r"Classical tests .*", {"run": "run", "test": "test"}, {r"(statistic|df|p)": number("{1}")}),
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
        View("dependence", r"The same given .*", {"metric": "metric"}, {
            r"(.+)": Shows(("partial", "partial_low", "partial_high"), 1, {"trait": "{1}"}),
        }),
        View("validity", r"Agreement with the order along size, .*", {"metric": "metric"}, {
            r"(.+)": Shows(("value", "low", "high"), 1, {"title": "{1}"}),
        }),
        View("reliability", r"Reliability: .*", {"metric": "metric"}, {
            r"swap rate": Shows(("swap_rate", "low", "high"), 100),
            r"tau of halves": number("tau_halves"), r"tau of all": number("tau_full"),
        }),
        View("sizes", r"Pairs of runs that .*", {"metric": "metric"}, {r"(\d+)": share("alike", dialogues="{1}")}),
    ],
    "sensitivity": [
        View("costs", r"(?P<kind>\w+): (?!put into|mended).*", {"metric": "metric"}, {
            r"(\d+)-\d+ %": share("loss", range="{1}"),
            r"bias": share("bias_bias"),
            r"\d+ % interval": interval(100, "bias_low", "bias_high"),
            r"relative": number("bias_relative"),
        }),
        *(View("own_costs", rf"(?P<kind>\w+): {title}.*", {"metric": "metric"}, {
            r"(\d+)-\d+ %": share("loss", range="{1}"),
            r"bias": share("bias_bias"),
            r"\d+ % interval": interval(100, "bias_low", "bias_high"),
            r"relative": number("bias_relative"),
        }, where={"way": way}, every=False) for way, title in (("put in", "put into"), ("mended", "mended"))),
        View("own_bias", r"Blind spots.*", {"metric": "metric"}, {r"(.+)": share("blind", kind="{1}")},
             where={"way": "put in"}, every=False),
    ],
    "sweep": [
        View(
            "sweep", r"(?P<metric>\w+)", {"profile": "profile"}, {r"(.+)": value("value", run="{1}")}, lists="profile"
        ),
        View("sweep", r"|(?P<run>.+): the same predictions.*", {"profile": "profile"}, {
            r"changed .*": Shows(()),
            r"(.+)": value("value", metric="{1}"),
        }, lists="profile"),
    ],
    "reconcile": [
        View("steps", r"from the score here .*", {"step": "step", "metric": "metric"}, _RECONCILED),
        View("sets", r"(sets of choices that|the nearest set of) .*", {"choices": "choices", "metric": "metric"},
             _RECONCILED, every=False),
        View("choices", r"single choices.*", {"choice": "choice", "metric": "metric"}, _RECONCILED, every=False),
    ],
    "diff": [
        View("totals", r"turns and values", {"of": "of"}, _FIXED),
        *(View("groups", rf"values by {by}.*", {by: "group"}, _FIXED, {"by": by}, every=False)
          for by in ("slot", "domain", "class", "turn")),
        View("dialogues", r"dialogues to read first", {"dialogue": "dialogue"},
             {r"(turns|values) (fixed|broken)": number("{1}_{2}")}),
    ],
    "pairs": [
        View("pairs", r"", {key: key for key in ("run", "slot", "gold", "pred")}, {r"turns": number("turns")}),
    ],
    "check": [
        View("checks", r"Outcomes", {"check": "check"}, {r"(.+)": Shows(("status",), 1, {"run": "{1}"})}),
        View("checks", r"(?P<check>(?!Outcomes).+)", {"run": "run"}, {r"(status|found)": Shows(("{1}",))}, every=False),
        View("checks", r"", {"run": "run", "check": "check"}, {r"(status|found)": Shows(("{1}",))}),
    ],
    "query": [View("rows", r"", {"run": "run", "metric": "metric"}, {r"(.+)": number("{1}")})],
    "show": [
        View("dialogues", r".+: the lowest .*|.* differs most .*", {"run": "run", "dialogue": "dialogue"}, {
            r"turns": number("turns"), r"wrong turns": number("wrong_turns"), r"first wrong": number("first_wrong"),
            r"(.+)": number("{1}"),
        }),
        View("slots", r"turn (?P<turn>\d+).*", {"slot": "slot"}, {
            r"gold": Shows(("gold",)), r"predicted": Shows(("pred",), 1, {"letter": "A"}),
            r"predicted (\w)": Shows(("pred",), 1, {"letter": "{1}"}),
            **_OF_LETTER,
        }),
        View("whole", r".*: \d+ turns", {"run": "run"}, {r"(.+)": number("{1}")}),
    ],
    "audit bias": [
        View("slots", r"How evenly .*", {"slot": "slot", "split": "split"}, {
            r"R": number("values", count="cum"), r"most frequent": Shows(("most_frequent",), 1, {"count": "cum"}),
            r"H1 (\w+)": number("h1_h0", count="{1}"), r"H∞ (\w+)": number("hinf_h0", count="{1}"),
            r"% (\w+)": share("share", count="{1}"),
        }),
        View("values", r"Most frequent values, cumulative.*", {"slot": "slot", "value": "value"}, {
            r"(\w+) n": number("n", split="{1}", count="cum"), r"(\w+) of": number("of", split="{1}", count="cum"),
            r"(\w+) %": share("share", split="{1}", count="cum"),
        }, every=False),
        View("overlap", r"Values of other splits .*, cumulative", {"slot": "slot", "split": "split"}, {
            r"(values|n)": number("{1}", count="cum"), r"seen": number("values_seen", count="cum"),
            r"% seen": share("share_values_seen", count="cum"), r"% of n": share("share_n_seen", count="cum"),
            r"most frequent in train": Shows(("train_most_frequent",), 1, {"count": "cum"}),
            r"% there": share("train_share", count="cum"), r"% here": share("share", count="cum"),
        }, every=False),
    ],
    "audit scores": [
        View("models", r"(?P<metric>jga|sa)", {"model": "model"}, _OF_VERSIONS),
        View("slots", r"(?P<model>.+): turns in which .*", {"slot": "slot"}, {
            r"% of (.+)": share("share", version="{1}"), r"(.+)": number("error_turns", version="{1}"),
        }),
    ],
    "audit inconsistency": [
        View("modified", r"(Annotations are missing|Dialogues that lack) .*", {"slot": "name"}, {
            r"dialogues \(%\)": Shows(("dialogues", "percent"), 1),
        }),
        View("rates", r"(Annotations missing: |by system: ).*", {"slot": "slot"}, {
            r"(annotated|missing|late)": number("{1}"), r"%": share("rate"), r"(user|system)'s": share("{1}_rate"),
            r"by system": share("by_system"),
        }),
    ],
    "audit review": [
        View("measures", r"Estimated .*", {"unit": "unit", "measure": "measure"}, {
            r"% estimate": share("value"), r"(low|high)": share("{1}"), r"% in sample": share("in_sample"),
        }),
        View("additions", r"In the sample: additions", {"slot": "slot"}, {
            r"% right": share("share"), r"(low|high)": share("{1}"), r"(.+)": number("{1}"),
        }),
        View("dialogues", r"In the sample: dialogues", {"group": "group"}, {
            r"% right": share("share"), r"% complete": share("complete_share"), r"(.+)": number("{1}"),
        }),
    ],
    "audit memorisation": [
        View("runs", r"Predicted values .*", {"run": "run", "kind": "kind"}, _UNSAID),
        View("slots", r"By slot.*", {"run": "run", "slot": "slot", "kind": "kind"}, _UNSAID),
        View("examples", r"The most frequent .*", {key: key for key in ("run", "slot", "kind", "value")}, {
            r"(.+)": Shows(("{1}",), 1),
        }),
    ],
    "audit contradictions": [
        View("slots", r"Gold values .*", {"slot": "slot"}, {
            r"differ": number("contradicting"), r"% differ": share("rate_contradicting"),
            r"% unsaid": share("rate_unsaid"), r"(.+)": number("{1}"),
        }),
        View("values", r"Values that .*", {"slot": "slot", "value": "value", "dialogue": "dialogue", "turn": "turn"}, {
            r"(.+)": Shows(("{1}",), 1),
        }),
    ],
    "audit replace": [
        View("replaced", r"Replaced .*", {"slot": "slot"}, {
            r"values": number("n_value"), r"new": number("n_new"), r"(.+)": number("{1}"),
        }),
        View("refused", r"Not replaced.*", {"slot": "slot", "value": "value"}, {r"(.+)": number("{1}")}),
        View("unsaid", r"(Left out|Kept as they were).*", {"dialogue": "dialogue", "slot": "slot", "value": "value"}, {
            r"turn": number("turn"),
        }),
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

_OF_PAPERS = {
    r"(.+) ±": value("se", title="{1}"),
    r"(.+) !": Shows(("best",), 1, {"title": "{1}"}),
    r"(.+)": value("value", title="{1}"),
}
_BY = {key.capitalize(): key for key in ("run", "domain", "slot", "turn", "length", "n_gold", "dialogue")}
#: Each command to its tables in LaTeX, where these are not those of its text.
PAPER: Mapping[str, Sequence[View]] = {
    "score": [
        View("scores", r".*", {"group": "run", **_BY}, {
            r"(Turns|Dialogues) !": Shows(("none",), 1), r"Turns": number("turns"), r"Dialogues": number("dialogues"),
            r"(.+), exact ±": Shows(("none",), 1, {"title": "{1}"}),
            r"(.+), exact !": Shows(("exact_best",), 1, {"title": "{1}"}), r"(.+), exact": value("exact", title="{1}"),
            r"accuracy \((.+)\)": value("value", metric="{1}"),
            **_OF_PAPERS,
        }),
    ],
    "compare": [
        View("models", r".* \(means and .*", {"Model": "model"}, {
            **_OF_PAPERS, r"(.+) ±": Shows(("sd", "low", "high"), "unit", {"title": "{1}"}),
        }),
        View("scores", r"Scores .*", {"Run": "run"}, {
            r"(.+) \^": Shows(("beats",), 1, {"title": "{1}"}), **_OF_PAPERS, r"(.+) ±": interval(title="{1}"),
        }),
    ],
    "sweep": [
        View("sweep", r"Scores .*Bold: the best run.*", {"group": "title", "Convention": "profile"}, {
            r"(.+) !": Shows(("best",), 1, {"run": "{1}"}), r"(.+)": value("value", run="{1}"),
        }, lists="Convention"),
        View("sweep", r"(?P<title>.+) \(%\) of the same .*Bold: the best run.*", {"Convention": "profile"}, {
            r"(.+) !": Shows(("best",), 1, {"run": "{1}"}), r"(.+)": value("value", run="{1}"),
        }, lists="Convention"),
        View("sweep", r".*", {"Convention": "profile"}, {r"(.+)": value("value", title="{1}")}, lists="Convention"),
    ],
    "correlate": [
        View("rated", r"Correlations with people's .*", {"Metric": "title"}, {
            r"(.+) ±": interval(1, coefficient="{1}"), r"(.+)": number("value", coefficient="{1}"),
        }),
        View("differences", r"Differences of correlations .*", {"run": "runs"}, {
            r"(r\(.+\))": number("{1}"), **_R_DIFFERENCES,
        }),
        View("tests", r"Classical tests .*", {"run": "run", "test": "test"}, {r"(statistic|df|p)": number("{1}")}),
        View("whole", r"Pearson correlations .*", {"": "second_title"}, {
            r"(.+) ±": interval(1, first_title="{1}"), r"(.+)": number("r", first_title="{1}"),
        }),
    ],
    "compare-metrics": [
        View("spread", r"Metrics over .*", {"Metric": "title"}, {
            r"Mean ±": value("sd"), r"Mean": value("mean"), r"Range": value("range"),
            r"sd/se": number("signal_to_noise"), r"Apart": number("apart"), r"Holm": number("apart_adjusted"),
            r"Detectable": value("median_detectable"),
        }),
    ],
    "sensitivity": [
        View("own_costs", r"What one error put into .*", {"group": "kind", "": "title"}, {
            r"(\d+)-\d+ %": share("loss", range="{1}"), r"Position bias": share("bias_bias"),
            r"Position bias ±": interval(100, "bias_low", "bias_high"),
        }, where={"way": "put in"}, every=False),
        View("costs", r"What one error costs.*", {"group": "kind", "": "title"}, {
            r"(\d+)-\d+ %": share("loss", range="{1}"), r"Position bias": share("bias_bias"),
            r"Position bias ±": interval(100, "bias_low", "bias_high"),
        }),
    ],
    "traits": [
        View("whole", r"Pearson correlations .*", {"Run": "run"}, {
            r"n": number("n"), r"(.+) ±": interval(1, of="{1}"), r"(.+)": number("r", of="{1}"),
        }),
    ],
    "diagnose": [
        View("whole", r"Where runs fail.*", {"Run": "run"}, {
            r"Failing": share("failing_share"), r"Recovered": share("recovered_share"), r"Missed": share("missed"),
            r"Wrong": share("wrong"), r"Over-predicted": share("over"),
        }),
    ],
    "audit scores": [View("models", r"Scores on .*", {"group": "title", "model": "model"}, _OF_VERSIONS)],
}  # fmt: skip
