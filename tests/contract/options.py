"""Every option of every command: a valid value that is not the default, and what it changes.

A row says what the output of a command must change in, compared with the same command line without the option. `ROWS`
has one for each option of each command; `test_options.py` runs them, and fails for an option without one.

Many commands share groups of options, each of which a command passes on as a whole. Of these rows, the first layer of
tests has those of `score` and `convert`; of other commands it has those that need no other words together with others
(`test_several_options_at_once`), and one in turn of those that do. The others are in `LATER`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

#: The files of the trackers; ``{}`` is the tracker.
OWN: Final = "{}.jsonl"
TRACKERS: Final = ("keen", "steady", "hasty")
#: Keys of JSON that repeat what was asked for; an option must change more.
ECHO: Final = {"signature", "notes"}


@dataclass(frozen=True)
class Row:
    """An option's value, and what it changes.

    Attributes:
        value: The words after the option; empty: it is a flag.
        changes: Keys of the JSON (or names of files) whose values must change; empty: any but those of `ECHO`.
        keeps: Keys whose values must not change.
        both: Words of both command lines, before the option.
        other: Words of the other command line, in place of the option.
        runs: The files of the trackers.
        line: The command line, if it is not that of `LINES`.
        form: The format of the output; empty: the command has no ``--format``, or `line` has it.
        columns: Width of the terminal.
        err: Whether it changes what is written to standard error.
        fails: A text of the error that the option leads to; empty: both succeed.
        signed: Whether the option changes nothing but the signature, as it concerns what this command does not compute.
        mends: Whether the command fails without the option.
    idle: Why the option changes nothing here.
    fault: The error that it ends in today, a fault that is known.
    """

    value: str = ""
    changes: str = ""
    keeps: str = ""
    both: str = ""
    other: str = ""
    runs: str = OWN
    line: str = ""
    form: str = "json"
    columns: int | None = None
    err: bool = False
    fails: str = ""
    signed: bool = False
    mends: bool = False
    idle: str = ""
    fault: type[Exception] | None = None

    @property
    def stands_alone(self) -> bool:
        """Whether the option needs no other words, so that other options may stand beside it."""
        return self == Row(self.value, self.changes, self.keeps)


#: A usual command line of each command; ``RUNS`` are three trackers, ``RUN`` is one, ``PAIR`` are two.
LINES: Final = {
    "score": "score RUN -m jga,sa",
    "compare": "compare PAIR -m jga,sa --resamples 40",
    "pairs": "pairs RUNS --match levenshtein:above=0.2 --fuzzy all",
    "sweep": "sweep RUN -m sa --profiles verbatim,trade",
    "check": "check RUN",
    "reconcile": "reconcile 50 RUN --most 1",
    "diff": "diff PAIR --resamples 40",
    "signature": "signature jga|profile:verbatim.1|by:run",
    "diagnose": "diagnose RUN",
    "traits": "traits RUN -m jga,sa",
    "correlate": "correlate RUN -m jga,sa,f1",
    "show": "show RUN -m jga,sa --most 20",
    "query": "query QUERY RUN -m jga,sa",
    "compare-metrics": "compare-metrics RUNS -m jga,sa --resamples 40",
    "sensitivity": "sensitivity gold.jsonl -m jga,sa",
    "report": "report RUN -m jga,sa --most 1 -o -",
    "convert": "convert RUN -o out/x.parquet",
    "contexts": "contexts gold.jsonl -o out/x.parquet",
    "demo": "demo --dialogues 1 -o out",
    "ls": "ls steps",
    "help": "help questions",
    "audit bias": "audit bias train.jsonl gold.jsonl",
    "audit diff": "audit diff gold.jsonl later.jsonl",
    "audit scores": "audit scores RUN --version a=gold.jsonl --version b=later.jsonl -m jga,sa --profile verbatim",
    "audit inconsistency": "audit inconsistency gold.jsonl --support 2",
    "audit review": "audit review sheet.csv",
    "audit contradictions": "audit contradictions gold.jsonl --database db",
    "audit replace": "audit replace gold.jsonl --train train.jsonl --donors donors.json -o out/x.jsonl",
    "audit memorisation": "audit memorisation RUN --context gold.jsonl",
}
_COMPARED: Final = "compare RUNS -m jga,sa --resamples 40"
_THREE: Final = "report RUNS -m jga,sa --most 1 -o -"
#: Commands without ``--format``.
FORMLESS: Final = ("signature", "convert", "contexts", "help")

SCORING: Final = ("score", "compare", "sweep", "check", "diagnose", "traits", "correlate", "query", "compare-metrics",
                  "report", "audit memorisation")  # fmt: skip
RUNS_OF: Final = (*SCORING, "pairs", "reconcile")
READING: Final = (*RUNS_OF, "show", "convert", "diff")
BY_CONVENTION: Final = ("score", "compare", "check", "diagnose", "traits", "correlate", "show", "query", "diff",
                        "compare-metrics", "sensitivity", "report", "audit scores", "audit memorisation")  # fmt: skip
BY_VALUES: Final = (*BY_CONVENTION, "pairs", "audit diff")
BY_GOLD: Final = (*BY_VALUES, "audit bias")
DRAWN: Final = ("score", "compare", "sweep", "reconcile", "diagnose", "traits", "correlate", "compare-metrics",
                "sensitivity", "report", "audit bias", "audit diff", "audit scores", "audit inconsistency",
                "audit memorisation")  # fmt: skip

ROWS: Final[dict[tuple[str, str], Row]] = {}
#: Commands of which the first layer runs all rows: one that passes options on as all others do, and one that does not.
_WHOLE: Final = ("score", "convert")
#: Commands that take long: the second layer alone runs the options that they share with many, and several at once.
SLOW: Final = ("report", "reconcile", "compare-metrics")
#: Rows that only the second layer runs.
LATER: set[tuple[str, str]] = set()


def _add(commands: tuple[str, ...] | str, first: int = 0, of: int = 8, /, **options: Row) -> None:
    """Rows of the same options of several commands; ``label_map`` is ``--label-map``.

    Args:
        commands: The commands, or one.
        first: The place of the first option in what commands pass on as a whole.
        of: How many options these are.
        **options: The rows.
    """
    commands = (commands,) if isinstance(commands, str) else commands
    quick = [command for command in commands if command not in SLOW]
    for command in commands:
        number = quick.index(command) if command in quick else -1
        for place, (option, row) in enumerate(options.items(), first):
            own = replace(row, form="") if command in FORMLESS else row
            key = command, f"--{option.strip('_').replace('_', '-')}"
            ROWS[key] = own
            is_first = number >= 0 and number % max(of, len(options)) == place
            if len(commands) >= 8 and command not in _WHOLE and (own.stands_alone or not is_first):
                LATER.add(key)


# --- how runs are read ------------------------------------------------------------------------------------------------

_FROM: Final = Row("trade", fails="broken JSON")  # a file of that format is one JSON document
_add(
    READING,
    gold=Row("later.jsonl"),
    from_=_FROM,
    missing=Row("empty", other="--missing intersect", both="--gold gold.jsonl", runs="bare_{}.jsonl"),
    split=Row("dev", other="--split test", both="--gold splits"),
    keys=Row("id=flag,gold=truth_a,pred=answer_b", other="--keys id=flag,gold=truth_a,pred=answer_a",
             runs="keyed_{}.json"),
    slot_map=Row("slots.csv", both="--gold gold.jsonl", runs="renamed_{}.jsonl"),
    id_map=Row("ids.csv", both="--gold gold.jsonl --missing wrong", runs="own_{}.jsonl"),
    turns_from=Row("1", both="--gold gold.jsonl --missing wrong", runs="late_{}.jsonl", mends=True),
    turn_step=Row("2", both="--gold gold.jsonl --missing wrong", runs="double_{}.jsonl", mends=True),
    unreadable=Row("wrong", runs="cut_{}.jsonl", mends=True),
)  # fmt: skip
_add(
    RUNS_OF,
    name=Row("NAMES", changes="run", keeps="value turns"),
    engine=Row("ray", fails="ray"),
    address=Row("localhost:1", fails="the local engine has no address"),
)
_add("compare-metrics", name=Row("NAMES", changes="run", keeps="mean"))
_add(("pairs", "audit memorisation"),
     missing=Row("empty", both="--gold gold.jsonl", runs="bare_{}.jsonl", mends=True))  # fmt: skip
_add("check", missing=replace(ROWS["check", "--missing"], changes="found"))
_add("convert", name=Row("another", changes="run", keeps="gold pred"))
_add(
    "audit scores",
    from_=_FROM,
    missing=Row("empty", other="--missing intersect", runs="bare_{}.jsonl"),
    split=Row("dev", other="--split test",
              line="audit scores RUN --version a=splits --version b=splits -m jga --profile verbatim"),
)  # fmt: skip
_add("contexts", from_=Row("trade", fails="hold no utterances"))
ONE_SPLIT: Final = {
    "sensitivity": "sensitivity splits -m jga,sa",
    "audit bias": "audit bias splits",
    "audit diff": "audit diff splits splits",
    "audit inconsistency": "audit inconsistency splits --support 2",
    "audit contradictions": "audit contradictions splits",
    "contexts": "contexts splits -o out/x.parquet",
}
for _command, _line in ONE_SPLIT.items():
    _add(_command, split=Row("dev", other="--split train", line=_line))

# --- how values are compared ------------------------------------------------------------------------------------------

_add(
    BY_GOLD,
    0,
    10,
    profile=Row("mine.toml"),
    none=Row("keep"),
    dontcare=Row("skip"),
    gold_steps=Row("case,articles"),
    typos=Row("typos.json", both="--gold-steps typos"),
)
_add(
    BY_VALUES,
    5,
    10,
    multi=Row("any"),
    match=Row("levenshtein:above=0.5"),
    fuzzy=Row("all", both="--match levenshtein:above=0.3"),
    label_map=Row("labels.json"),
    schema=Row("sgd/schema.json", runs="sgd_{}.json", both="--gold sgd"),
)
_add(
    BY_CONVENTION,
    slots=Row("dstc10-19"),
    outside=Row("dropped", both="--slots dstc10-19"),
    pred_steps=Row("times"),
    seen=Row("seen.json", runs="sgd_{}.json", both="--gold sgd --schema sgd/schema.json", signed=True),
    over=Row("free"),
    wrong_costs=Row("twice"),
    turns=Row("last"),
    unit=Row("frame"),
    domain_turns=Row("either", both="--unit frame"),
    booking=Row("as-written", runs="unbooked_{}.jsonl"),
)

# --- what is written --------------------------------------------------------------------------------------------------

WRITTEN: Final = (*SCORING, "pairs", "show", "sensitivity", "audit bias", "audit diff", "audit scores", "audit review",
                  "audit contradictions", "reconcile", "diff")  # fmt: skip
_add(
    tuple(command for command in WRITTEN if command != "report"),
    output=Row("out/x.txt", changes="text x.txt", form="csv"),
    label=Row("tab:mine", changes="text", form="latex"),
)
_add(
    (*WRITTEN, "audit inconsistency", "audit replace"), format=Row("md", other="--format csv", changes="text", form="")
)
_add(DRAWN, charts=Row("out/charts", changes="charts"), figures=Row("out/figures", changes="figures"))
_add(
    DRAWN,
    2,
    8,
    figure_format=Row("pdf", both="--figures out/figures", changes="figures"),
    width=Row("317", both="--figures out/figures", changes="figures"),
)
WIDE: Final = (*(c for c in WRITTEN if c != "report"), "audit inconsistency", "audit replace", "demo", "ls")
_MANY: Final = "jga,sa,rsa,aga,f1,fga,gca,tla"
_WIDE: Final = Row(form="text", columns=40, changes="text")
_SIGNED: Final = ("score", "compare", "diagnose", "traits", "correlate", "show", "compare-metrics", "sensitivity",
                  "audit scores", "audit memorisation")  # fmt: skip
_add(WIDE, all=_WIDE, signature=Row(form="text", idle="its text has no signature"))
_add((*_SIGNED, "demo"), signature=Row(form="text", changes="text"))
_add("query", all=replace(_WIDE, line="query LONG RUN"))
_add("sweep", all=replace(_WIDE, line=f"sweep RUN -m {_MANY}"))
_add("check", all=Row(form="text", changes="text", line="check RUNS"))
_add("signature", all=Row(changes="text"))
_add("ls", all=replace(_WIDE, line="ls profiles"))
_add("ls", expressions=Row(line="ls metrics", changes="value"))
_NOTED: Final = Row(err=True, both="--gold gold.jsonl --missing wrong", runs="bare_{}.jsonl")
_QUIET: Final = Row(idle="it has no notes")
_add(tuple(LINES), plugins=Row("PLUGIN", changes="imported"), verbose=_QUIET)
_add(RUNS_OF, verbose=_NOTED)
_add("reconcile", verbose=Row(idle="of its one run, there is one note of each kind"))
for _command, _line in {
    "score": "score RUNS -m jga,sa",
    "sweep": "sweep RUNS -m jga --profiles verbatim",
    "check": "check RUNS",
    "diagnose": "diagnose RUNS",
    "traits": "traits RUNS -m jga,sa",
    "correlate": "correlate RUNS -m jga,sa,f1",
    "query": "query QUERY RUNS",
    "audit memorisation": "audit memorisation RUNS --context gold.jsonl",
    "report": _THREE,
    "show": "show RUN --against bare_hasty.jsonl -m jga",
    "diff": "diff PAIR",
}.items():
    _add(_command, verbose=replace(_NOTED, line=_line))
for _command, _line in {
    "audit scores": "audit scores RUN --version a=first.json --version b=second.json -m jga --profile verbatim",
    "audit bias": "audit bias first.json second.json",
    "audit diff": "audit diff first.json second.json",
    "audit inconsistency": "audit inconsistency first.json --evidence second.json --support 2",
    "audit replace": "audit replace gold.jsonl --train first.json --donors annexed.json -o out/x.jsonl",
}.items():
    _add(_command, verbose=Row(err=True, line=_line))

# --- options of few commands ------------------------------------------------------------------------------------------

_SEEN: Final = ROWS["score", "--seen"]
_add(
    "score",
    seen=replace(
        _SEEN,
        value="sgd/schema.json",
        other="--seen seen.json",
        both=f"{_SEEN.both} --by seen --unit frame",
        signed=False,
        changes="seen value",
    ),
)
_add(("check",), seen=replace(_SEEN, signed=False, idle="no outcome is by service"))
_add(
    ("score", "compare", "traits", "correlate", "show", "query", "compare-metrics", "sensitivity", "report",
     "audit scores"),
    metrics=Row("rsa,sa"),
)  # fmt: skip
_add("sweep", metrics=Row("jga"))
_add("query", metrics=Row("rsa,sa", changes="metric value"))
_add(
    "score",
    by=Row("domain", changes="domain value"),
    group=Row("first=keen,hasty", changes="text", form="text", line="score RUNS -m jga,sa"),
    along=Row("seed=seeds.csv", changes="seed", line="score RUNS -m jga,sa"),
    format=Row("md", other="--format csv", both="-o out/x.json", changes="x.json", form=""),  # it beats the file's name
    domain_turns=Row("either", both="--by domain", changes="value"),
)
_add(
    "pairs",
    pred_steps=Row("times"),
    fuzzy=Row("text", other="--fuzzy all", line="pairs RUNS --match levenshtein:above=0.2"),
)
_add("diagnose", wrong_costs=Row("twice", signed=True))
_add(
    "sensitivity",
    multi=Row("any", signed=True),
    match=Row("levenshtein:above=0.95", signed=True),
    pred_steps=Row("times", signed=True),
    schema=Row("sgd/schema.json", line="sensitivity sgd -m jga,sa", signed=True),
    seen=Row("seen.json", line="sensitivity sgd -m jga --schema sgd/schema.json", signed=True),
    domain_turns=Row("either", both="--unit frame", signed=True),
    booking=Row("as-written", signed=True),
)
_OF_SGD: Final = "audit memorisation RUN --gold sgd --context sgd"
_add(
    "audit memorisation",
    schema=Row("sgd/schema.json", line=_OF_SGD, runs="sgd_{}.json"),
    seen=Row("seen.json", line=_OF_SGD, both="--schema sgd/schema.json", runs="sgd_{}.json", signed=True),
    wrong_costs=Row("twice", signed=True),
    unit=Row("frame", signed=True),
    domain_turns=Row("either", both="--unit frame", signed=True),
)
_INTERVALS: Final = "low high"
_add(
    ("compare", "report"),
    baseline=Row("steady", changes="baseline"),
    model=Row("two=steady,hasty", changes="run"),
    seed=Row("5", changes=_INTERVALS, keeps="value difference"),
    level=Row("0.8", changes=_INTERVALS, keeps="value difference"),
    adjust=Row("none", changes="p_adjusted", keeps="p value"),
)
_add(
    "compare", **{_option: replace(ROWS["compare", f"--{_option}"], line=_COMPARED) for _option in ("model", "adjust")}
)
for _line, *_options in ((_THREE, "model", "adjust"), (_THREE.replace("RUNS", "PAIR"), "baseline", "seed", "level")):
    _add("report", **{_option: replace(ROWS["report", f"--{_option}"], line=_line) for _option in _options})
LATER -= {("audit bias", "--none")}  # its one option of those above
# Those that take two reports each, and those of which `test_page.py` and `rendering/test_paper.py` know more.
LATER |= {("report", f"--{_option}") for _option in (
    "model", "baseline", "adjust", "context", "seed", "level", "title", "note", "most", "paper", "engine", "unreadable",
    "figures",
)}  # fmt: skip
_add(
    "diff",
    most=Row("1", changes="dialogue", keeps="fixed"),
    resamples=Row("60", changes="p", keeps="fixed"),
    seed=Row("5", changes="p", keeps="fixed"),
    level=Row("0.5", changes="significant", keeps="p"),
    all=Row(form="text", changes="text"),
    read=Row(changes="pred"),
    context=Row("mute.jsonl", both="--read", other="--context gold.jsonl", changes="user"),
)
LATER |= {("reconcile", "--name"), ("demo", "--dialogues"), ("diff", "--read")}  # which take more than a second
for _option in ("wrong-costs", "unit", "domain-turns", "seen"):  # `diff` counts values and turns
    del ROWS["diff", f"--{_option}"]
_add(
    "reconcile",
    with_=Row("sa", changes="metric"),
    profile=Row("star", changes="value"),
    other_gold=Row("mine=later.jsonl", changes="choice"),
    label_map=Row("labels.json", changes="choice"),
    most=Row("2", changes="size", other="--most 1", line="reconcile 50 RUN"),
)
_add("compare", resamples=Row("60", changes=_INTERVALS, keeps="value difference"),
     pairs=Row(form="latex", changes="text"))  # fmt: skip
_add(
    "compare-metrics",
    resamples=Row("7", changes="low", keeps="mean sd"),
    seed=Row("5", changes="low", keeps="mean sd"),
    level=Row("0.5", changes="level apart", keeps="mean sd"),
    adjust=Row("none", changes="apart_adjusted", keeps="apart"),
    along=Row("size=sizes.csv", other="--along size=orders.csv", changes="number"),
    table=Row("published.csv", other="RUNS", line="compare-metrics -m jga,fga --resamples 40", changes="mean"),
)
_add(
    "sweep",
    profiles=Row("kim2022,star", line="sweep RUN -m jga", other="--profiles verbatim,trade", changes="profile value"),
    label_map=Row("labels.json", line="sweep RUN -m jga --profiles trippy,verbatim", fails=""),
    typos=Row("typos.json", line="sweep RUN -m jga --profiles trade,verbatim", changes="value"),
    target=Row("25.0", changes="text", form="text"),
)
_add(
    "check",
    ontology=Row("ontology.json", changes="found"),
    all=Row(line="check RUNS", form="text", changes="text"),
    strict=Row(line="check RUN", changes="code", keeps="found"),
)
_add("diagnose", few=Row("4", changes="share_with_few_slots", keeps="value"), all=Row(form="text", changes="text"))
_add(
    "traits",
    to=Row("sum", changes="r"),
    nu=Row("released", changes="r"),
    protocol=Row("released", changes="r", keeps="sa"),
    level=Row("0.8", changes=_INTERVALS, keeps="r value"),
    disagree=Row("jga sa", changes="difference"),
    most=Row("2", both="--disagree jga sa", changes="difference", keeps="r"),
)
_add(
    "correlate",
    per=Row("turn", changes="r"),
    versus=Row("jga,sa,f1", changes="difference"),
    between_runs=Row(line="correlate RUNS -m jga,sa", changes="difference"),
    ratings=Row("ratings.csv", line="correlate RUNS -m jga,sa", changes="r"),
    test=Row("steiger1980", both="--versus jga,sa,f1", changes="test"),
    level=Row("0.8", changes=_INTERVALS, keeps="r"),
)
_add(
    "show",
    against=Row("hasty.jsonl"),
    context=Row("mute.jsonl", other="--context gold.jsonl", line="show RUN MUL1207 -m jga"),
    most=Row("2", changes="dialogue"),
)
_add(
    "query",
    all=Row(line="query LONG RUN", form="text", changes="text"),
    table=Row("own=lengths.csv", other="--table own=ratings.csv", line="query OWN RUN", changes="dialogue"),
)
_add(
    "sensitivity",
    gold=Row("later.jsonl", line="sensitivity RUN -m jga,sa"),
    gold_only=Row(line="sensitivity RUN -m jga,sa", changes="way"),
    missing=Row(
        "empty", other="--missing intersect", line="sensitivity RUN -m jga --gold gold.jsonl", runs="bare_{}.jsonl"
    ),
    kinds=Row("missed,late", changes="kind"),
    bins=Row("3", changes="bin loss"),
    sample=Row("1", changes="loss"),
    seed=Row("5", both="--sample 1", changes="loss", keeps="level"),
    level=Row("0.8", changes=_INTERVALS, keeps="loss"),
)
_add(
    "report",
    context=Row("mute.jsonl", other="--context gold.jsonl", form="html", changes="text"),
    most=Row("3", form="html", changes="text"),
    title=Row("My-own-title", form="html", changes="text"),
    note=Row("My-own-note", form="html", changes="text"),
    output=Row("out/x.json", changes="text x.json"),
    format=Row("md", other="--format latex", changes="text", form=""),
    paper=Row(line="report RUNS -m jga,sa --most 1 -o out/paper", form="", changes="paper"),
)
_add("convert", output=Row("out/y.parquet", changes="x.parquet y.parquet"))
_add("contexts", output=Row("out/y.parquet", changes="x.parquet y.parquet"))
_add(
    "demo",
    dialogues=Row("2", line="demo -o out/first", other="--dialogues 1", changes="value"),
    output=Row("out/other --dialogues 1", other="-o out/first --dialogues 1", line="demo", changes="other first"),
)
_add(("demo", "ls"), format=Row("md", other="--format csv", changes="text", form=""))
_add(
    "audit bias",
    slot=Row("hotel-area", changes="slot"),
    counting=Row("final", changes="counting"),
    train=Row("gold", changes="split"),
    least=Row("3", changes="values"),
    top=Row("2", both="--charts out/charts", form="text", changes="text charts"),
    sort=Row("turns", both="--charts out/charts", form="text", changes="text charts"),
)
_add(
    "audit diff",
    name=Row("old,new"),
    top=Row("2", form="text", changes="text"),
    schema=Row("sgd/schema.json", line="audit diff sgd sgd_keen.json --match levenshtein:above=0.2 --fuzzy all"),
)
_add(
    "audit scores",
    version=Row("c=train.jsonl", both="--missing intersect", changes="version"),
    model=Row("two=keen", changes="model"),
    only=Row("a=keen", changes="run", line=LINES["audit scores"].replace("RUN", "RUNS")),
    schema=Row("sgd/schema.json", line="audit scores RUN --version a=sgd -m jga,sa --profile verbatim",
               runs="sgd_{}.json"),
    seen=Row("seen.json", runs="sgd_{}.json", signed=True,
             line="audit scores RUN --version a=sgd -m jga --profile verbatim --schema sgd/schema.json"),
)  # fmt: skip
_add(
    "audit inconsistency",
    ontology=Row("ontology.json"),
    database=Row("db"),
    as_=Row("qian2021"),
    rules=Row("rules.json"),
    evidence=Row("train.jsonl"),
    support=Row("9", line="audit inconsistency gold.jsonl"),
    at_least=Row("0.95", line="audit inconsistency gold.jsonl --support 2 --rules unnamed.json"),
    apply=Row(both="-o out/x.jsonl", changes="x.jsonl text"),
    output=Row("out/x.json", changes="text x.json"),
    log=Row("out/x.csv", changes="x.csv"),
    review=Row("out/x.csv", changes="x.csv"),
    sample=Row("2", both="--review out/x.csv", changes="x.csv"),
    seed=Row("5", both="--review out/x.csv --sample 2", changes="x.csv"),
    pairs=Row(
        "1",
        line="audit inconsistency gold.jsonl --support 2 --rules unnamed.json",
        both="--charts out/charts",
        form="text",
        changes="text charts",
    ),
)
_add("audit contradictions", database=Row("db", line="audit contradictions gold.jsonl"),
     top=Row("1", form="text", changes="text"))  # fmt: skip
_NEW: Final = "x.jsonl"
_add(
    "audit replace",
    output=Row("out/y.jsonl", changes="x.jsonl y.jsonl"),
    train=Row("donated.jsonl", changes=_NEW),
    donors=Row("rivals.json", changes=_NEW),
    invent=Row(changes=_NEW),
    map=Row("hotel-name=other-name", changes=_NEW),
    slots=Row("hotel-name", changes=_NEW),
    seed=Row("5", changes=_NEW),
    keep=Row(changes=_NEW, line="audit replace later.jsonl --train train.jsonl --donors donors.json -o out/x.jsonl"),
    manifest=Row("out/x.csv", changes="x.csv"),
)  # fmt: skip
_add(
    "audit memorisation",
    context=Row("mute.jsonl", other="--context gold.jsonl", line="audit memorisation RUN", changes="ungrounded"),
    train=Row("train.jsonl", changes="in_train"),
    most=Row("1", changes="value"),
)
