"""Columns and types of the tables of analyses: dialogues, errors, traits, correlations, comparisons, turns, metrics."""

from __future__ import annotations

from typing import Final

from dstbench.schema.core import LONG, ROWS, SCORES, TURNS, OpenTable, Table, interval, signed
from dstbench.schema.kinds import category, count, decimal, flag, large, number, p, r, ratio, score, share, text, turn

DIALOGUES: Final = OpenTable(
    "dialogues: A row per (run, dialogue), sorted by these: when it fails, how much is in it, where its mistakes are. "
    "Turns are those that the convention scores, numbered from 0 without gaps. Beside these there is a column per "
    "metric.",
    **ROWS.only("run", "dialogue"),
    turns=count("Turns, n.", label="Turns"),
    wrong_turns=count("Turns with JGA 0.", label="Wrong turns"),
    ends_wrong=flag("Whether the last turn has JGA 0."),
    wrong_slots_last=count(
        "Slots missed, wrong or over-predicted in the last turn; one more if it has no prediction.",
        label="Wrong slots at the end",
    ),
    first_wrong=count("The first turn with JGA 0; null: there is none.", label="First wrong turn"),
    first_failure=number(
        "first_wrong / n, where the last turn has JGA 0; else null.", nullable=True, label="First failure"
    ),
    first_failure_bin=count("The tenth of the dialogue that first_failure is in, 0 to 9; null likewise."),
    recovered=flag("Whether a turn after the first failure has JGA 1; null likewise."),
    n_gold_max=count("The largest number of gold slots in a turn.", label="Gold slots"),
    mistakes=count("Wrong, missed and over-predicted changes, as the GCA authors' code counts them.", label="Mistakes"),
    to_mean=number("Tail orientation: mean position of mistakes, 0 to 1; null: no mistake.", label="Tail orientation"),
    to_sum=number("The same, as the paper's formula is printed; null: no mistake.", label="Tail orientation (sum)"),
    to_released=number("The same, as the authors' code has it; 0: no mistake.", label="Tail orientation (as released)"),
    nu_paper=number(
        "Non-uniformity: sum of squared differences of mistakes per turn to their mean.", label="Non-uniformity"
    ),
    nu_released=number(
        "The same, absolute differences by the mean; 0: no mistake.", label="Non-uniformity (as released)"
    ),
)

#: What figures and tables call these columns, and people's ratings.
LABELS: Final = {name: column.label for name, column in DIALOGUES.columns.items() if column.label} | {
    "rating": "Rating"
}

FAILURES: Final = Table(
    "runs: A row per run: how many dialogues fail, and how many have few gold slots.",
    **SCORES.only("run", "turns", "dialogues"),
    failing=count("Dialogues whose last turn has JGA 0."),
    recovered=count("Of these: with a turn of JGA 1 after the first failure."),
    few_slots=count("k, the number of slots below which a dialogue has few."),
    with_few_slots=count("Dialogues with fewer than k gold slots in each of their turns."),
    share_with_few_slots=share("Their share; null: no dialogue."),
    **SCORES.only("signature"),
)

FIRST_FAILURES: Final = Table(
    "first failures: A row per (run, tenth of the dialogue): dialogues that end with JGA 0, by when it is first 0.",
    **SCORES.only("run"),
    bin=count("Number of the tenth, from 0."),
    low=number("Lower end of the tenth: first_wrong / n is at least this."),
    high=number("Upper end of the tenth: first_wrong / n is less than this."),
    dialogues=count("Dialogues that first fail there."),
    **FAILURES.only("recovered"),
)

GOLD_SLOTS: Final = Table(
    "gold slots: A row per (run, largest number of gold slots in a dialogue's turns).",
    **DIALOGUES.only("run", "n_gold_max"),
    dialogues=count("Dialogues."),
    share=share("Their share of the run's dialogues."),
)

