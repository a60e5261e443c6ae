"""The values that slots may have, as an ontology, a schema or a database says.

Conventions: an ontology is a JSON object {slot: [values]}, under any spelling of the slots; a schema is the list of
services with slots of SGD and MultiWOZ 2.2; a database is a folder of files ``hotel_db.json``, ``train_db.json``, …,
each a list of entities with their attributes. Values are kept as written; they need not occur in any annotation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from dstbench.conventions.files import read_json
from dstbench.conventions.slots import canonical_slot
from dstbench.errors import DstbenchError

_FORM: Final = '{"hotel-area": ["north", "south"]}'
_DATABASE: Final = "_db.json"


def read_ontology(source: str | Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """The values of each slot, from a JSON file or a mapping in memory.

    >>> read_ontology({"hotel-semi-area": ["north", "north"]})
    {'hotel-area': frozenset({'north'})}
    """
    document: Any = read_json(source, (dict, list)) if isinstance(source, str) else source
    try:
        ontology: dict[str, frozenset[str]] = {}
        for slot, values in document.items() if isinstance(document, Mapping) else _of_schema(document):
            whole = frozenset(values)
            if isinstance(values, str) or not all(isinstance(value, str) for value in whole):
                raise TypeError
            name = canonical_slot(slot)
            ontology[name] = ontology.get(name, frozenset()) | whole
    except (AttributeError, KeyError, TypeError):
        raise DstbenchError("no ontology", file=str(source), hint=_FORM) from None
    return ontology


def read_entities(folder: str) -> dict[str, list[Mapping[str, Any]]]:
    """The entities of a database by domain, each a mapping from attribute to value."""
    path, entities = Path(folder), dict[str, list[Mapping[str, Any]]]()
    files = sorted(path.glob(f"*{_DATABASE}")) if path.is_dir() else [path]
    if not files:
        what = f"a folder without a file named …{_DATABASE}"
        raise DstbenchError(what, file=folder, hint="hotel_db.json, train_db.json, …")
    for file in files:
        if not file.name.endswith(_DATABASE):
            hint = "name the folder that has them, or give it as --ontology"
            raise DstbenchError(f"a file of a database is named DOMAIN{_DATABASE}", file=str(file), hint=hint)
        of_domain = entities[file.name.removesuffix(_DATABASE)] = read_json(file, list)
        if not all(isinstance(entity, Mapping) for entity in of_domain):
            raise DstbenchError("not a list of entities", file=str(file), hint='[{"name": "…", "area": "…"}, …]')
    return entities


def read_database(folder: str) -> dict[str, frozenset[str]]:
    """The values that the entities of a database have, by slot; see `read_entities`."""
    values_by_slot: dict[str, set[str]] = defaultdict(set)
    for domain, entities in read_entities(folder).items():
        for entity in entities:
            for name, value in entity.items():
                if isinstance(value, str):
                    values_by_slot[canonical_slot(f"{domain}-{name}")].add(value)
    return {slot: frozenset(values) for slot, values in values_by_slot.items()}


def _of_schema(services: Iterable[Any]) -> Iterable[tuple[str, Iterable[str]]]:
    """Slots and possible values of a schema's services; a slot of MultiWOZ 2.2 names its service itself."""
    for service in services:
        name = service["service_name"]
        for slot in service["slots"]:
            prefixed = slot["name"] if slot["name"].startswith(f"{name}-") else f"{name}-{slot['name']}"
            yield prefixed, slot.get("possible_values") or ()
