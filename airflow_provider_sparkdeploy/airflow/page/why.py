"""Why an operation is in a plan, as chains down to what changed; and what is different."""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.names import ObjectName, parse_name
from ...core.state import State
from ...core.statement import view_text
from ..before import deployed_text
from .values import SEEDS, Log, Step, schema_of

_MOST_CHAINS = 12
_MOST_SOURCES = 8  # members of a schema or a compute that a chain goes on with
_LONGEST_CHAIN = 4  # links that a line has room for
_LONGEST = 200_000  # characters of a text that is compared
_AROUND = 3  # unchanged lines that are shown around a difference
_SEED_WORDS = {"forced": "asked for", "left": "left by an earlier run"}
_PARTIAL = frozenset({"alter", "run"})
_NEW_QUERY = re.compile(
    r"ALTER VIEW (?:`(?:[^`]|``)*`\.?)+ AS\n(?P<query>.*)", re.DOTALL
)  # see core.statement
_OR_REPLACE = re.compile(r"CREATE\s+OR\s+REPLACE\s+", re.IGNORECASE)
_PLACES = {"schema": ("is in schema", "which holds"), "compute": ("runs on compute", "which runs")}
Link = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Near:
    """The first links of an object's shortest chain, what they lead to, and where it ends."""

    links: Sequence[Link]
    behind: str
    root: str
    far: int = 0