ERRORS: Final = OpenTable(
    "error classes: A row per (run, class), or per (run, domain or slot, class): each slot that gold or prediction has "
    "in a scored turn is in one class. The domain or slot is after `run`; null: turns without a prediction.",
    **SCORES.only("run"),
    **{"class": text("The class, by the precedence of dstbench.scoring.error_classes.CLASSES.")},
    kind=text("The count that the class is part of: correct, missed, wrong, over, or no-prediction."),
    n=large("Number of (turn, slot) pairs in the class; of no-prediction, number of turns."),
    of_gold=share("n / gold; null except for correct, missed and wrong.", nullable=True),
    of_predicted=share("n / predicted (the precision view); null except for correct, wrong and over.", nullable=True),
    of_inactive=share("n / inactive (the specificity view); null except for over.", nullable=True),
    gold=large("(turn, slot) pairs that gold has."),
    predicted=large("(turn, slot) pairs that the prediction has."),
    inactive=large("(turn, slot) pairs that gold does not have, of all slots that either side ever has."),
)

TIMING: Final = OpenTable(
    "timing of errors: A row per run, or per (run, slot): values that are predicted too late or too early.",
    **SCORES.only("run"),
    missed=large("(turn, slot) pairs that only gold has."),
    late=large("Of these: the prediction has gold's value in a later turn, while gold still has it."),
    late_share=share("late / missed; null: none is missed."),
    over=large("(turn, slot) pairs that only the prediction has."),
    early=large("Of these: the next value that gold has for the slot is the predicted one."),
    early_share=share("early / over; null: none is over-predicted."),
)

TRAIT_BINS: Final = Table(
    "trait bins: A row per (run, trait, bin, metric): mean scores of the dialogues whose trait lies in the bin.",
    **SCORES.only("run"),
    trait=text("The column of the dialogues' table: to_mean, nu_paper, …"),
    bin=count("Number of the bin, from 0."),
    low=number("Lower end of the bin: the trait is at least this."),
    high=number("Upper end of the bin: the trait is less than this (in the last bin, at most this)."),
    **SCORES.only("metric"),
    value=score("Mean of the dialogues' scores; null: none has one."),
    dialogues=count("Dialogues in the bin that have a score."),
)

DISAGREEMENTS: Final = Table(
    "disagreements: A row per (run, higher metric, place), or of all runs: where two metrics differ most.",
    **SCORES.only("run"),
    higher=text("The metric that gives the dialogue the higher score."),
    lower=text("The other one."),
    place=count("From 1, the strongest disagreement."),
    **LONG.only("dialogue"),
    high=score("The score by `higher`."),
    low=score("The score by `lower`."),
    difference=score("high minus low."),
    **DIALOGUES.only("turns", "mistakes"),
)

CORRELATIONS: Final = Table(
    "correlations: A row per (run, pair of columns): Pearson correlations; the run `pooled` is all runs together.",
    run=text("Name of the run, or pooled."),
    rows=text("Which rows are used: pairwise (both columns are defined), complete (all are), released (GCA's)."),
    per=text("What is correlated: a row per dialogue, or per turn."),
    first=text("A metric in dstbench's notation, a column of the dialogues' (turns') table, or rating."),
    second=text("Another one."),
    r=r("Their correlation; null: one of them does not vary."),
    n=count("Number of dialogues (turns) that it is computed over."),
    **interval(r, "Lower end of its interval over dialogues (jackknife); null: r is null, or too few dialogues."),
    **interval(r, "Lower end of Fisher's interval, of independent normal rows; null: they are not.", "fisher_"),
    level=number("Confidence level of the intervals."),
)

CORRELATION_DIFFERENCES: Final = Table(
    "differences of correlations: A row per (run, two correlations), over the rows in which all columns are defined, "
    "or per (two runs, correlation). Null: they cannot be compared.",
    run=text("The run of the first correlation, or pooled."),
    other_run=text("The run of the second correlation: another one only where runs are compared."),
    first=text("The two columns of the first correlation, separated by a comma."),
    second=text("Those of the second."),
    **CORRELATIONS.only("rows", "per"),
    kind=text("overlapping (a column is shared), nonoverlapping, or independent (other dialogues)."),
    r_first=r("The first correlation.", nullable=True),
    r_second=r("The second.", nullable=True),
    difference=r("The first minus the second.", nullable=True),
    **interval(r, "Lower end of its confidence interval over dialogues (jackknife)."),
    p=p("Two-sided p-value, from the same standard error.", nullable=True),
    p_adjusted=p("p adjusted by Holm for all rows of the table.", nullable=True),
    **interval(r, "Lower end of Zou's interval (2007), for independent rows of normal data; null: undefined.", "zou_"),
    n_first=count("Dialogues (turns) that the first is computed over."),
    n_second=count("Those that the second is computed over: the same ones, except where they are independent."),
    level=number("Confidence level of the interval."),
)

