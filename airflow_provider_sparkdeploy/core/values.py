"""Values with many fields, of which a plan makes many.

A frozen dataclass sets every field by a call, which takes five times as long as setting it. These are
frozen to the type checker, and compare and hash as frozen ones do; nothing stops whoever does not ask it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:
    from dataclasses import dataclass

    def value(*, frozen: bool, slots: bool) -> Any:
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["value"]
