"""The command that explains topics; each is a text in Markdown, a file in the folder `topics`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from dstbench.cli.command import Call, Result
from dstbench.errors import check_known

# Lines of prose are no wider than this, however wide the terminal.
_WIDEST = 100


def show_topic(call: Call, topic: str | None = None) -> Result:
    """A topic, or their list.

    Args:
        topic: A topic; without it, all topics are listed.
    """
    texts = topics()
    if topic is None:
        width = max(map(len, texts))
        lines = (f"  {name:<{width}}  {text.partition('# ')[2].splitlines()[0]}\n" for name, text in texts.items())
        return Result("".join(["Topics, which `dstbench help TOPIC` shows:\n\n", *lines]))
    check_known([topic], texts, "there is no topic {!r}")
    return Result(_rendered(texts[topic]) if sys.stdout.isatty() else texts[topic])


def topics() -> dict[str, str]:
    """Name of each topic to its text, in alphabetical order."""
    paths = sorted(Path(__file__).with_name("topics").glob("*.md"), key=lambda path: path.name)
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def _rendered(text: str) -> str:
    """Markdown rendered for a terminal."""
    from rich.console import Console
    from rich.markdown import Markdown

    from dstbench.rendering.terminal import screen_of

    page = io.StringIO()
    width = min(_WIDEST, screen_of(sys.stdout).width or _WIDEST)
    session = text.replace("```python\n>>>", "```pycon\n>>>")  # with prompts and results
    Console(file=page, force_terminal=True, width=width).print(Markdown(session, code_theme="ansi_dark"))
    return page.getvalue()