CORRELATION_TESTS: Final = Table(
    "tests of differences of correlations: A row per (difference, classical test); they assume normal data.",
    **CORRELATION_DIFFERENCES.only("run", "other_run", "first", "second"),
    test=text("The test, by cocor's name."),
    statistic=r("Its statistic."),
    df=count("Degrees of freedom of its t distribution; null: the distribution is normal."),
    p=p("Two-sided p-value."),
    **interval(r, "Lower end of the test's own interval, for Fisher's z; null: the test has none."),
    **CORRELATION_DIFFERENCES.only("level"),
)

RATED: Final = Table(
    "agreement with ratings: A row per (run, metric, coefficient): how much a metric agrees with people's ratings, "
    "over the rated rows in which it is defined; the run `pooled` is all runs.",
    **CORRELATIONS.only("run", "per"),
    metric=text("A metric in dstbench's notation, or a column of the dialogues' (turns') table."),
    coefficient=text("pearson, spearman, or kendall (tau-b)."),
    value=r("Their correlation; null: one of them does not vary, or there are fewer than 4 dialogues."),
    **interval(r, "Lower end of its confidence interval; null: undefined."),
    interval=text("jackknife (each dialogue left out in turn), or linearised (dialogues as clusters)."),
    n=count("Number of dialogues (turns) that it is computed over."),
    dialogues=count("Number of different dialogues that these are of."),
    level=number("Confidence level of the interval."),
)

RATED_DIFFERENCES: Final = Table(
    "differences in agreement with ratings: A row per (run, two metrics, coefficient, test), over the rated rows in "
    "which both are defined. Null: they cannot be compared.",
    **RATED.only("run", "per", "metric"),
    other=text("Another metric. For both, a higher score is better."),
    **RATED.only("coefficient"),
    value=r("The metric's correlation with the ratings.", nullable=True),
    other_value=r("The other metric's.", nullable=True),
    difference=r("The first minus the second.", nullable=True),
    **interval(r, "Lower end of its confidence interval."),
    interval=text("jackknife, or zou2007 (of ranks: from linearised errors, dialogues as clusters).", nullable=True),
    **CORRELATION_DIFFERENCES.only("zou_low", "zou_high"),
    test=text("jackknife, a classical test by cocor's name, or linearised (of Fisher's z of ranks).", nullable=True),
    statistic=r("Its statistic; null: the jackknife's p is that of its interval."),
    df=count("Degrees of freedom of its t distribution; null: the distribution is normal, or the jackknife's."),
    p=p("Two-sided p-value.", nullable=True),
    p_adjusted=p("p adjusted by Holm for the run's differences by this coefficient and test.", nullable=True),
    **RATED.only("n", "dialogues", "level"),
)

# --- comparisons of runs ---------------------------------------------------------------------------------------------

STANDINGS: Final = Table(
    "standings: A row per (run, metric): scores, and their uncertainty.",
    **SCORES.only("run", "metric", "unit", "value"),
    se=score("Standard error over dialogues (of models: over seeds too); null: undefined, or all are alike."),
    **interval(score, "Lower end of its interval (of a share Wilson's, of a count Student's t); null: undefined."),
    **SCORES.only("turns", "dialogues", "signature"),
)

MODELS: Final = Table(
    "models: A row per (metric, model): mean scores over a model's runs (seeds), and their uncertainty.",
    **SCORES.only("metric", "unit"),
    model=text("Name of the model; for a run that belongs to no model, the name of the run."),
    runs=count("Number of its runs."),
    value=score("Mean of its runs' scores; null: one of them is undefined."),
    sd=score("Their standard deviation (n - 1); null: a single run, or as above."),
    **STANDINGS.only("se", "low", "high"),
)

