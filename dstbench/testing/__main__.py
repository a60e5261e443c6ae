"""``python -m dstbench.testing MODULE…``: tries the laws on all metrics and formats of modules."""

from typing import Annotated

import typer

from dstbench.cli.output import emit, reporting


def main(
    modules: Annotated[
        list[str], typer.Argument(metavar="MODULE...", help="Modules, or Python files, of metrics and formats.")
    ],
    seed: Annotated[int, typer.Option(help="Random seed of the corpora and of the damage.")] = 0,
) -> None:
    """Try the laws that every metric and every format keeps. Exits with 1 if one is broken."""
    with reporting():
        from dstbench.errors import UsageError
        from dstbench.metrics.registry import PLUGINS as METRICS
        from dstbench.plugins import use
        from dstbench.readers.registry import PLUGINS as FORMATS
        from dstbench.rendering.terminal import wrapped
        from dstbench.testing import try_format, try_metric

        use(modules)
        tried = {f"metric {name}": try_metric(metric, seed=seed) for name, metric in METRICS.of_modules()}
        tried |= {f"format {name}": try_format(form, seed=seed) for name, form in FORMATS.of_modules()}
        if not tried:
            raise UsageError(f"{', '.join(modules)}: there is no metric and no format in it")
        text = ""
        for what, outcomes in tried.items():
            lines = [wrapped(line, 100, " " * 12) for outcome in outcomes for line in outcome.lines()]
            text += "\n".join([what, *lines, "", ""])
        laws = [outcome for outcomes in tried.values() for outcome in outcomes if not outcome.is_note]
        broken = sum(outcome.fault is not None for outcome in laws)
        are = "is" if broken == 1 else "are"
    emit(
        text + (f"{broken} of {len(laws)} laws {are} broken\n" if broken else f"all {len(laws)} laws are kept\n"), None
    )
    if broken:
        raise typer.Exit(1)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False, rich_markup_mode=None)
    app.command()(main)
    app(prog_name="python -m dstbench.testing")
