"""The services of a dataset and their slots, as its ``schema.json`` describes them (SGD, MultiWOZ 2.2)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dstbench.conventions.normalise import read_json
from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.errors import DstbenchError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Schema:
    """A schema that a user names.

    Two are equal if they have the same slots, whatever their files are called; `digest` is the signature's part.

    Attributes:
        digest: What stands for it in signatures.
        slots: Each slot, and whether it is categorical.
    """

    digest: str
    slots: Mapping[str, bool] = field(compare=False, repr=False)

    @classmethod
    def of(cls, slots: Mapping[str, bool]) -> Schema:
        """A schema from a mapping in memory: slot to whether it is categorical."""
        whole = {slot: slots[slot] for slot in sorted(slots)}
        spelled = json.dumps(whole, ensure_ascii=False)
        return cls(hashlib.sha256(spelled.encode("utf-8", "surrogatepass")).hexdigest()[:8], whole)

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """The schema in a file.

        Raises:
            DstbenchError: It cannot be read, or is of another form.
        """
        try:
            return cls.of(
                {
                    canonical_slot(
                        slot["name"] if "-" in slot["name"] else f"{service['service_name']}-{slot['name']}"
                    ): bool(slot["is_categorical"])
                    for service in read_json(path, list)
                    for slot in service["slots"]
                }
            )
        except (KeyError, TypeError):
            raise DstbenchError(
                "not a schema of services with slots", file=str(path), hint="the dataset's schema.json"
            ) from None

    @property
    def services(self) -> frozenset[str]:
        """The names of the services."""
        return frozenset(map(domain_of, self.slots))

    def kind(self, *, categorical: bool) -> frozenset[str]:
        """The slots that are categorical, or those that are not."""
        return frozenset(slot for slot, is_categorical in self.slots.items() if is_categorical == categorical)

    def __str__(self) -> str:
        return f"#{self.digest}"