RUN_DIFFERENCES: Final = Table(
    "differences of runs: A row per (metric, pair of runs or models): the difference, and whether it may be chance.",
    **SCORES.only("metric", "unit"),
    run=text("Name of the run, or of the model."),
    other=text("Name of the other; of the baseline, if there is one."),
    difference=score("Value of run minus value of other; null: undefined."),
    **STANDINGS.only("se"),
    **interval(score, "Lower end of its interval, which excludes 0 exactly if p is at most 1 - level; null: as p."),
    p=p("Two-sided p-value of there being no difference; null: undefined, or a model has fewer than 3 runs."),
    p_adjusted=p("The same, adjusted for m.", nullable=True),
    adjustment=text("The adjustment: holm, hochberg, bh, by, bonferroni, max-t, none."),
    m=count("Number of the metric's differences that have a p."),
    resamples=count("Random swaps that p is from: more where p is close to 1 - level; null: models."),
    p_smallest=p("The smallest p_adjusted possible with these resamples; null: undefined, or models."),
    resamples_needed=large("The fewest with which p_adjusted can be at most 1 - level; null: no number is enough."),
    significant=flag("Whether p_adjusted is at most 1 - level; null: undefined, or not tested."),
    may_flip=flag("Whether p or p_adjusted is so close to 1 - level that another seed may give the other verdict."),
    wins=count("Dialogues in which run scores higher; null between models.", nullable=True),
    ties=count("Dialogues in which both score the same; likewise.", nullable=True),
    losses=count("Dialogues in which other scores higher; likewise.", nullable=True),
    unscored=count("Dialogues in which either has no score; likewise.", nullable=True),
    discordant=count("Dialogues whose counts for the metric differ, so a swap matters; likewise.", nullable=True),
    detectable=score("The difference found in 80 % of cases at 1 - level, adjusted for m; null: undefined."),
)

DESIGN: Final = Table(
    "design: One row: how the comparison was made.",
    dialogues=count("Number of dialogues that are resampled."),
    resamples=count("Number of random swaps of runs; ten times as many where p is close to 1 - level."),
    seed=large("Random seed."),
    level=number("Confidence level of the intervals; 1 - level is the significance level of the tests."),
    test=text("Approximate randomisation of dialogues, or Welch's t over seeds, with the variance of dialogues."),
    adjustment=text("How p-values are adjusted for the number of differences of a metric."),
    baseline=text("The run or model that all others are compared with; null: all pairs are compared."),
)

SWEEP: Final = OpenTable(
    "sweep: A row per (run, profile, metric), per run from the highest value of the first metric to the lowest.",
    **SCORES.only("run"),
    profile=text("The profile under which the run is scored."),
    **SCORES.only("metric", "unit", "value", "turns", "dialogues"),
    changed=text("The choices that differ from the profile above; empty: none, or the first row of the run."),
    **SCORES.only("signature"),
)

SWEEP_TARGETS: Final = Table(
    "sweep with published scores: The rows of `sweep`, each beside the published score of its metric.",
    **SWEEP.columns,
    target=text("The published score as given; null: none of this metric."),
    off=score("Value minus published score; null: either is undefined."),
    agrees=flag("Whether the value, rounded as the published score is, equals it; null: as `off`."),
    agrees_with_all=flag("Whether the profile agrees with the published scores of all metrics."),
    by_chance=ratio(
        "How many profiles agree on average with a score anywhere in their range: n·u / (highest - lowest + u), u one "
        "unit of the published digits, at least a turn; the smallest of all metrics; null: undefined."
    ),
)

# --- single turns and slots ------------------------------------------------------------------------------------------

SLOT_CLASSES: Final = Table(
    "slot classes: A row per (run, dialogue, scored turn, slot) that either side has, sorted as the long table.",
    **ROWS.only("run", "dialogue", "turn"),
    domain=category("The slot's domain; null for the mark of a turn without a prediction.", nullable=True),
    slot=category("domain-slot; likewise.", nullable=True),
    **LONG.only("gold", "pred"),
    kind=category("correct, missed, wrong, over, or no-prediction."),
    **{"class": category("The class, by the precedence of dstbench.scoring.error_classes.CLASSES.")},
    carried=flag("Whether the file has the same two values in the turn before."),
)

