"""Small but nasty repositories for hypothesis, and edits of them.

A world is a description, from which the files are written: so an edit keeps a repository legal
most of the time (whoever read what is gone reads something else). Names need quoting, collide when
they are joined, or are reserved words. Hypothesis chooses sizes and seeds, and every object has a
generator of its own: what fails shrinks to few objects, and a world costs little to make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st
from sketch import Files

from airflow_provider_sparkdeploy.core.names import quote

SCHEMAS = ("a", "a_b", "select", "X.y")
NAMES = ("c", "b_c", "Order", "my view", "d.e", "é`", "t1", "t2")
KINDS = ("table", "script", "migration", "view", "function", "materialized_view", "sink", "data")
READABLE = ("table", "script", "view", "materialized_view", "data")
READERS = ("script", "migration", "view", "function", "materialized_view", "sink")
COMPUTES = ("", "", "etl", "Big")

Place = tuple[str, str]  # schema folder and object, as the folders spell them


@dataclass(frozen=True)
class Index:
    name: str
    version: int = 0
    compute: str = ""


@dataclass(frozen=True)
class Thing:
    """One object. ``version`` is in its text, and ``columns`` in its declaration. ``steps`` are the
    changes of a script: of each the statements, and the step of another script that it waits for."""

    place: Place
    kind: str
    version: int = 0
    reads: tuple[Place, ...] = ()
    columns: int = 0
    steps: tuple[tuple[int, Place | None], ...] = ((1, None),)
    indexes: tuple[Index, ...] = ()
    compute: str = ""
    comment: str = ""
    lifecycle: str = "managed"
    toggles: tuple[str, ...] = ()


@dataclass(frozen=True)
class World:
    """Objects in an order in which each reads only those before it, but for ``circle``: pairs of
    materialized views that read each other."""

    things: tuple[Thing, ...]
    circle: tuple[Place, ...] = ()
    settings: tuple[str, ...] = ("allow_circular: true",)

    @property
    def yaml(self) -> str:
        return "\n".join(self.settings) + "\n"

    def files(self) -> Files:
        known = {thing.place: thing for thing in self.things}
        return {_path(thing): _Text(thing, known, self.circle).write() for thing in self.things}


def _path(thing: Thing) -> str:
    schema, name = thing.place
    kind = "table" if thing.kind == "script" else thing.kind
    return f"{schema}/{kind}/{name}.{'csv' if kind == 'data' else 'sql'}"


class _Text:
    """The text of one file."""

    def __init__(self, thing: Thing, known: dict[Place, Thing], circle: tuple[Place, ...]) -> None:
        self.thing, self.known = thing, known
        self.reads = [known[place] for place in thing.reads if place in known]
        if thing.place in circle:
            partners = [known[place] for place in circle if place in known]
            self.reads += [one for one in partners if one.kind == "materialized_view" and one != thing]
        self.name = _token(thing.place)

    def write(self) -> str:
        thing = self.thing
        body = getattr(self, f"_{thing.kind}")()
        indexes = "".join(
            f"//// INDEX name={index.name}{_attribute('compute', index.compute)}\n"
            f"CREATE INDEX i{index.version} ON {self.name} (k);\n"
            for index in thing.indexes
            if thing.kind in ("table", "script", "materialized_view")
        )
        return f"{self._header()}\n{body}{indexes}"

    def _header(self) -> str:
        thing = self.thing
        words = [
            *(word for word in thing.toggles if word != "DROP_TABLE" or thing.kind in ("table", "script")),
            _attribute("compute", thing.compute),
            _attribute("lifecycle", thing.lifecycle),
            _attribute("keys", "k" if thing.kind == "data" else ""),
        ]
        if thing.comment and thing.kind not in ("function", "sink", "migration"):
            words.append(f'comment="{thing.comment}"')
        return "-- //// METADATA " + " ".join(word for word in words if word)

    def _query(self) -> str:
        """A query over everything that is read: unions, calls, a CTE named like a table."""
        thing = self.thing
        parts = [f"SELECT {thing.version} AS k, 'a.c' AS v -- FROM {quote(('a', 'c'))}"]
        for one in self.reads:
            name = _token(one.place)
            if one.kind == "function":
                parts.append(f"SELECT {name}(1) AS k, 'f' AS v")
            elif one.kind in READABLE:
                parts.append(f"SELECT k, v FROM {name}")
        return "WITH c AS (SELECT 1) " + "\nUNION ".join(parts)

    def _table(self) -> str:
        columns = "k INT, v STRING" + "".join(f", w{number} INT" for number in range(self.thing.columns))
        return f"CREATE TABLE {self.name} ({columns}) USING parquet;\n"

    def _script(self) -> str:
        created = f"CREATE TABLE {self.name} (k INT, v STRING)"
        return self._changes(created, f"INSERT INTO {self.name}", f"DROP TABLE {self.name}")

    def _migration(self) -> str:
        return self._changes("SET x = 1", "INSERT OVERWRITE DIRECTORY '/m'", "SET x = 0")

    def _changes(self, first: str, other: str, undo: str) -> str:
        """CHANGE sections, whose text stays as it was whatever becomes of what they read."""
        found = []
        query = " UNION ".join(
            ["SELECT 1, 'x'", *(f"SELECT * FROM {quote(one)}" for one in self.thing.reads)]
        )
        for number, (count, waits) in enumerate(self.thing.steps):
            needs = ""
            if waits in self.known and self.known[waits].kind == self.thing.kind and number:
                behind = min(number, len(self.known[waits].steps)) - 1
                needs = _attribute("dependencies", f"{quote(waits)}.s{behind}")
            elif any(place is not None for _, place in self.thing.steps):
                needs = ' dependencies=""'
            found.append(f"//// CHANGE name=s{number}{needs}\n")
            for statement in range(count):
                found.append(f"{first};\n" if not number and not statement else f"{other} {query};\n")
            found.append(f"// ROLLBACK\n{undo if not number else f'SET undo = {number}'};\n")
        return "".join(found)

    def _view(self) -> str:
        return f"CREATE VIEW {self.name} AS {self._query()};\n"

    def _materialized_view(self) -> str:
        return f"CREATE MATERIALIZED VIEW {self.name} (k INT, v STRING) AS\n{self._query()};\n"

    def _function(self) -> str:
        return (
            f"CREATE FUNCTION {self.name}(x INT) RETURNS INT RETURN (SELECT max(k) FROM ({self._query()}));\n"
        )

    def _sink(self) -> str:
        return (
            f"INSERT OVERWRITE DIRECTORY '/x' {self._query()};\nINSERT OVERWRITE DIRECTORY '/y' SELECT 1;\n"
        )

    def _data(self) -> str:
        wide = self.thing.columns % 2
        return f"k,v{',w' if wide else ''}\n{self.thing.version},x{',1' if wide else ''}\n"


def _token(place: Place) -> str:
    """Its name in SQL, wherever its schema is mapped to."""
    return f"${{{place[0]}}}.{quote(place[1:])}"


def _attribute(name: str, value: str) -> str:
    return f" {name}={value}" if value and value != "managed" else ""


SETTINGS = (
    "redeploy: recreate",
    "propagation: {schema: false}",
    "propagation: {compute: false, schemas: {a: false}}",
    "schemas: {a: lake.raw}\ncatalogs: {lake: iceberg}",
    "materialized_views: native",
)


def _world(seed: int, size: int, plain: bool) -> World:
    found: list[Thing] = []
    for number in range(size):
        random = Random(f"{seed} {number}")
        place = random.choice(SCHEMAS), random.choice(NAMES)
        if place not in {one.place for one in found}:
            found.append(_thing(random, place, found))
    random = Random(seed)
    settings = [text for text in SETTINGS if random.random() < 0.2]
    if len({text.split(":")[0] for text in settings}) < len(settings):
        settings = settings[:1]
    world = World(tuple(found), _circle(random, found), ("allow_circular: true", *settings))
    return _plain(world) if plain else world


def _thing(random: Random, place: Place, before: Sequence[Thing], kinds: Sequence[str] = KINDS) -> Thing:
    """An object that reads what there is before it."""
    kind = random.choice(kinds)
    readable = [one.place for one in before if one.kind in READABLE or one.kind == "function"]
    apart = kind == "script" and random.random() < 0.5  # it waits for others, and reads nothing
    waiting = [one.place for one in before if one.kind == "script" and one.steps[0][1]]
    waits = [("-", "-"), *waiting, *waiting] if apart else [None]
    return Thing(
        place=place,
        kind=kind,
        version=random.randrange(3),
        reads=_some(random, readable) if kind in READERS and not apart else (),
        columns=random.randrange(3),
        steps=tuple(
            (random.choice((1, 1, 2)), random.choice(waits)) for _ in range(random.choice((1, 2, 3)))
        ),
        indexes=tuple(
            Index(name, random.randrange(2), random.choice(COMPUTES))
            for name in ("by_k", "`odd name`")
            if random.random() < 0.3
        ),
        compute=random.choice(COMPUTES),
        comment=random.choice(("", "", "it's")),
        lifecycle=random.choice(("managed",) * 12 + ("protected", "external")),
        toggles=random.choice(((),) * 10 + (("replacement=true",),) * 3 + (("INACTIVE",), ("DROP_TABLE",))),
    )


def _some(random: Random, options: list[Place]) -> tuple[Place, ...]:
    return tuple(random.sample(options, min(len(options), random.choice((0, 1, 1, 2, 3)))))


def _circle(random: Random, found: Sequence[Thing]) -> tuple[Place, ...]:
    """Materialized views that read each other; what reads one and is read by another is too much."""
    members = [one.place for one in found if one.kind == "materialized_view" and one.lifecycle == "managed"]
    chosen = random.sample(members, min(len(members), 3)) if random.random() < 0.7 else []
    return tuple(chosen) if len(chosen) > 1 else ()


def _plain(world: World) -> World:
    kept = [
        replace(
            thing,
            lifecycle="managed",
            toggles=tuple(t for t in thing.toggles if t not in ("INACTIVE", "DROP_TABLE")),
        )
        for thing in world.things
    ]
    return replace(world, things=tuple(kept))


def _edited(world: World, seed: int, plain: bool) -> World:
    """The same repository after one more commit."""
    random = Random(seed)
    found = list(world.things)
    for number in sorted(random.sample(range(len(found)), min(len(found), 2)), reverse=True):
        edited = _edit(random, found[number], found[:number])
        found[number : number + 1] = [edited] if edited else []
    place = random.choice(SCHEMAS), random.choice(NAMES)
    if place not in {one.place for one in (*world.things, *found)} and random.random() < 0.5:
        found.append(_thing(random, place, found))
    circle = world.circle if random.random() < 0.7 else _circle(random, found)
    after = replace(world, things=tuple(found), circle=circle)
    return _plain(after) if plain else after


def _edit(random: Random, thing: Thing, before: list[Thing]) -> Thing | None:
    how = random.choice(("text", "text", "text", "header", "indexes", "kind", "remove"))
    scripted = thing.kind in ("script", "migration")
    if how == "remove":
        return None if thing.kind != "script" else replace(thing, toggles=("DROP_TABLE",))
    if how == "kind" and not scripted:
        return _thing(random, thing.place, before, [kind for kind in KINDS if kind != "script"])
    other = _thing(random, thing.place, before, [thing.kind])
    if how == "indexes":
        return replace(thing, indexes=other.indexes)
    if how == "header":
        return replace(
            thing,
            compute=other.compute,
            comment=other.comment,
            lifecycle=other.lifecycle,
            toggles=other.toggles,
        )
    if scripted:  # what was deployed stays as it was
        return replace(thing, steps=(*thing.steps, (1, thing.steps[-1][1])))
    return replace(thing, version=other.version, reads=other.reads, columns=other.columns)


def histories(length: int = 2, *, plain: bool = False, most: int = 10) -> st.SearchStrategy[list[World]]:
    """A repository, and what became of it; a ``plain`` one is managed, with nothing switched off."""

    def made(seed: int, size: int, commits: list[int]) -> list[World]:
        found = [_world(seed, size, plain)]
        for commit in commits:
            found.append(_edited(found[-1], commit, plain))
        return found

    seeds = st.integers(0, 2**20)
    commits = st.lists(seeds, min_size=length - 1, max_size=length - 1)
    return st.builds(made, seeds, st.integers(1, most), commits)
