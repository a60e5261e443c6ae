"""The application that commands are added to.

Commands import the modules that compute inside their functions, so that --help answers at once.
"""

from typing import Annotated

import typer

app = typer.Typer(
    name="dstbench",
    help="Evaluate dialogue state tracking: every published metric, from any model's own prediction file.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help takes half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from dstbench._version import __version__

        typer.echo(__version__)
        raise typer.Exit
