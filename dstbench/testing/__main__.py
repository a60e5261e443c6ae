"""``python -m dstbench.testing MODULE…``: tries the laws on all metrics and formats of modules."""

from typing import Annotated, Any

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
        from dstbench.testing import check_format, check_metric

        use(modules)
        checks: list[tuple[str, Any, Any]] = [
            (f"metric {name!r}", check_metric, metric) for name, metric in METRICS.of_modules()
        ]
        checks += [(f"format {name!r}", check_format, form) for name, form in FORMATS.of_modules()]
        if not checks:
            raise UsageError(f"{', '.join(modules)}: there is no metric and no format in it")
        lines, is_broken = [], False
        for what, check, plugin in checks:
            try:
                check(plugin, seed=seed)
                lines.append(f"{what} keeps all laws")
            except AssertionError as error:
                is_broken = True
                lines.append(str(error))
    emit("".join(f"{line}\n" for line in lines), None)
    if is_broken:
        raise typer.Exit(1)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False, rich_markup_mode=None)
    app.command()(main)
    app(prog_name="python -m dstbench.testing")
