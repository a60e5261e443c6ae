"""The commands: for each, the function of which it shows the result, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dstbench.cli.command import Command
from dstbench.cli.options import GOLD, MATCH, TURNS_AND_VALUES, VALUES, listed_names

_RUN_CHARTS: Final = "rendering.charts.runs"
_AUDIT_CHARTS: Final = "rendering.charts.audits"
_DATASET: Final = {"metavar": "DATA", "help": "The dataset: a file or folder with states and utterances."}

#: In the order in which ``--help`` lists them.
COMMANDS: Final = (
    Command(
        "score", "Score runs: JGA, SA, RSA, AGA, F1, FGA, GCA, TLA or others.",
        "score predictions.json --profile trade",
        of="scoring.score:score", run="cli.actions:score", charts=f"{_RUN_CHARTS}:score_charts",
        details={"group": {"names": ("group and its runs", "'Open vocabulary=trade,som*'"), "metavar": "TITLE=RUNS"}},
    ),
    Command(
        "compare",
        "Test which runs are better than others over the same gold. "
        "Gives scores and differences with intervals, and p.",
        "compare a.json b.json c.json --baseline a -m jga,gca",
        of="analysis.compare:compare", run="cli.actions:compare", charts=f"{_RUN_CHARTS}:leaderboard_charts",
    ),
    Command(
        "pairs", "List values that only fuzzy matching or a label map accepts.",
        "pairs predictions.json --profile qian2021",
        of="analysis.fuzzy_pairs:fuzzy_pairs", run="cli.actions:pairs", choices=VALUES,
    ),
    Command(
        "sweep", "Score the same predictions under every profile. This shows how much the convention matters.",
        "sweep predictions.json --label-map multiwoz21.json",
        of="analysis.sweep:sweep", charts=f"{_RUN_CHARTS}:sweep_charts",
    ),
    Command(
        "reconcile",
        "Find out why a published score is not the one computed here: which choices of convention lead to it.",
        "reconcile 55.3 predictions.json --with jga",
        of="analysis.reconcile:reconcile", charts=f"{_RUN_CHARTS}:reconciliation_charts", choices=(),
        details={
            "target": {"metavar": "SCORES", "help": "The published scores as printed: 55.3, or jga=55.3,sa=97.3."},
            "metrics": {"flags": ["--with"], "metavar": "METRIC"},
            "other_golds": {
                "flags": ["--other-gold"], "names": ("name and file of gold", "2.4=gold24.json"), "once": True,
                "metavar": "NAME=FILE", "help": "Another gold that may have been used. Repeatable.",
            },
            "most": {"min": 1, "max": 4},
        },
    ),
    Command(
        "diff", "Show what a new checkpoint fixed and broke: turns and values, by slot, domain, error and turn.",
        "diff before.json after.json",
        of="analysis.changes:diff", run="cli.actions:diff", choices=TURNS_AND_VALUES,
        details={
            "before": {"help": "The run before: a prediction file or a long table."},
            "after": {"help": "The run after."},
        },
    ),
    Command(
        "check",
        "Check runs before you believe their scores. Looks at floors, coverage, slots, values and cumulative states.",
        "check predictions.json --ontology ontology.json",
        of="analysis.check:check", run="cli.actions:check",
    ),
    Command(
        "signature", "Explain a signature, or say how two signatures differ.",
        "signature 'jga|profile:trade@faithful.1|…' 'jga|profile:verbatim.1|…'",
        run="cli.actions:signature", table="", details={"texts": {"metavar": "SIGNATURE..."}},
    ),
    Command(
        "diagnose",
        "Find out where runs fail. "
        "Shows first failures, gold slots, JGA by turn and length, errors by kind and timing.",
        "diagnose predictions.json --charts figures",
        of="analysis.diagnose:diagnose", charts=f"{_RUN_CHARTS}:diagnosis_charts",
    ),
    Command(
        "traits",
        "Show how scores depend on where in dialogues mistakes are. Uses tail orientation and non-uniformity.",
        "traits predictions.json --disagree fga gca",
        of="analysis.traits:traits", charts=f"{_RUN_CHARTS}:trait_charts",
    ),
    Command(
        "correlate", "Correlate metrics, traits and ratings, and compare correlations.",
        "correlate predictions.json -m jga,fga,gca --versus jga,fga,gca",
        of="analysis.correlate:correlate", charts=f"{_RUN_CHARTS}:correlation_charts",
        details={
            "metrics": {
                "flags": ["-m", "--metrics"], "type": list[str],
                "help": "Metrics, and traits such as turns, n_gold_max, to_mean, nu_paper.",
            },
        },
    ),
    Command(
        "show",
        "Show one dialogue turn by turn. Shows utterances, gold and predicted slots, scores and changes of state.\n\n"
        "Without DIALOGUE it lists the dialogues with the lowest scores, or (--against) those in which two runs differ "
        "most.",
        "show predictions.json PMUL4648 --against other.json",
        run="cli.actions:show", reads=True,
        details={"run": {"type": Path}, "against": {"type": Path, "metavar": "RUN"}},
    ),
    Command(
        "query",
        "Query runs in SQL. The tables are long, classes, turns, dialogues and scores, and those of --table.",
        "query \"SELECT slot, count(*) AS n FROM classes WHERE kind = 'wrong' GROUP BY slot ORDER BY n DESC\" "
        "predictions.json",
        of="analysis.query:query", show="rendering.tables:render_answer",
        details={
            "tables": {
                "flags": ["--table"], "names": ("table and its file", "said=said.parquet"), "once": True,
                "metavar": "NAME=FILE", "help": "A table of your own to query: Parquet or CSV. Repeatable.",
            },
        },
    ),
    Command(
        "compare-metrics",
        "Find out which metric to trust: compare metrics over the same runs. "
        "Shows agreement with a known order, reliability, spread, pairs told apart, reversals, dependence on traits.",
        "compare-metrics t5_0.1.json t5_0.5.json t5_1.0.json --along share",
        of="analysis.compare_metrics:compare_metrics", charts=f"{_RUN_CHARTS}:metric_charts",
        details={
            "table": {
                "type": Path, "metavar": "FILE",
                "help": "In place of RUN: scores, CSV or Parquet with model, metric, value.",
            },
            "runs": {"metavar": "[RUN...]", "help": "Prediction files, folders of them, or long tables (.parquet)."},
        },
    ),
    Command(
        "sensitivity",
        "Show what one error costs under each metric, by kind of error and by when it happens, in a run or in gold.",
        "sensitivity predictions.json -m jga,fga,gca --kinds missed,late",
        of="analysis.sensitivity:sensitivity", charts=f"{_RUN_CHARTS}:sensitivity_charts",
        details={"data": {"metavar": "RUN", "help": "A prediction file or long table (.parquet), or gold alone."}},
    ),
    Command(
        "report",
        "Write a report on runs over the same gold. It has the main findings, scores, slots, errors and dialogues.",
        "report model_a.json model_b.json --context data.json -o report.html",
        of="rendering.report:report", run="cli.actions:report", charts="cli.actions:charts_of", table="",
        details={
            "form": {"flags": ["--format"]}, "title": {"show_default": False},
            "context": {
                "type": list[Path],
                "help": "File or folder with the utterances; default: the files of gold and runs. Repeatable.",
            },
        },
    ),
    Command(
        "convert",
        "Convert prediction files to one long table (Parquet).\n\n"
        "Several files are read one after the other, and are one run. The table is written whole, or not at all. "
        "It has a checksum, which is verified whenever it is scored.",
        "convert preds.json --gold test.tsv --missing wrong -o model.parquet",
        run="cli.actions:convert", reads=True, table="", details={"files": {"metavar": "FILE..."}},
    ),
    Command(
        "contexts", "Write the utterances of each turn, as a table (Parquet). It can be joined to a long table.",
        "contexts gold.json -o said.parquet",
        run="cli.actions:contexts", table="", details={"files": {"metavar": "FILE..."}},
    ),
    Command(
        "demo",
        "Score a bundled sample and write a report on it. The sample has three invented trackers and papers' examples.",
        "demo --dialogues 1000 -o sample",
        run="cli.actions:demo", table="shown", details={"output": {"flags": ["-o", "--output"], "metavar": "DIR"}},
    ),
    Command(
        "ls", "List formats, public gold sets, matchers, metrics, profiles, slots or steps.", "ls formats",
        run="cli.actions:ls", table="shown",
        details={"only": {"metavar": "[NAME]..."}},
    ),
    Command(
        "help", "Explain a topic: conventions, statistics, formats, and more.", "help conventions",
        run="cli.help:show_topic", table="",
    ),
    Command(
        "audit bias",
        "Measure entity bias. Shows how unevenly values are distributed, and which test values training has.",
        "audit bias train.tsv test.tsv --slot train-destination --top 13",
        of="audit.entity_bias:bias", run="cli.actions:bias", charts=f"{_AUDIT_CHARTS}:bias_charts", choices=GOLD,
        details={
            "data": {
                "type": list[Path], "metavar": "DATA...",
                "help": "Datasets with gold states, or one per split: train.tsv test.tsv.",
            },
            "slots": {"flags": ["--slot"], "type": list[str], "help": "Only this slot; repeatable."},
            "train": {"metavar": "NAME", "help": "The split that others are compared to; default: train."},
        },
    ),
    Command(
        "audit diff",
        "Compare two versions of a dataset, cell by cell.\n\n"
        "Each slot of a turn that differs is of one kind: respelled (the same value in another spelling); moved "
        "earlier (the later version already has the value that the earlier version has in a later turn) or moved "
        "later; added; removed; or changed.",
        "audit diff multiwoz20/test.tsv multiwoz21/test.tsv --profile star",
        of="audit.version_diff:diff", run="cli.actions:first_rows", charts=f"{_AUDIT_CHARTS}:difference_charts",
        choices=MATCH,
        details={
            "before": {"help": "The earlier version of a dataset."},
            "after": {"help": "The later version."},
            "names": {
                "flags": ["--name"], "type": list[str], "parse": lambda given: listed_names(given, 2),
                "help": "Names of the two versions, in order: 2.0,2.1, or one option for each.",
            },
        },
    ),
    Command(
        "audit scores",
        "Score runs on several versions of their dataset. "
        "Gives exact and fuzzy scores, spread over seeds, error turns.",
        "audit scores t5_*.json --version 2.0=old.tsv --version 2.1=new.tsv --model 't5=t5_*'",
        of="audit.version_scores:scores", charts=f"{_AUDIT_CHARTS}:version_charts", profile="qian2021",
        details={
            "data": {"type": list[Path], "metavar": "RUN...", "help": "Prediction files, or long tables."},
            "versions": {
                "flags": ["--version"], "names": ("version and its gold", "2.1=gold.tsv"), "once": True,
                "metavar": "NAME=GOLD", "help": "A version of the dataset: its name and its gold file. Repeatable.",
            },
            "only": {
                "names": ("version and its runs", "2.1=t5_seed1"), "metavar": "VERSION=RUNS",
                "help": "Runs, by name or pattern, that were made on this version only. Repeatable.",
            },
        },
    ),
    Command(
        "audit inconsistency",
        "Find missing annotations. "
        "These are values that are said and not annotated, though they are in similar places.",
        "audit inconsistency data.json --ontology ontology.json --apply -o better.json",
        of="audit.missing_annotations:inconsistency", run="cli.actions:inconsistency",
        charts=f"{_AUDIT_CHARTS}:inconsistency_charts", table="shown",
        details={
            "data": {
                "type": list[Path], "metavar": "DATA...",
                "help": "A dataset, a file or folder with states and utterances; or one per split.",
            },
            "preset": {"flags": ["--as"]},
            "evidence": {
                "type": list[Path],
                "help": "A dataset that shows how gold annotates; repeatable; default: the other dialogues of DATA.",
            },
            "pairs": {"min": 0},
        },
    ),
    Command(
        "audit review",
        "Score a correction from filled review sheets. Gives precision, recall and F1 with intervals.\n\n"
        "Fill in `right` (yes or no) of every addition, and `missed` (how many annotations are still missing) of every "
        "dialogue, or of none: then there is no recall. For the sheets of several readers it also gives their "
        "agreement: Cohen's kappa of two readers, Fleiss' of more.",
        "audit review filled.csv",
        run="cli.actions:review", details={"sheets": {"metavar": "FILE..."}},
    ),
    Command(
        "audit contradictions", "Find doubtful gold values. They contradict the database, or nobody has said them.",
        "audit contradictions test.tsv --database db",
        of="audit.contradictions:contradictions", run="cli.actions:first_rows",
        details={"data": _DATASET},
    ),
    Command(
        "audit replace", "Write a test set with names and places unseen in training.",
        "audit replace test.tsv -o unseen.tsv --train train.tsv.gz --manifest new.csv",
        of="audit.replacement:replace", run="cli.actions:replace", table="shown",
        details={
            "data": _DATASET,
            "slots": {
                "parse": lambda given: given and [slot.strip() for slot in given.split(",")],
                "help": "The slots, comma-separated; default: name, departure and destination of all domains.",
            },
            "mapping": {
                "flags": ["--map"], "names": ("slot and its donors' slot", "hotel-name=Hotels_4-place_name"),
                "metavar": "SLOT=SLOT",
                "help": "A slot, and the donors' slot whose values it gets: "
                "restaurant-name=Restaurants_2-restaurant_name. Repeatable.",
            },
            "keep_unfound": {"flags": ["--keep"]},
        },
    ),
    Command(
        "audit memorisation", "Count wrong values that nobody has said. Trackers may have memorised them.",
        "audit memorisation predictions.json --context test.tsv --train train.tsv.gz",
        of="audit.memorised_values:memorisation", charts=f"{_AUDIT_CHARTS}:memorisation_charts",
        details={
            "context": {"type": list[Path], "help": "File or folder with the utterances; repeatable."},
            "most": {"min": 0},
        },
    ),
)  # fmt: skip