CHANGES: Final = Table(
    "changes of state: A row per (run, dialogue, turn): changes of state, counted as the GCA authors' code does.",
    **SLOT_CLASSES.only("run", "dialogue", "turn"),
    **{name: TURNS.columns[f"gca_{name}"] for name in ("correct", "wrong", "missed", "over")},
)

TURN_SCORES: Final = Table(
    "scores of turns: A row per (run, dialogue, turn, metric), and per (run, dialogue, metric).",
    **SLOT_CLASSES.only("run", "dialogue"),
    turn=turn("0-based index of the user turn; null: the whole dialogue."),
    **SCORES.only("metric", "value"),
)

# --- reconcile and diff -----------------------------------------------------------------------------------------------

RECONCILED_STEPS: Final = Table(
    "steps of a reconciliation: A row per (step, metric), from the scores here to the published ones.",
    step=count("0: under the convention; then one choice more each time."),
    choice=text("The choice; empty: none."),
    meaning=text("What it is about."),
    **SWEEP_TARGETS.only("metric", "target"),
    value=score("Its value; null: undefined, or the choices do not suit the run."),
    change=score("Value minus that of the step before; null: there is none, or either is undefined."),
    **SWEEP_TARGETS.only("off"),
)

RECONCILED_SETS: Final = Table(
    "sets of choices: A row per (set, metric): the smallest that reach all scores, else the nearest of each size.",
    choices=text("The names of the choices, joined by +; empty: none."),
    size=count("The number of choices."),
    **RECONCILED_STEPS.only("metric", "target", "value", "off"),
    reaches=flag("Whether the set reaches the published scores of all metrics."),
)

RECONCILED_TRIED: Final = Table(
    "sets that were tried: A row per number of choices.",
    size=count("The number of choices."),
    sets=count("The sets of that number that suit the run, of choices of which each changes a score."),
    reached=count("Those of them that reach all published scores."),
    by_chance=ratio("How many would reach scores anywhere in their range (see `sweep_targets`); null: none tried."),
)

RECONCILED_CHOICES: Final = Table(
    "single choices: A row per (choice, metric), the largest change first.",
    **RECONCILED_STEPS.only("choice", "meaning", "metric"),
    value=score("The value with this choice alone."),
    change=score("Value minus that under the convention."),
)

CHANGED_TOTALS: Final = Table(
    "changes: A row for turns and one for values (slots of turns), from one run to another.",
    of=text("``turns`` or ``values``."),
    fixed=large("Those that were wrong and are right."),
    broken=large("Those that were right and are wrong."),
    net=signed("Fixed minus broken."),
    better=count("The dialogues in which more were fixed than broken."),
    worse=count("The dialogues in which more were broken than fixed."),
    p=p("Two-sided p of the net change, if dialogues are swapped at random; of groups, adjusted after Holm."),
    significant=flag("Whether p is at most 1 - level."),
    signature=text("The signature of the run after, whose JGA is the share of right turns."),
)

CHANGED_GROUPS: Final = Table(
    "changed values by group: A row per group with a change; of each kind, the largest net change first.",
    by=text("What values are grouped by: slot, domain, class (of the error that went or came) or turn."),
    group=text("The slot, domain, class or turn; null: the mark of a turn without a prediction."),
    **CHANGED_TOTALS.only("fixed", "broken", "net", "better", "worse", "p", "significant"),
)

CHANGED_DIALOGUES: Final = Table(
    "changed dialogues: The dialogues with the most turns, then values, that were fixed or broken.",
    **LONG.only("dialogue"),
    turns_fixed=count("Turns that were wrong and are right."),
    turns_broken=count("Turns that were right and are wrong."),
    values_fixed=count("Values that were wrong and are right."),
    values_broken=count("Values that were right and are wrong."),
)

# --- metrics side by side ---------------------------------------------------------------------------------------------

SPREAD: Final = Table(
    "spread of metrics: A row per metric: how far it spreads the runs (Kim et al. 2022, Fig 4).",
    **SCORES.only("metric", "unit"),
    runs=count("Number of runs that have a score."),
    mean=score("Mean of their scores; null: no run has one."),
    sd=score("Standard deviation over the runs (n - 1); null: fewer than two have a score."),
    lowest=score("The lowest score; null as `mean`.", nullable=True),
    highest=score("The highest score; null as `mean`.", nullable=True),
    range=score("highest minus lowest; null as `sd`.", nullable=True),
    se=score("Mean standard error of a run's score, over dialogues; null: unknown."),
    signal_to_noise=ratio("sd / (mean standard error of two runs' paired difference / √2); null: unknown, or error 0."),
)

