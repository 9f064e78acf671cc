"""Plans against the rules of the design, from facts that the generator knows.

The files are written from a description; what must come of them is worked out from that
description alone: the rules by going through all of them until nothing new follows, the
operations by kind, the order by what reads what. Nothing here asks the planner's own stages.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sketch import everything, plan, repository

from airflow_provider_sparkdeploy.core.codec import plan_to_json

KINDS = (
    ("view",) * 4 + ("materialized_view",) * 2 + ("function", "sink", "data", "table", "script", "migration")
)
STATEFUL = ("script", "migration")
INDEXED = ("table", "script", "materialized_view", "data")
COMPUTES = (None, None, "etl", "bi")


@dataclass(frozen=True)
class Thing:
    """An object. ``version`` is its text, the columns of a table, the changes of a script;
    ``indexes`` are versions and computes by name."""

    schema: str
    name: str
    kind: str
    version: int = 1
    reads: tuple[str, ...] = ()
    compute: str | None = None
    replacement: bool = False
    indexes: dict[str, tuple[int, str | None]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def path(self) -> str:
        kind = "table" if self.kind == "script" else self.kind
        return f"{self.schema}/{kind}/{self.name}.{'csv' if kind == 'data' else 'sql'}"

    def text(self, calls: set[str]) -> str:
        words = [f"compute={self.compute}" if self.compute else "", "keys=k" if self.kind == "data" else ""]
        words.append("replacement=true" if self.replacement else "")
        query = " UNION ".join(
            f"SELECT {one}(1) AS k" if one in calls else f"SELECT k FROM {one}" for one in self.reads
        )
        query = f"SELECT {{}} AS k{' UNION ' if query else ''}{query}"
        own = query.format(self.version)
        changes = range(self.version)
        body = {
            "view": f"CREATE VIEW {self.key} AS {own};",
            "materialized_view": f"CREATE MATERIALIZED VIEW {self.key} AS {own};",
            "function": f"CREATE FUNCTION {self.key}(x INT) RETURNS INT RETURN (SELECT max(k) FROM ({own}));",
            "sink": f"INSERT OVERWRITE DIRECTORY '/a' {own};\nINSERT OVERWRITE DIRECTORY '/b' {own};",
            "data": "\n".join(["k:int", *map(str, changes)]),
            "table": f"CREATE TABLE {self.key} (k INT{''.join(f', c{n} INT' for n in changes)}) USING iceberg;",
        }.get(self.kind)
        if body is None:  # its first change reads, too: so every one waits for the same
            body = "\n".join(
                f"//// CHANGE name=c{n}\nINSERT INTO somewhere.else {query.format(n)};" for n in changes
            )
        for name, (version, compute) in self.indexes.items():
            body += f"\n//// INDEX name={name}{f' compute={compute}' if compute else ''}"
            body += f"\nCREATE INDEX {name} ON {self.key} (k, v{version});"
        return f"//// METADATA {' '.join(word for word in words if word)}\n{body}\n"

    def needs(self) -> set[str]:
        return {*self.reads}


World = dict[str, Thing]


def _new(random: Random, name: str, world: World) -> Thing:
    kind = random.choice(KINDS)
    unread = ("sink", "migration") if kind not in ("table", "data") else KINDS
    readable = [key for key, item in world.items() if item.kind not in unread]
    return Thing(
        schema=random.choice("rst"),
        name=name,
        kind=kind,
        reads=tuple(sorted(random.sample(readable, min(len(readable), random.choice((0, 1, 1, 2)))))),
        compute=random.choice(COMPUTES),
        replacement=kind not in ("sink", "migration") and random.random() < 0.15,
        indexes={f"i{n}": (0, random.choice(COMPUTES)) for n in range(random.choice((0, 0, 1, 2)))}
        if kind in INDEXED
        else {},
    )


def _edited(random: Random, item: Thing) -> Thing | None:
    choice = random.random()
    if choice < 0.12 and item.kind != "script":
        return None
    if choice < 0.3:
        return replace(item, version=item.version + 1)
    if choice < 0.36 and item.kind == "table":
        return replace(item, version=item.version - 1)
    if choice < 0.42:
        return replace(item, compute=random.choice(COMPUTES))
    if choice < 0.55 and item.kind in INDEXED:
        indexes = dict(item.indexes)
        name = random.choice(("i0", "i1"))
        version, compute = indexes.pop(name, (0, random.choice(COMPUTES)))
        if random.random() < 0.6:
            indexes[name] = (version + 1, compute)
        return replace(item, indexes=indexes)
    return item


def _worlds(seed: int, size: int) -> tuple[World, World]:
    random = Random(seed)
    before: World = {}
    for number in range(size):
        item = _new(random, f"o{number}", before)
        before[item.key] = item
    after = {key: new for key, item in before.items() if (new := _edited(random, item))}
    for key, item in after.items():  # who read what is gone does not any more, but scripts stay as they are
        if item.kind not in STATEFUL:
            after[key] = replace(item, reads=tuple(one for one in item.reads if one in after))
    if random.random() < 0.5:
        item = _new(random, "n", after)
        after[item.key] = item
    return before, after


WORLDS = st.builds(_worlds, st.integers(0, 2**24), st.integers(1, 9))


def _files(world: World) -> dict[str, str]:
    calls = {key for key, item in world.items() if item.kind == "function"}
    return {item.path: item.text(calls) for item in world.values()}


class Oracle:
    """What must come of two worlds, by the rules of section 6."""

    def __init__(self, before: World, after: World, forced: set[str], schema: bool, compute: bool) -> None:
        self.before, self.after = before, after
        gone = {key: item for key, item in before.items() if key not in after and item.kind != "migration"}
        everything = {**after, **gone}
        self.changed = {*gone} | {
            key for key, item in after.items()
            if key not in before or (item.version, item.reads) != (before[key].version, before[key].reads)
        }  # fmt: skip
        self.changed_indexes = {
            (key, name)
            for key in before.keys() & after.keys()
            for name in before[key].indexes.keys() | after[key].indexes.keys()
            if (0, *before[key].indexes.get(name, ()))[:2] != (0, *after[key].indexes.get(name, ()))[:2]
        }
        index_uses = {
            (key, name, used) for key, item in everything.items() for name, (_, used) in item.indexes.items()
        }
        index_uses |= {(key, name, before[key].indexes[name][1]) for key, name in self.changed_indexes
                       if name not in after[key].indexes}  # fmt: skip
        boundary = {item.compute for item in after.values()}
        boundary |= {used for item in after.values() for _, used in item.indexes.values()}
        boundary = boundary - {None} if compute else set()
        depends = {(key, one) for key, item in everything.items() for one in item.needs() & everything.keys()}
        depends |= {
            (key, one) for key in before.keys() & after.keys() for one in before[key].needs() & gone.keys()
        }
        self.objects: set[str] = set()
        self.schemas, self.computes, self.indexes = set(forced), set[str | None](), set(self.changed_indexes)
        size = -1
        while size != (size := sum(map(len, (self.objects, self.schemas, self.computes, self.indexes)))):
            self.objects |= self.changed
            for key, item in everything.items():
                seed = key in self.changed and item.kind != "sink"
                self.computes |= {item.compute} & boundary if seed else set()
                if item.compute in self.computes or item.schema in self.schemas:
                    self.objects.add(key)
                if schema and key in self.objects and item.kind != "sink":
                    self.schemas.add(item.schema)
            for key, name, used in index_uses:
                if (key, name) in self.changed_indexes or key in self.changed:
                    self.computes |= {used} & boundary
                if used in self.computes and key in after:
                    self.indexes.add((key, name))
            for key, one in depends:
                inside = not schema and everything[key].schema == everything[one].schema
                if one in self.objects and (inside or not everything[one].replacement):
                    self.objects.add(key)
        self.gone = gone

    def operations(self, recreate: bool) -> Counter[tuple[str, str, str]]:
        found: list[tuple[str, str, str]] = [
            ("teardown", key, "drop") for key, item in self.gone.items() if item.kind != "sink"
        ]
        for key, item in self.after.items():
            old = self.before.get(key)
            anew = old is None
            if item.kind in STATEFUL:
                found += [("setup", key, "run")] * (item.version - (old.version if old else 0))
            elif item.kind == "table" and old:
                found += [("setup", key, "alter")] * (item.version - old.version)
                found += [("teardown", key, "alter")] * (old.version - item.version)
            elif item.kind == "table":
                found.append(("setup", key, "create"))
            elif item.kind == "sink":
                found += [("export", key, "run")] * 2 if key in self.objects else []
            elif key in self.objects:
                anew = anew or recreate
                if old and recreate:
                    found.append(("teardown", key, "drop"))
                in_place = (
                    "refresh" if item.kind == "materialized_view" and key not in self.changed else "replace"
                )
                body = ["load"] if item.kind == "data" else [in_place]
                made = ["create", "load"] if item.kind == "data" else ["create"]
                found += [("setup", key, action) for action in (made if anew else body)]
            dirty = {name for one, name in self.indexes if one == key}
            lost = anew or (item.kind == "materialized_view" and key in self.objects)
            found += [("setup", key, "index")] * len(item.indexes if lost else dirty & item.indexes.keys())
            if old and not anew:
                found += [("teardown", key, "drop")] * len(dirty & old.indexes.keys())
        return Counter(found)


def _reached(world: World, key: str) -> set[str]:
    """Everything that an object needs, directly or not."""
    found: set[str] = set()
    pending = [key]
    while pending:
        new = world[pending.pop()].needs() & world.keys() - found
        found |= new
        pending += new
    return found


def _before(operations: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Of every operation those that must have run before it, by depends_on."""
    found: dict[str, set[str]] = {}
    for item in operations:
        found[item["id"]] = set(item["depends_on"]).union(*(found[one] for one in item["depends_on"]))
    return found


