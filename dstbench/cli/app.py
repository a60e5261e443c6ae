"""The application, with all commands."""

from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from dstbench.cli import audits, commands  # noqa: F401 (they make the commands)
from dstbench.cli.command import COMMANDS, is_path


class _Commands(TyperGroup):
    """All commands; a file in a command's place is scored."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        scores = args[0] not in self.commands and is_path(args[0])
        return super().resolve_command(ctx, ["score", *args] if scores else args)


_LOOKS: Final[dict[str, Any]] = {
    "no_args_is_help": True, "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "rich_markup_mode": None,  # plain help takes half the time
}  # fmt: skip
app = typer.Typer(
    name="dstbench",
    cls=_Commands,
    help="Evaluate dialogue state tracking: every published metric, from any model's own prediction file.\n\n"
    "With a file in place of a command, it is scored: dstbench predictions.json",
    **_LOOKS,
)
_audits = typer.Typer(name="audit", help="Audit a dataset: measure and mend what distorts scores.", **_LOOKS)
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