class Causes:
    """The reasons of a plan, by object."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.reasons: dict[str, dict[tuple[str, ...], None]] = {}
        self._actions: dict[str, set[str]] = {}
        computes: dict[str, set[str]] = {}
        for step in steps:
            action = "" if step.action == "drop" and step.part else step.action  # of a column, of an index
            self._actions.setdefault(step.object, set()).add(action)
            for name in (step.object, *step.members):
                self.reasons.setdefault(name, {}).update(dict.fromkeys(step.reasons))
            if step.compute:
                computes.setdefault(step.compute, set()).add(step.object)
        schemas: dict[str, set[str]] = {}
        for name in self.reasons:
            schemas.setdefault(schema_of(name), set()).add(name)
        self._within = {
            ("schema", name): self._sources("schema", name, found) for name, found in schemas.items()
        }
        self._within |= {
            ("compute", name): self._sources("compute", name, found) for name, found in computes.items()
        }
        self._nearest: dict[str, _Near] | None = None

    def _sources(self, kind: str, name: str, members: Iterable[str]) -> list[str]:
        """What makes a schema or a compute dirty: members that are so for another reason."""
        own = (kind, name)
        found = [item for item in members if any(reason != own for reason in self.reasons[item])]
        return sorted(found, key=lambda item: (not self._is_seed(item), item))[:_MOST_SOURCES]

    def _is_seed(self, name: str) -> bool:
        return any(reason[0] in SEEDS for reason in self.reasons[name])

    def chains(self, step: Step) -> list[list[Link]]:
        """The shortest chains from an operation to everything that it follows from in the end."""
        found: list[list[Link]] = []
        seen = {step.object, *step.members}
        queue: deque[tuple[str, Iterable[tuple[str, ...]], list[Link]]] = deque(
            [(step.object, step.reasons, [])]
        )
        while queue and len(found) < _MOST_CHAINS:
            of, reasons, path = queue.popleft()
            for reason in sorted(reasons, key=lambda item: item[0] not in SEEDS):
                if reason[0] in SEEDS:
                    found.append([*path, self._end(of, reason)])
                    continue
                for name, links in self._behind(reason):
                    if name in seen:
                        continue
                    seen.add(name)
                    if name in self.reasons:
                        queue.append((name, self.reasons[name], [*path, *links]))
                    else:  # it is dirty, and has nothing to run
                        found.append([*path, *links])
        return sorted(found, key=lambda chain: "end" not in chain[-1])[:_MOST_CHAINS]

    def _behind(self, reason: tuple[str, ...]) -> list[tuple[str, list[Link]]]:
        """The objects that a reason speaks of, and how."""
        kind, name = reason[0], reason[1] if len(reason) > 1 else ""
        if kind == "dependency":
            return [(name, [_link("depends on", name, object_=True)])]
        if kind not in _PLACES:
            return [(" ".join(reason), [_link(kind, name)])]
        first, then = _PLACES[kind]
        within = self._within.get((kind, name), ())
        return [(item, [_link(first, name), _link(then, item, object_=True)]) for item in within]

    def short(self, step: Step) -> str:
        """The shortest chain in one line, and how many other reasons there are."""
        chain = self._chain_of(step)
        words = " ← ".join(" ".join(filter(None, (link["link"], link["name"]))) for link in chain)
        more = len(step.reasons) - 1
        return f"{words}, and {more} more" if words and more > 0 else words

    def _chain_of(self, step: Step) -> list[Link]:
        """The shortest chain; what is between the ends of a long one is left out."""
        if self._nearest is None:
            self._nearest = self._find_nearest()
        names = [name for name in (step.object, *step.members) if name in self._nearest]
        if not names:
            return []
        near = self._nearest[min(names, key=lambda name: self._nearest[name].far if self._nearest else 0)]
        chain = list(near.links)
        if near.far > _LONGEST_CHAIN:
            return [*chain, _link("", "…"), _link("", near.root), *self._nearest[near.root].links]
        while near.behind:
            near = self._nearest[near.behind]
            chain += near.links
        return chain

    def _find_nearest(self) -> dict[str, _Near]:
        """The shortest chain of every object at once: from what changed, backwards."""
        followers: dict[str, list[tuple[str, list[Link]]]] = {}
        found: dict[str, _Near] = {}
        queue: deque[str] = deque()
        for name in sorted(self.reasons):
            for reason in self.reasons[name]:
                if reason[0] in SEEDS:
                    if name not in found:
                        found[name] = _Near([self._end(name, reason)], "", name)
                        queue.append(name)
                    continue
                for behind, links in self._behind(reason):
                    followers.setdefault(behind, []).append((name, links))
        _spread(queue, followers, found)
        for name in sorted(
            followers.keys() - self.reasons.keys()
        ):  # dirty, with nothing to run: better than nothing
            found[name] = _Near([], "", name)
            queue.append(name)
        _spread(queue, followers, found)
        return found

    def _end(self, name: str, reason: tuple[str, ...]) -> Link:
        words = _SEED_WORDS.get(reason[0]) or f"drift: {' '.join(reason[1:])}"
        if reason[0] == "changed":
            words = self._how_changed(name)
        return {"link": "", "name": words, "object": False, "end": True}

    def _how_changed(self, name: str) -> str:
        """What became of the file of an object, as far as its operations tell."""
        actions = self._actions.get(name, set())
        if actions == {"drop"}:
            return "removed"
        return "new" if "create" in actions and "drop" not in actions else "changed"


def _spread(
    queue: deque[str], followers: Mapping[str, Sequence[tuple[str, list[Link]]]], found: dict[str, _Near]
) -> None:
    """Give every follower of what is found a chain, the nearest first."""
    while queue:
        behind = queue.popleft()
        for name, links in followers.get(behind, ()):
            if name not in found:
                found[name] = _Near(links, behind, found[behind].root, found[behind].far + 1)
                queue.append(name)


def _link(link: str, name: str, *, object_: bool = False) -> Link:
    return {"link": link, "name": name, "object": object_}


def texts_around(step: Step, state: State, log: Log | None = None) -> tuple[str | None, str]:
    """The text before an operation, and after it. None: what was deployed before is not known.

    ``log`` is that of the run whose plan it is of: what this run, or a later one, has put there was
    not there before.
    """
    if step.before is not None:
        return step.before, _after(step, step.before)
    names = [ObjectName(*(parse_name(name) or ("", ""))) for name in step.members or (step.object,)]
    if log is not None and any(
        state[name].run == log.run or state[name].at > log.at for name in names if name in state
    ):
        return None, _after(step, "")
    before = deployed_text(state, names, step.change, step.index)
    return before, _after(step, before)


def _after(step: Step, before: str) -> str:
    """The text of an object once an operation is done: as it was kept; else as its SQL tells."""
    if step.action == "drop":
        return ""
    if step.after is not None:
        return step.after
    if step.action in _PARTIAL and step.change is None and step.index is None:
        return before  # a statement about the object, not its text
    if (found := _NEW_QUERY.match(step.sql)) and (old := view_text(before)):
        return before[: before.rindex(old.query)] + found["query"]
    return _OR_REPLACE.sub("CREATE ", step.sql) if not _OR_REPLACE.match(before) else step.sql


def difference(before: str, after: str) -> list[tuple[str, str]]:
    """The lines of two texts: ``-`` gone, ``+`` new, a blank for both, ``@`` for lines left out."""
    if len(before) + len(after) > _LONGEST:
        return [("+", line) for line in after.splitlines()]
    old, new = before.splitlines(), after.splitlines()
    rows: list[tuple[str, str]] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(_AROUND)):
        if number:
            rows.append(("@", ""))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                rows += [(" ", line) for line in old[i1:i2]]
                continue
            rows += [("-", line) for line in old[i1:i2]]
            rows += [("+", line) for line in new[j1:j2]]
    return rows


def outcome(entries: Sequence[Mapping[str, Any]]) -> str:
    """What the log of an operation says last: done, failed, begun, or nothing."""
    if not entries:
        return ""
    last = str(entries[-1].get("type", ""))
    return "begun" if last == "intent" else last
