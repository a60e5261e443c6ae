"""Files that a user gives in addition to the data: tables of values, and the schema of a dataset.

``--help`` loads this module (through `choices`), so functions that read files import what they need themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from dstbench.errors import DstbenchError


@dataclass(frozen=True)
class UserFile:
    """The content of a file; two are equal if their contents are, whatever the files are called.

    Attributes:
        digest: A hash of the content, which stands for it in signatures.
        content: The content.
    """

    digest: str
    content: Mapping[str, Any] = field(compare=False, repr=False)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Make one from a mapping in memory."""
        import hashlib
        import json

        text = json.dumps(content, sort_keys=True, default=sorted, ensure_ascii=False)
        return cls(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8], content)

    def __str__(self) -> str:
        return f"#{self.digest}"


class Table(UserFile):
    """A table of values, each with its variants."""

    content: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, content: Mapping[str, Iterable[str]]) -> Self:
        """Make a table from a mapping in memory."""
        return super().of({value: frozenset(variants) for value, variants in content.items()})

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a table from a JSON file: {value: [variants]}, {value: variant}, or either of them under ``label_maps``.

        Raises:
            DstbenchError: The file cannot be read, or has another form.
        """
        document = read_json(path, dict)
        document = document.get("label_maps", document)
        form = '{"centre": ["center", "middle"]}, or TripPy\'s configuration with its label_maps'
        if not isinstance(document, dict):
            raise DstbenchError("no table of values", file=str(path), hint=form)
        entries = {value: [entry] if isinstance(entry, str) else entry for value, entry in document.items()}
        for value, variants in entries.items():
            if not isinstance(variants, list) or not all(isinstance(variant, str) for variant in variants):
                raise DstbenchError(f"the variants of {value!r} are not a list of strings", file=str(path), hint=form)
        return cls.of(entries)

    @property
    def rights(self) -> dict[str, str]:
        """The right spelling of each variant."""
        return {variant: right for right, variants in self.content.items() for variant in variants}


class Schema(UserFile):
    """Each slot of a dataset, and whether it is categorical, as its ``schema.json`` says (SGD, MultiWOZ 2.2)."""

    content: Mapping[str, bool]

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read the schema in a file.

        Raises:
            DstbenchError: The file cannot be read, or has another form.
        """
        from dstbench.conventions.slots import canonical_slot

        slots: dict[str, bool] = {}
        try:
            for service in read_json(path, list):
                for slot in service["slots"]:
                    name = slot["name"] if "-" in slot["name"] else f"{service['service_name']}-{slot['name']}"
                    slots[canonical_slot(name)] = bool(slot["is_categorical"])
            return cls.of(slots)
        except (KeyError, TypeError):
            raise DstbenchError(
                "not a schema of services with slots", file=str(path), hint="the dataset's schema.json"
            ) from None

    @property
    def services(self) -> frozenset[str]:
        """The names of the services."""
        return frozenset(slot.partition("-")[0] for slot in self.content)

    def kind(self, *, categorical: bool) -> frozenset[str]:
        """The slots that are categorical, or those that are not."""
        return frozenset(slot for slot, is_categorical in self.content.items() if is_categorical == categorical)


def read_json(path: str | Path, kind: type | tuple[type, ...]) -> Any:
    """Read the JSON document in a small file; `kind` is what it must be: dict, list, or both in a tuple."""
    import json

    from dstbench.io.files import File

    file = File(path)
    content = file.read()
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        hint = f"mend it there, or copy it again; python -m json.tool {file.name} checks it"
        raise file.error(f"broken JSON: {error}", hint) from None
    if not isinstance(document, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise file.error(f"not a JSON {' or '.join('object' if one is dict else 'list' for one in kinds)}")
    return document
