"""Why something is redeployed: the nearest cause in a line, and all causes as a tree."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import islice
from typing import NamedTuple

from ..core.diff import Diff
from ..core.dirty import Dirty, Fact, Reason
from ..core.names import display
from .changes import described, happened

_DEEPEST = 24  # deeper levels are not indented further: a chain may be thousands long
_EXPLAINED = 30  # facts that are explained in full unless all are asked for
_STEP = "   "


class Cause(NamedTuple):
    """The first step of a shortest chain of a fact, where it ends, and how long it is."""

    reason: Reason
    seed: Fact
    length: int


def nearest_causes(dirty: Dirty) -> dict[Fact, Cause]:
    """A shortest chain of every dirty fact, all in one pass over the reasons."""
    found: dict[Fact, Cause] = {}
    followers: dict[Fact, list[tuple[Fact, Reason]]] = {}
    queue: deque[Fact] = deque()
    for kind in ("object", "schema", "compute", "index"):
        for fact in dirty.facts(kind):
            for reason in dirty.reasons(fact):
                if reason.because is not None:
                    followers.setdefault(reason.because, []).append((fact, reason))
                elif fact not in found:
                    found[fact] = Cause(reason, fact, 0)
                    queue.append(fact)
    while queue:
        because = queue.popleft()
        for fact, reason in followers.get(because, ()):
            if fact not in found:
                found[fact] = Cause(reason, found[because].seed, found[because].length + 1)
                queue.append(fact)
    return found


def changed_causes(dirty: Dirty, start: Fact) -> list[Fact]:
    """What changed, and is a reason of ``start`` in the end; the nearest first, itself too."""
    return [
        fact
        for fact in (start, *_nearest_places(dirty, start))
        if fact.kind in ("object", "index") and any(item.because is None for item in dirty.reasons(fact))
    ]


def fact_text(fact: Fact) -> str:
    kinds = {"object": "", "schema": "schema ", "compute": "compute ", "index": "index "}
    return f"{kinds[fact.kind]}{display(fact.name)}"


def seed_text(fact: Fact, reason: Reason, diff: Diff) -> str:
    """What happened to a fact from which others follow, and where."""
    if reason.rule == "forced":
        return "forced by --force-schema" if fact.kind == "schema" else "asked for"
    entry = diff.objects[fact.object]
    if entry.new is None and entry.old is not None:
        return f"removed, {entry.old.path} is gone or not for this environment"
    return described(entry)


def cause_text(fact: Fact, cause: Cause, more: int, diff: Diff) -> str:
    """The nearest cause of a fact in one line, and how many other reasons there are."""
    if cause.reason.because is None:
        return seed_text(fact, cause.reason, diff)
    ended = "forced" if cause.seed.kind == "schema" else happened(diff.objects[cause.seed.object])
    through = "" if cause.reason.because == cause.seed else f" <- {fact_text(cause.seed)}"
    rest = f" and {more} more" if more else ""
    return f"{_link(fact, cause.reason.because)}{through} ({ended}){rest}"


def _link(fact: Fact, because: Fact) -> str:
    """How a fact follows from another."""
    if fact.kind == "object":
        return {"object": "depends on", "schema": "in", "compute": "on"}[
            because.kind
        ] + f" {fact_text(because)}"
    return fact_text(because)


def reason_tree(dirty: Dirty, diff: Diff, start: Fact, limit: int | None) -> Iterator[str]:
    """Every reason of a fact, and theirs, down to what changed.

    Each fact is explained once, where it is nearest to the top, so that all chains are there
    and the tree stays linear. With a ``limit``, only so many reasons of a fact are shown, and
    what is far from the top is named with its nearest cause only.
    """
    walk = _Walk(dirty, start, None if limit is None else _EXPLAINED)
    while walk.path:
        fact, reasons, shown = walk.path[-1]
        indent = _STEP * min(len(walk.path) - 1, _DEEPEST)
        if shown == len(reasons):
            walk.leave()
            continue
        if shown == limit:
            yield f"{indent}... and {len(reasons) - shown:,} more: --all shows them"
            walk.leave()
            continue
        walk.path[-1] = (fact, reasons, shown + 1)
        reason = reasons[shown]
        because = reason.because
        if because is None:
            yield f"{indent}{seed_text(fact, reason, diff)}"
            continue
        link = _link(fact, because)
        if because in walk.explained:
            yield f"{indent}{link} (see above)"
        elif because in walk.far:
            seed = walk.causes[because].seed
            through = "" if seed == because else f" <- {fact_text(seed)}"
            yield f"{indent}{link}{through}: {seed_text(seed, walk.causes[seed].reason, diff)}"
        elif walk.later(fact, because):
            yield f"{indent}{link} (see below)"
        elif (below := walk.enter(because)) and len(below) == 1 and below[0].because is None:
            yield f"{indent}{link}: {seed_text(because, below[0], diff)}"
            walk.leave()
        else:
            yield f"{indent}{link}"


class _Walk:
    """A walk from a fact to its reasons: the way to where it is, and what it has explained."""

    def __init__(self, dirty: Dirty, start: Fact, budget: int | None) -> None:
        self.reasons = cache(dirty.reasons)
        self.causes = nearest_causes(dirty)
        self.all = budget is None
        self.place = _nearest_places(dirty, start)
        self.far = set() if budget is None else set(islice(self.place, budget, None))
        self.path: list[tuple[Fact, list[Reason], int]] = []
        self.passed: set[Fact] = set()
        self.shortest: list[int] = []  # of the chains of what was passed so far
        self.explained: set[Fact] = set()
        self.left: set[Fact] = set()
        self.enter(start)

    def enter(self, fact: Fact) -> list[Reason]:
        """Go on to a fact: its reasons that do not lead back, the shortest chain first."""
        self.passed.add(fact)
        self.explained.add(fact)
        self.shortest.append(min([self.causes[fact].length, *self.shortest[-1:]]))
        reasons = self._onward(self.reasons(fact))
        reasons.sort(key=lambda reason: -1 if reason.because is None else self.causes[reason.because].length)
        self.path.append((fact, reasons, 0))
        return reasons

    def leave(self) -> None:
        fact, _, _ = self.path.pop()
        self.passed.remove(fact)
        self.shortest.pop()
        self.left.add(fact)

    def later(self, fact: Fact, because: Fact) -> bool:
        """Whether there is a place nearer to the top where ``because`` will be explained."""
        place = self.place[because]
        return place != fact and place not in self.left

    def _onward(self, reasons: tuple[Reason, ...]) -> list[Reason]:
        """Those that lead to something that changed without passing again what was passed.

        To know that, everything has to be walked once for every fact that is explained. Where all
        of them are, it is enough not to turn back at once, unless there is no other way to go.
        """
        if self.all:
            return [reason for reason in reasons if reason.because not in self.passed] or list(reasons)
        found: list[Reason] = []
        leading: set[Fact] | None = None
        for reason in reasons:
            because = reason.because
            if because is None:
                found.append(reason)
            elif because in self.passed or (because in self.far and self.causes[because].seed in self.passed):
                continue
            elif self.causes[because].length < self.shortest[-1]:
                found.append(reason)  # its shortest chain passes only what is nearer to a change
            else:
                leading = self._leading() if leading is None else leading
                if because in leading:
                    found.append(reason)
        return found

    def _leading(self) -> set[Fact]:
        """Everything from which something that changed is reached without passing what was passed."""
        pending = [
            fact for fact, cause in self.causes.items() if cause.length == 0 and fact not in self.passed
        ]
        found = set(pending)
        while pending:
            for follower in self.followers.get(pending.pop(), ()):
                if follower not in found and follower not in self.passed:
                    found.add(follower)
                    pending.append(follower)
        return found

    @cached_property
    def followers(self) -> dict[Fact, list[Fact]]:
        """What follows from every fact."""
        found: dict[Fact, list[Fact]] = {}
        for fact in self.causes:
            for reason in self.reasons(fact):
                if reason.because is not None:
                    found.setdefault(reason.because, []).append(fact)
        return found


def _nearest_places(dirty: Dirty, start: Fact) -> dict[Fact, Fact]:
    """Of every fact that ``start`` follows from, the fact under which it is nearest to the top."""
    found: dict[Fact, Fact] = {}
    queue = deque([start])
    while queue:
        fact = queue.popleft()
        for reason in dirty.reasons(fact):
            because = reason.because
            if because is not None and because != start and because not in found:
                found[because] = fact
                queue.append(because)
    return found
