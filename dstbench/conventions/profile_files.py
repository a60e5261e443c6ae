"""Conventions as data: a TOML file with the choices in which one differs from another profile."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dstbench.conventions.choices import CHOICES, file_type
from dstbench.conventions.convention import DEFAULTS, from_text
from dstbench.conventions.files import UserFile
from dstbench.errors import did_you_mean

#: The key of the profile to start from.
BASE: Final = "base"
#: The ending of such a file.
ENDING: Final = ".toml"
# Fields by the keys that a file may use: the field's name, the same with hyphens, or the option's name.
_KEYS: Final[Mapping[str, str]] = {
    spelling: name
    for name, choice in CHOICES.items()
    if name != "name"
    for spelling in (name, name.replace("_", "-"), choice.metadata["option"] or name)
}


def read_choices(path: Path) -> tuple[str, dict[str, Any]]:
    """The profile to start from (``verbatim`` if the file names none), and the choices that replace its own."""
    import tomllib

    from dstbench.io.files import File

    file = File(path)
    try:
        document = tomllib.loads(file.read().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise file.error(f"not TOML: {error}", 'base = "trade", then a line such as dontcare = "drop"') from None
    base = document.pop(BASE, "verbatim")
    if not isinstance(base, str) or base.endswith(ENDING):
        raise file.error(f"{BASE} = {base!r} names no profile", "one of `dstbench ls profiles`")
    chosen: dict[str, Any] = {}
    for key, value in document.items():
        name = _KEYS.get(key)
        if name is None:
            hint = did_you_mean(key, [BASE, *_KEYS]) or f"{BASE}, {', '.join(dict.fromkeys(_KEYS.values()))}"
            raise file.error(f"a convention has no choice {key!r}", hint)
        if name in chosen:
            raise file.error(f"two values of {name}", "keep one of them")
        if file_type(CHOICES[name]) is not None:
            if not isinstance(value, str):
                raise file.error(f"{key} = {value!r} is not the name of a file")
            value = path.parent / value  # noqa: PLW2901
        elif name == "metrics" and isinstance(value, list):
            value = ",".join(map(str, value))  # noqa: PLW2901
        chosen[name] = from_text(name, value)
    return base, {"title": f"choices of {path.name}, otherwise as {base}", **chosen}


def hash_of(settings: Mapping[str, str]) -> str:
    """A hash of the choices in the settings of a signature (`Convention.settings`), whatever the profile's name."""
    choices = {key: text for key, text in settings.items() if key in DEFAULTS and key != "profile"}
    return UserFile.of(choices).digest
