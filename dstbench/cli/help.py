"""The command that explains topics; each is a text in Markdown, a file in the folder `topics`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from dstbench.cli.command import Call, Result
from dstbench.errors import check_known


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
    if not sys.stdout.isatty():
        return Result(texts[topic])
    from rich.console import Console
    from rich.markdown import Markdown

    from dstbench.rendering.terminal import screen_of

    page, session = io.StringIO(), texts[topic].replace("```python\n>>>", "```pycon\n>>>")  # with prompts and results
    width = min(100, screen_of(sys.stdout).width or 100)  # lines of prose are no wider
    Console(file=page, force_terminal=True, width=width).print(Markdown(session, code_theme="ansi_dark"))
    return Result(page.getvalue())


def topics() -> dict[str, str]:
    """Name of each topic to its text, in alphabetical order."""
    paths = sorted(Path(__file__).with_name("topics").glob("*.md"), key=lambda path: path.name)
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}