POWER: Final = Table(
    "discriminative power: A row per metric: how many pairs of runs a test tells apart (Sakai 2006).",
    **SCORES.only("metric", "unit"),
    pairs=count("Pairs of runs that have a p."),
    apart=count("Of these: p is at most 1 - level."),
    apart_adjusted=count("Of these: p adjusted for their number is at most 1 - level."),
    untestable=count("Of these: too few resamples, or dialogues that differ, for the adjusted p to be so small."),
    power=share("apart / pairs; null: no pair, or no p can be so small."),
    **interval(share, "Lower end of the interval of `power` over dialogues; null: undefined."),
    power_adjusted=share("apart_adjusted / pairs; likewise with adjusted p.", nullable=True),
    adjustment=text("How p is adjusted."),
    median_detectable=score("Median over the pairs of `detectable` of the differences; null: undefined."),
)

RANK_AGREEMENT: Final = Table(
    "agreement of orders: A row per pair of metrics: how similarly they rank the runs.",
    first=text("A metric."),
    second=text("Another one."),
    runs=count("Number of runs that both have a score for."),
    tau=decimal("Kendall's tau-b; null: one of them ties all runs."),
    **interval(decimal, "Lower end of its percentile interval over dialogues, corrected for noise; null: undefined."),
    undefined=count("Resamples left out because tau is undefined in them; null: none are drawn."),
    reversed=count("Pairs of runs that they rank in opposite orders."),
    reversed_surely=count("Of these: significant, by adjusted p, in both metrics; null: not tested."),
    level=number("Confidence level of the interval; null: there is none."),
)

REVERSALS: Final = Table(
    "reversed pairs: A row per (pair of metrics, pair of runs that they rank in opposite orders).",
    **RANK_AGREEMENT.only("first", "second"),
    run=text("The run that is better by `first`."),
    other=text("The run that is better by `second`."),
    difference_first=score("Score of run minus score of other, by `first`."),
    difference_second=score("The same by `second`."),
    significant=flag("Both differences are significant, by adjusted p; null: not tested."),
)

DEPENDENCE: Final = Table(
    "dependence on traits: A row per (metric, trait): Pearson's correlation over the dialogues of all runs.",
    **SCORES.only("metric"),
    trait=text("A column of the dialogues' table: turns, n_gold_max, to_mean, nu_paper."),
    r=decimal("Their correlation; null: one of them does not vary."),
    n=count("Dialogues of runs in which both are defined: a dialogue counts once for each run."),
    **interval(decimal, "Lower end of its interval over dialogues (jackknife over all runs); null: undefined."),
    partial=decimal("Their correlation given the dialogue's numbers of mistakes and turns; null: undefined."),
    **interval(decimal, "Lower end of its interval over dialogues, likewise; null: undefined.", "partial_"),
    level=number("Confidence level of the interval."),
)

# --- what one error costs ---------------------------------------------------------------------------------------------

ERROR_COSTS: Final = Table(
    "costs of errors: A row per (kind, metric, bin): what one error costs, by the position t/(n - 1) of its change.",
    kind=text("Kind of error: missed, wrong, late, dropped, over or swap."),
    **SCORES.only("metric"),
    bin=count("Number of the bin, from 0."),
    start=share("Lower end of the bin: the position is more than this (in the first bin, at least this)."),
    end=share("Upper end of the bin: the position is at most this."),
    loss=share("Mean of the score of gold less the score with the error, by dialogue; null: no error."),
    **interval(share, "Lower end of its confidence interval over dialogues; null: undefined."),
    level=number("Confidence level of the interval."),
    errors=count("Number of errors that it is computed over."),
    dialogues=count("Dialogues that have them."),
)