@settings(max_examples=250)
@given(WORLDS, st.sampled_from(("", "r")), st.booleans(), st.booleans(), st.booleans())
def test_plans_are_what_the_rules_say(
    worlds: tuple[World, World], force: str, schema: bool, compute: bool, recreate: bool
) -> None:
    before, after = worlds
    forced = {force} & {item.schema for item in after.values()}
    strategy = "recreate" if recreate else "replace"
    yaml = json.dumps({"propagation": {"schema": schema, "compute": compute}, "redeploy": strategy})
    state = everything(repository(_files(before), yaml))
    target = repository(_files(after), yaml)
    text = plan_to_json(plan(target, state, force_schemas=tuple(forced)).plan)
    found = json.loads(text)
    assume(not found["errors"])  # a script that was to read what is gone
    expected = Oracle(before, after, forced, schema, compute)
    assert found["dirty"] == {
        "objects": sorted(expected.objects),
        "schemas": sorted(expected.schemas),
        "compute": sorted(map(str, expected.computes)),
        "indexes": sorted(f"{key}.{name}" for key, name in expected.indexes),
    }
    operations = found["operations"]
    made = Counter((item["phase"], item["object"], item["action"]) for item in operations)
    assert made == expected.operations(recreate)
    assert not found["blocked"]
    _check_order(operations, before, after)
    other = repository(dict(reversed(_files(after).items())), yaml)
    assert plan_to_json(plan(other, state, force_schemas=tuple(forced)).plan) == text, "the order of files"
    assert not plan(target, everything(target)).plan.operations, "all is deployed"


def _check_order(operations: list[dict[str, Any]], before: World, after: World) -> None:
    phases = [("teardown", "setup", "export").index(item["phase"]) for item in operations]
    assert phases == sorted(phases)
    earlier = _before(operations)
    for item in operations:
        others = [
            one for one in operations if one["phase"] in ("setup", item["phase"]) and one["action"] != "index"
        ]
        if item["phase"] == "teardown":
            drops = [one["id"] for one in others if one["id"] == f"teardown.{one['object']}"]
            later = {
                one for one in drops if item["object"] in _reached(before, one.removeprefix("teardown."))
            }
            assert later <= earlier[item["id"]], f"{item['id']} is gone before what reads it"
        else:
            needed = _reached(after, item["object"])
            ids = {one["id"] for one in others if one["phase"] == "setup" and one["object"] in needed}
            assert ids <= earlier[item["id"]], f"{item['id']} comes before what it reads"
