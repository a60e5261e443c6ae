"""The commands: for each, the function of which it shows the result, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dstbench.cli.command import Command
from dstbench.cli.options import GOLD, MATCH, TURNS_AND_VALUES, VALUES, Declared, Detail, listed_names

_SPLIT: Final = Detail(help="train, dev or test, if there are several.")
_SPLIT_OR_ALL: Final = Detail(help="train, dev or test, if there are several; default: all.")
_DATASET: Final = Detail(type=Path, metavar="DATA", help="The dataset: a file or folder with states and utterances.")

#: In the order in which ``--help`` lists them.
COMMANDS: Final = (
    Command(
        "score",
        "Score runs: JGA, SA, RSA, AGA, F1, FGA, GCA, TLA or others.",
        "score predictions.json --profile trade",
        "scoring",
        of="scoring.score:score",
        run="cli.special:score",
        charts="rendering.charts.runs:score_charts",
        details={
            "group": Detail(
                of=("group and its runs", "'Open vocabulary=trade,som*'"), metavar="TITLE=RUNS",
            )
        },
    ),
    Command(
        "compare",
        "Test which runs are better than others over the same gold. "
        "Gives scores and differences with intervals, and p.",
        "compare a.json b.json c.json --baseline a -m jga,gca",
        "scoring",
        of="analysis.compare:compare",
        shown=[
            Declared("pairs", "bool", False, "Show the differences of pairs only: in LaTeX, a table of their own."),
        ],
        charts="rendering.charts.runs:leaderboard_charts",
    ),
    Command(
        "pairs",
        "List values that only fuzzy matching or a label map accepts.",
        "pairs predictions.json --profile qian2021",
        "comparing",
        of="analysis.fuzzy_pairs:fuzzy_pairs",
        run="cli.special:pairs",
        choices=VALUES,
    ),
    Command(
        "sweep",
        "Score the same predictions under every profile. This shows how much the convention matters.",
        "sweep predictions.json --label-map multiwoz21.json",
        "sweeping",
        of="analysis.sweep:sweep",
        show="rendering.of_runs:render_sweep",
        charts="rendering.charts.runs:sweep_charts",
    ),
    Command(
        "reconcile",
        "Find out why a published score is not the one computed here: which choices of convention lead to it.",
        "reconcile 55.3 predictions.json --with jga",
        "trying choices",
        of="analysis.reconcile:reconcile",
        charts="rendering.charts.runs:reconciliation_charts",
        choices=(),
        details={
            "target": Detail(
                type=str, metavar="SCORES", help="The published scores as printed: 55.3, or jga=55.3,sa=97.3."
            ),
            "metrics": Detail("--with", type=str, metavar="METRIC"),
            "other_golds": Detail(
                "--other-gold", of=("name and file of gold", "2.4=gold24.json"), once=True, metavar="NAME=FILE",
                help="Another gold that may have been used. Repeatable.",
            ),
            "labels": Detail("--label-map", type=Path),
            "most": Detail(min=1, max=4),
        },
    ),
    Command(
        "diff",
        "Show what a new checkpoint fixed and broke: turns and values, by slot, domain, error and turn.",
        "diff before.json after.json",
        "comparing",
        of="analysis.changes:diff",
        run="cli.special:diff",
        choices=TURNS_AND_VALUES,
        details={
            "before": Detail(type=Path, metavar="BEFORE", help="The run before: a prediction file or a long table."),
            "after": Detail(type=Path, metavar="AFTER", help="The run after."),
        },
    ),
    Command(
        "check",
        "Check runs before you believe their scores. Looks at floors, coverage, slots, values and cumulative states.",
        "check predictions.json --ontology ontology.json",
        "checking",
        of="analysis.check:check",
        run="cli.special:check",
    ),
    Command(
        "signature",
        "Explain a signature, or say how two signatures differ.",
        "signature 'jga|profile:trade@faithful.1|…' 'jga|profile:verbatim.1|…'",
        "reading",
        run="cli.special:signature",
        table="",
        details={"texts": Detail(metavar="SIGNATURE...")},
    ),
    Command(
        "diagnose",
        "Find out where runs fail. "
        "Shows first failures, gold slots, JGA by turn and length, errors by kind and timing.",
        "diagnose predictions.json --charts figures",
        "diagnosing",
        of="analysis.diagnose:diagnose",
        charts="rendering.charts.runs:diagnosis_charts",
    ),
    Command(
        "traits",
        "Show how scores depend on where in dialogues mistakes are. Uses tail orientation and non-uniformity.",
        "traits predictions.json --disagree fga gca",
        "scoring",
        of="analysis.traits:traits",
        charts="rendering.charts.runs:trait_charts",
    ),
    Command(
        "correlate",
        "Correlate metrics, traits and ratings, and compare correlations.",
        "correlate predictions.json -m jga,fga,gca --versus jga,fga,gca",
        "scoring",
        of="analysis.correlate:correlate",
        charts="rendering.charts.runs:correlation_charts",
        details={
            "metrics": Detail(
                "-m", "--metrics", type=list[str],
                help="Metrics, and traits such as turns, n_gold_max, to_mean, nu_paper.",
            )
        },
    ),
    Command(
        "show",
        "Show one dialogue turn by turn. Shows utterances, gold and predicted slots, scores and changes of state.\n\n"
        "Without DIALOGUE it lists the dialogues with the lowest scores, or (--against) those in which two runs differ "
        "most.",
        "show predictions.json PMUL4648 --against other.json",
        "reading",
        run="cli.special:show",
        reads=True,
        details={
            "run": Detail(metavar="RUN"),
            "dialogue": Detail(metavar="[DIALOGUE]"),
            "against": Detail(metavar="RUN"),
            "context": Detail(metavar="FILE"),
        },
    ),
    Command(
        "query",
        "Query runs in SQL. The tables are long, classes, turns, dialogues and scores, and those of --table.",
        "query \"SELECT slot, count(*) AS n FROM classes WHERE kind = 'wrong' GROUP BY slot ORDER BY n DESC\" "
        "predictions.json",
        "querying",
        of="analysis.query:query",
        show="rendering.tables:render_answer",
        details={
            "sql": Detail(metavar="SQL"),
            "tables": Detail(
                "--table", of=("table and its file", "said=said.parquet"), once=True, metavar="NAME=FILE",
                help="A table of your own to query: Parquet or CSV. Repeatable.",
            ),
        },
    ),
    Command(
        "compare-metrics",
        "Find out which metric to trust: compare metrics over the same runs. "
        "Shows agreement with a known order, reliability, spread, pairs told apart, reversals, dependence on traits.",
        "compare-metrics t5_0.1.json t5_0.5.json t5_1.0.json --along share",
        "comparing",
        of="analysis.compare_metrics:compare_metrics",
        charts="rendering.charts.runs:metric_charts",
        details={
            "table": Detail(
                type=Path, metavar="FILE",
                help="In place of RUN: scores, CSV or Parquet with model, metric, value.",
            ),
            "runs": Detail(
                metavar="[RUN...]", help="Prediction files, folders of them, or long tables (.parquet)."
            ),
        },
    ),
    Command(
        "sensitivity",
        "Show what one error costs under each metric, by kind of error and by when it happens, in a run or in gold.",
        "sensitivity predictions.json -m jga,fga,gca --kinds missed,late",
        "scoring copies",
        of="analysis.sensitivity:sensitivity",
        charts="rendering.charts.runs:sensitivity_charts",
        details={
            "data": Detail(
                type=Path, metavar="RUN", help="A prediction file or long table (.parquet), or gold alone."
            ),
            "split": Detail(help="train, dev or test, if gold has several splits."),
        },
    ),
    Command(
        "report",
        "Write a report on runs over the same gold. It has the main findings, scores, slots, errors and dialogues.",
        "report model_a.json model_b.json --context data.json -o report.html",
        "scoring",
        of="rendering.report:report",
        run="cli.special:report",
        charts="cli.special:charts_of",
        table="",
        details={
            "output": Detail("-o", "--output", help="The file to write; - for stdout."),
            "form": Detail("--format"),
            "title": Detail(show_default=False),
            "context": Detail(
                type=list[Path],
                help="File or folder with the utterances; default: the files of gold and runs. Repeatable.",
            ),
        },
    ),
    Command(
        "convert",
        "Convert prediction files to one long table (Parquet).\n\n"
        "Several files are read one after the other, and are one run. The table is written whole, or not at all.\n\n"
        "The table is compressed by Zstandard: without compression it would be 1.8 times as large, and scored no "
        "faster. It has checksums, which are verified whenever it is scored.",
        "convert preds.json --gold test.tsv --missing wrong -o model.parquet",
        "converting",
        run="cli.data:convert",
        reads=True,
        table="",
        details={"files": Detail(metavar="FILE...")},
    ),
    Command(
        "contexts",
        "Write the utterances of each turn, as a table (Parquet). It can be joined to a long table.",
        "contexts gold.json -o said.parquet",
        "reading",
        run="cli.data:contexts",
        table="",
        details={
            "files": Detail(metavar="FILE..."),
            "split": Detail(help="train, dev or test, if there are several splits."),
        },
    ),
    Command(
        "demo",
        "Score a bundled sample and write a report on it. The sample has three invented trackers and papers' examples.",
        "demo --dialogues 1000 -o sample",
        "scoring",
        run="cli.data:demo",
        table="shown",
        details={"output": Detail("-o", "--output", metavar="DIR")},
    ),
    Command(
        "ls",
        "List formats, public gold sets, matchers, metrics, profiles, slots or steps.",
        "ls formats",
        "reading",
        run="cli.data:ls",
        table="shown",
        details={"what": Detail(metavar="[WHAT]"), "only": Detail(metavar="[NAME]...")},
    ),
    Command(
        "help",
        "Explain a topic: conventions, statistics, formats, and more.",
        "help conventions",
        "reading",
        run="cli.help:show_topic",
        table="",
        details={"topic": Detail(metavar="[TOPIC]")},
    ),
    Command(
        "audit bias",
        "Measure entity bias. Shows how unevenly values are distributed, and which test values training has.",
        "audit bias train.tsv test.tsv --slot train-destination --top 13",
        "counting",
        of="audit.entity_bias:bias",
        run="cli.audits:bias",
        charts="rendering.charts.audits:bias_charts",
        choices=GOLD,
        details={
            "data": Detail(
                type=list[Path], metavar="DATA...",
                help="Datasets with gold states, or one per split: train.tsv test.tsv.",
            ),
            "slots": Detail("--slot", type=list[str], help="Only this slot; repeatable."),
            "train": Detail(metavar="NAME", help="The split that others are compared to; default: train."),
            "split": _SPLIT,
        },
    ),
    Command(
        "audit diff",
        "Compare two versions of a dataset, cell by cell.\n\n"
        "Each slot of a turn that differs is of one kind: respelled (the same value in another spelling); moved "
        "earlier (the later version already has the value that the earlier version has in a later turn) or moved "
        "later; added; removed; or changed.",
        "audit diff multiwoz20/test.tsv multiwoz21/test.tsv --profile star",
        "comparing",
        of="audit.version_diff:diff",
        shown=[Declared("top", "int", 20, "Number of changes that text shows.")],
        charts="rendering.charts.audits:difference_charts",
        choices=MATCH,
        details={
            "before": Detail(type=Path, metavar="BEFORE", help="The earlier version of a dataset."),
            "after": Detail(type=Path, metavar="AFTER", help="The later version."),
            "names": Detail(
                "--name", type=list[str], parse=lambda given: listed_names(given, 2),
                help="Names of the two versions, in order: 2.0,2.1, or one option for each.",
            ),
            "split": _SPLIT,
        },
    ),
    Command(
        "audit scores",
        "Score runs on several versions of their dataset. "
        "Gives exact and fuzzy scores, spread over seeds, error turns.",
        "audit scores t5_*.json --version 2.0=old.tsv --version 2.1=new.tsv --model 't5=t5_*'",
        "scoring",
        of="audit.version_scores:scores",
        charts="rendering.charts.audits:version_charts",
        profile="qian2021",
        details={
            "data": Detail(type=list[Path], metavar="RUN...", help="Prediction files, or long tables."),
            "versions": Detail(
                "--version", of=("version and its gold", "2.1=gold.tsv"), once=True, metavar="NAME=GOLD",
                help="A version of the dataset: its name and its gold file. Repeatable.",
            ),
            "only": Detail(
                of=("version and its runs", "2.1=t5_seed1"), metavar="VERSION=RUNS",
                help="Runs, by name or pattern, that were made on this version only. Repeatable.",
            ),
        },
    ),
    Command(
        "audit inconsistency",
        "Find missing annotations. "
        "These are values that are said and not annotated, though they are in similar places.",
        "audit inconsistency data.json --ontology ontology.json --apply -o better.json",
        "searching",
        of="audit.missing_annotations:inconsistency",
        run="cli.audits:inconsistency",
        charts="rendering.charts.audits:inconsistency_charts",
        table="shown",
        hidden=("said",),
        details={
            "data": Detail(
                type=list[Path], metavar="DATA...",
                help="A dataset, a file or folder with states and utterances; or one per split.",
            ),
            "preset": Detail("--as"),
            "evidence": Detail(
                type=list[Path],
                help="A dataset that shows how gold annotates; repeatable; default: the other dialogues of DATA.",
            ),
            "split": _SPLIT_OR_ALL,
            "pairs": Detail(min=0),
        },
    ),
    Command(
        "audit review",
        "Score a correction from filled review sheets. Gives precision, recall and F1 with intervals.\n\n"
        "Fill in `right` (yes or no) of every addition, and `missed` (how many annotations are still missing) of every "
        "dialogue, or of none: then there is no recall. For the sheets of several readers it also gives their "
        "agreement: Cohen's kappa of two readers, Fleiss' of more.",
        "audit review filled.csv",
        "reading",
        run="cli.audits:review",
        details={"sheets": Detail(metavar="FILE...")},
    ),
    Command(
        "audit contradictions",
        "Find doubtful gold values. They contradict the database, or nobody has said them.",
        "audit contradictions test.tsv --database db",
        "searching",
        of="audit.contradictions:contradictions",
        shown=[Declared("top", "int", 20, "Number of values of each kind that text shows.")],
        hidden=("said",),
        details={"data": _DATASET, "split": _SPLIT_OR_ALL},
    ),
    Command(
        "audit replace",
        "Write a test set with names and places unseen in training.",
        "audit replace test.tsv -o unseen.tsv --train train.tsv.gz --manifest new.csv",
        "replacing",
        of="audit.replacement:replace",
        run="cli.audits:replace",
        table="shown",
        details={
            "data": _DATASET,
            "slots": Detail(
                help="The slots, comma-separated; default: name, departure and destination of all domains.",
                parse=lambda given: given and [slot.strip() for slot in given.split(",")],
            ),
            "mapping": Detail(
                "--map", of=("slot and its donors' slot", "hotel-name=Hotels_4-place_name"), metavar="SLOT=SLOT",
                help="A slot, and the donors' slot whose values it gets: "
                "restaurant-name=Restaurants_2-restaurant_name. Repeatable.",
            ),
            "keep_unfound": Detail("--keep"),
        },
    ),
    Command(
        "audit memorisation",
        "Count wrong values that nobody has said. Trackers may have memorised them.",
        "audit memorisation predictions.json --context test.tsv --train train.tsv.gz",
        "searching",
        of="audit.memorised_values:memorisation",
        charts="rendering.charts.audits:memorisation_charts",
        details={
            "context": Detail(type=list[Path], help="File or folder with the utterances; repeatable."),
            "most": Detail(min=0),
        },
    ),
)  # fmt: skip