POSITION_BIAS: Final = Table(
    "position bias: A row per (kind, metric): how much more an error costs in the last turn than in the first.",
    **ERROR_COSTS.only("kind", "metric"),
    loss=share("Mean loss at all positions; null: no error."),
    bias=share("Slope of the loss on the position, within dialogues; null: no dialogue has errors in two turns."),
    relative=r("bias / loss; null: either is, or the loss is 0."),
    blind=share("The share of errors that change nothing; null: no error."),
    **ERROR_COSTS.only("low", "high", "level", "errors", "dialogues"),
    undefined=count("Errors left out because the score is undefined."),
)

ERROR_KINDS: Final = Table(
    "errors that were made: A row per kind of error.",
    **ERROR_COSTS.only("kind"),
    changes=count("Changes of gold."),
    single=count("Of these: in dialogues of one turn, which are left out."),
    possible=count("Of the others: those that can have such an error."),
    sample=count("Number that was to be drawn in each dialogue; null: all."),
    seed=large("Random seed of the draws; null: all."),
    errors=count("Of these: those that were drawn, or all."),
)

# --- how surely metrics order runs ------------------------------------------------------------------------------------

KNOWN_ORDER: Final = Table(
    "known order: A row per run: the number along which runs are ordered.",
    run=text("Name of the run."),
    along=text("What the number is."),
    number=number("The number; higher is taken to be better."),
)

VALIDITY: Final = Table(
    "agreement with the known order: A row per (metric, measure): how a metric orders runs whose order is known.",
    **SCORES.only("metric"),
    along=text("What the runs are ordered along."),
    measure=text(
        "tau: Kendall's tau-b; somers_d; accuracy: pairs ordered so (Kocmi et al. 2021); soft_accuracy: each "
        "counted by 1 less the one-sided p of its order (Thompson et al. 2024)."
    ),
    runs=count("Runs that have a score."),
    pairs=count("Pairs of runs that have an order and scores."),
    value=r("The measure; null: undefined."),
    **interval(r, "Lower end of its interval over dialogues, one-sided at an end of the scale; null: undefined."),
    level=number("Confidence level of the interval."),
)

RELIABILITY: Final = Table(
    "reliability of metrics: A row per metric: how alike random halves order the runs (Buckley & Voorhees 2000).",
    **SCORES.only("metric"),
    pairs=count("Pairs of runs that have scores."),
    swap_rate=share("Share of pairs that the halves order otherwise, mean; ties count half.", nullable=True),
    **VALIDITY.only("low", "high", "level"),
    tau_halves=decimal("Kendall's tau-b of the two halves' orders, mean over halves; null: undefined."),
    tau_full=decimal("The same for two test sets as large as the whole (Spearman-Brown); null: undefined."),
    halves=count("Number of random halves."),
)

SAMPLE_SIZES: Final = Table(
    "orders by number of dialogues: A row per (metric, number of dialogues): how well so many stand for all.",
    **SCORES.only("metric"),
    dialogues=count("Dialogues in a random sample."),
    alike=share(
        "Share of pairs of runs that a sample orders as all dialogues do, mean over samples; ties count half.",
        nullable=True,
    ),
)

CONTESTS: Final = Table(
    "metrics compared: A row per (measure, pair of metrics): which is better, and whether that may be chance.",
    measure=text("soft_accuracy, swap_rate, or power: the share of pairs of runs with p at most 1 - level."),
    **RANK_AGREEMENT.only("first", "second"),
    difference=r("The measure of the first minus that of the second; null: undefined."),
    **VALIDITY.only("low", "high", "level"),
    p=p("Two-sided p of the difference, by resampling dialogues; null: undefined."),
    p_adjusted=p("p adjusted by Holm for the pairs of metrics in this measure.", nullable=True),
)


def _in_a_run(table: Table, title: str) -> Table:
    """The table, of a run's own predictions."""
    way = text("put in: errors are put into the run's right values; mended: its own are mended (loss: the gain).")
    return Table(f"{title}: As `{table.title}`, in a run's own predictions, by `way`.", way=way, **table.columns)


OWN_ERROR_COSTS: Final = _in_a_run(ERROR_COSTS, "costs of errors in a run")
OWN_POSITION_BIAS: Final = _in_a_run(POSITION_BIAS, "position bias in a run")
OWN_ERROR_KINDS: Final = _in_a_run(ERROR_KINDS, "errors in a run")
