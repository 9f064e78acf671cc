"""A place in a list of tokens, for reading a statement from left to right.

For the few statements whose clauses are looked into; whatever is not understood is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .lexer import Token

END = Token("end", "", 0, 0)

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


class Unreadable(ValueError):
    """The tokens are not what the reader expected."""


class Cursor:
    """Reads tokens. ``accept`` goes on only where it finds what it is asked for; ``take``,
    ``name`` and ``expect_op`` raise ``Unreadable`` otherwise."""

    __slots__ = ("_at", "_found")

    def __init__(self, found: Iterable[Token]) -> None:
        self._found = list(found)
        self._at = 0

    def peek(self, ahead: int = 0) -> Token:
        place = self._at + ahead
        return self._found[place] if place < len(self._found) else END

    def rest(self) -> list[Token]:
        return self._found[self._at :]

    @property
    def ended(self) -> bool:
        return self._at >= len(self._found)

    def at(self, *words: str, ahead: int = 0) -> bool:
        return all(self.peek(ahead + place).word == word for place, word in enumerate(words))

    def at_op(self, *texts: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token.kind == "op" and token.text in texts

    def at_literal(self, ahead: int = 0) -> bool:
        return self.peek(ahead).kind == "string"

    def take(self) -> Token:
        if self.ended:
            raise Unreadable
        self._at += 1
        return self._found[self._at - 1]

    def accept(self, *words: str) -> bool:
        if not self.at(*words):
            return False
        self._at += len(words)
        return True

    def accept_op(self, text: str) -> bool:
        if not self.at_op(text):
            return False
        self._at += 1
        return True

    def expect_op(self, text: str) -> None:
        if not self.accept_op(text):
            raise Unreadable

    def skip(self) -> list[Token]:
        """One token, or a whole group in parentheses."""
        group = self.at_op("(")
        taken = [self.take()]
        if group:
            while not self.at_op(")"):
                taken += self.skip()
            taken.append(self.take())
        return taken

    def name(self) -> str:
        token = self.take()
        if token.kind == "quoted":
            return token.text[1:-1].replace("``", "`")
        if token.kind in ("word", "number"):  # a name may begin with a digit
            return token.text
        raise Unreadable

    def dotted(self) -> tuple[str, ...]:
        parts = [self.name()]
        while True:
            if self.accept_op("."):
                parts.append(self.name())
            elif self.peek().kind == "number" and self.peek().text.startswith("."):
                parts.append(self.take().text[1:])  # the lexer reads s.1a as the word s and the number .1a
            else:
                return tuple(parts)

    def literal(self) -> str:
        """The text of a literal; adjacent ones are one. Empty where there is none."""
        parts: list[str] = []
        while self.at_literal():
            parts.append(unescape(self.take()))
        return "".join(parts)

    def comment(self) -> str | None:
        """The text of COMMENT '...'; a column may be named ``comment``."""
        if not (self.at("comment") and self.at_literal(ahead=1)):
            return None
        self.take()
        return self.literal()


def unescape(token: Token) -> str:
    """The text that the token of a literal stands for."""
    if token.text[0] in "rR":
        return token.text[2:-1]
    if token.text.startswith("$"):
        tag = token.text.index("$", 1) + 1
        return token.text[tag:-tag]
    quote = token.text[0]
    # a doubled quote becomes an escaped one first, so that all escapes are read once, from the left
    body = re.sub(rf"(\\.)|{quote}{quote}", lambda m: m[1] or "\\" + quote, token.text[1:-1], flags=re.DOTALL)
    return _ESCAPE.sub(_escaped, body)


def _escaped(match: re.Match[str]) -> str:
    short, long, octal, char = match.groups()
    if char is not None:
        return _ESCAPED.get(char, char)
    return chr(int(octal, 8) if octal else int(short or long, 16))
