"""The shape of the code: a module imports only from steps before it, and only the command line prints."""

from __future__ import annotations

import ast
from pathlib import Path

import dstbench

ROOT = Path(dstbench.__file__).parent

#: The data's way. A module may import from those above it; a package stands for all its modules.
STEPS = (
    "errors", "escapes", "limits", "options", "stats", "slots", "schema", "standings", "turnwise", "codes",
    "frames", "longrules", "fingerprint", "layout", "files", "states", "builder", "runs", "readers", "context",
    "spreading", "align", "longfile", "longtable", "conversion", "partition", "engine_ray", "engines", "ratios",
    "spelling", "ontology", "services", "matching", "conventions", "profiles", "scope", "comparison", "turntable",
    "requirements", "sums", "taxonomy", "pairs", "metrics", "signature", "precision", "score_notes", "scoring",
    "pairing", "verdicts", "significance", "dialogues", "associations", "correlating", "tendencies", "diagnosis",
    "walkthrough", "queries", "explorer", "sweeps", "checks", "audit", "listing", "demo", "rendering", "reporting",
    "cli", "__main__",
)  # fmt: skip


def modules() -> list[tuple[str, ast.Module]]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        step = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if step != "__init__":  # it only names what the modules offer
            found.append((step, ast.parse(path.read_text(encoding="utf-8"))))
    return found


def test_every_module_has_its_place() -> None:
    assert {step for step, _ in modules()} == set(STEPS)


def test_a_module_imports_only_from_steps_before_it() -> None:
    for step, tree in modules():
        for node in ast.walk(tree):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                parts = name.split(".")
                if parts[0] == "dstbench" and len(parts) > 1 and parts[1] != step:
                    assert STEPS.index(parts[1]) < STEPS.index(step), f"{step} imports {name}"


def test_only_the_command_line_prints_or_exits() -> None:
    for step, tree in modules():
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {call.id for call in calls if isinstance(call, ast.Name)}
        if step != "cli":
            assert not names & {"print", "exit", "input", "quit"}, step
