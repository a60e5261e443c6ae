"""``python -m dstbench.testing MODULE…``: tries the laws on all metrics and formats of modules."""

from typing import Annotated, Any

import typer

from dstbench.cli.output import emit, reporting
from dstbench.testing.laws import BrokenLawError


def main(
    modules: Annotated[list[str], typer.Argument(help="Modules, or Python files, of metrics and formats.")],
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
        checks: list[tuple[Any, Any]] = [(check_metric, METRICS), (check_format, FORMATS)]
        told: dict[str, bool] = {}
        for check, plugins in checks:
            for name, plugin in plugins.of_modules():
                try:
                    check(plugin, seed=seed)
                    told[f"{plugins.kind} {name!r} keeps all laws"] = True
                except BrokenLawError as error:
                    told[str(error)] = False
        if not told:
            raise UsageError(f"{', '.join(modules)}: there is no metric and no format in it")
    emit("".join(f"{line}\n" for line in told), None)
    raise typer.Exit(not all(told.values()))


if __name__ == "__main__":
    typer.run(main)
