"""The application, with all commands."""

from typing import Annotated

import typer

from dstbench.cli.commands import COMMANDS


def _group(name: str, help: str) -> typer.Typer:  # noqa: A002
    return typer.Typer(
        name=name,
        help=help,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help takes half the time
        context_settings={"help_option_names": ["-h", "--help"]},
    )


app = _group(
    "dstbench", "Evaluate dialogue state tracking: every published metric, from any model's own prediction file."
)
_audits = _group("audit", "Audit a dataset: measure and mend what distorts scores.")
app.add_typer(_audits)
for _command in COMMANDS:
    _command.add(_audits if _command.name.startswith("audit ") else app)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from dstbench._version import __version__

        typer.echo(__version__)
        raise typer.Exit
