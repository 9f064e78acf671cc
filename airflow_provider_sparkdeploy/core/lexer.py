"""Spark SQL to tokens and statements, without a parser.

One regular expression reads all of Spark's lexical forms, so splitting and hashing work
for every statement, also for those that no parser here understands. Comments and white
space are not tokens; optimizer hints are.
"""

from __future__ import annotations

import hashlib
import re
from itertools import accumulate, compress, count
from operator import ne
from typing import NamedTuple

from .blocks import semicolon, statement_end

_LITERAL = r"""(?<!\w)[rR](?:'[^']*'|"[^"]*")|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`"""
_DOLLAR_QUOTED = r"""\$(?P<tag>[A-Za-z]*)\$.*?\$(?P=tag)\$"""
# Order matters: a raw literal before a word, a number before a dot. What is most of a text, and begins
# like no other form, comes before all of them, for speed only. The last form takes any
# single character, so the lexemes of a text, each with the white space behind it, always add up to
# the text. ``>>`` and ``<>`` are two lexemes each, because in a type they are two brackets, and
# Spark lets blanks stand between.
_FORMS = (
    rf"""[a-qs-zA-QS-Z_]\w*|[(),]|\.(?!\d)|{_LITERAL}"""
    r"""|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\w*|\.\d+(?:[eE][+-]?\d+)?\w*"""
    r"""|\w+"""
    r"""|/\*\+|<=>|!=|<=|>=|==|\|[|>]?|::|->|=>|<<|[^\s\w]"""
)
_LEXEME = re.compile(rf"(?:{_FORMS})\s*", re.DOTALL)
_LEXEME_OR_DOLLARS = re.compile(rf"(?:{_DOLLAR_QUOTED}|{_FORMS})\s*", re.DOTALL)
# Every form begins with a character of its own, so that the search skips all others quickly.
_COMMENT_OR_LITERAL = re.compile(
    r"""'(?:(?<=\b[rR]')[^']*|(?<!\b[rR]')(?:[^'\\]|\\.|'')*)'"""
    r"""|"(?:(?<=\b[rR]")[^"]*|(?<!\b[rR]")(?:[^"\\]|\\.|"")*)"|`(?:[^`]|``)*`"""
    rf"""|{_DOLLAR_QUOTED}|--(?:\\\n|[^\r\n])*|/\*\+?""",
    re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_NOT_NEWLINE = re.compile(r"[^\n]")
_QUOTES = frozenset("'\"`")
_VERBATIM = frozenset("'\"`$")  # a lexeme that ends so is a literal or a quoted name

HASH_VERSION = "1"


class Token(NamedTuple):
    """``kind`` is word, quoted, string, number or op; ``text`` is the author's."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The folded text of an unquoted word, and nothing for any other token."""
        return self.text.lower() if self.kind == "word" else ""


class LexError(ValueError):
    """Text that is no SQL: an open literal, identifier, comment or block."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class Lexemes(NamedTuple):
    """The significant lexemes of a text, as written and in lower case, and where each starts."""

    texts: list[str]
    lower: list[str]
    starts: list[int]

    def slice(self, begin: int, end: int) -> Lexemes:
        if begin == 0 and end == len(self.texts):
            return self
        return Lexemes(self.texts[begin:end], self.lower[begin:end], self.starts[begin:end])

    @property
    def span(self) -> tuple[int, int]:
        return self.starts[0], self.starts[-1] + len(self.texts[-1])


def lex(text: str) -> Lexemes:
    """The lexemes of ``text`` without white space and comments.

    Everything that is done per lexeme is done in C: this reads every file of a repository.
    """
    if "--" in text or "/*" in text:
        text = _blank_comments(text)
    begin = len(text) - len(text.lstrip())
    if "$" in text:
        found = [match.group() for match in _LEXEME_OR_DOLLARS.finditer(text, begin)]
    else:
        found = _LEXEME.findall(text, begin)
    texts = list(map(str.rstrip, found))
    starts = list(accumulate(map(len, found[:-1]), initial=begin)) if found else []
    for quote in _QUOTES.intersection(texts):
        raise LexError(f"a {quote} is never closed", starts[texts.index(quote)])
    return Lexemes(texts, list(map(str.lower, texts)), starts)


def _blank_comments(text: str) -> str:
    """Comments as white space of the same length. Bracketed ones nest; hints stay."""
    pieces: list[str] = []
    kept = position = 0
    while match := _COMMENT_OR_LITERAL.search(text, position):
        position = match.end()
        found = match.group()
        if found[:2] == "--":
            pieces += (text[kept : match.start()], _NOT_NEWLINE.sub(" ", found))
            kept = position
        elif found == "/*":
            kept = _comment_end(text, match.start(), kept, pieces)
            position = kept
    return "".join([*pieces, text[kept:]])


def _comment_end(text: str, start: int, kept: int, pieces: list[str]) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            pieces += (text[kept:start], _NOT_NEWLINE.sub(" ", text[start : edge.end()]))
            return edge.end()
    raise LexError("a /* comment is never closed", start)


def tokens(text: str) -> list[Token]:
    """The lexemes of ``text`` with their kinds, for code that reads a statement closely."""
    found = lex(text)
    pairs = zip(found.texts, found.starts, strict=True)
    return [token(word, start) for word, start in pairs]


def token(lexeme: str, start: int) -> Token:
    return Token(_kind(lexeme), lexeme, start, start + len(lexeme))


def _kind(lexeme: str) -> str:
    first, last = lexeme[0], lexeme[-1]
    if last in _VERBATIM and len(lexeme) > 1:
        return "quoted" if first == "`" else "string"
    if first.isdigit() or (first == "." and len(lexeme) > 1):
        return "number"
    return "word" if first == "_" or first.isalpha() else "op"


def token_hash(found: Lexemes) -> str:
    """SHA-256 of a token stream: comments, white space and the case of words do not count."""
    words = list(found.lower)
    for at in compress(count(), map(ne, found.texts, words)):
        if words[at][-1] in _VERBATIM:
            words[at] = found.texts[at]
    stream = "\x1f".join(words)
    return f"{HASH_VERSION}:{hashlib.sha256(stream.encode('utf-8', 'surrogatepass')).hexdigest()}"


def combined_hash(*parts: str) -> str:
    """One hash over several, in order."""
    return f"{HASH_VERSION}:{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()}"


def split(found: Lexemes) -> list[Lexemes]:
    """Statements, without the ``;`` that ends them; empty ones are left out.

    A ``;`` inside ``BEGIN ... END`` does not split.
    """
    words = found.lower
    end_of = statement_end if "begin" in words else semicolon
    statements: list[Lexemes] = []
    begin = 0
    while begin < len(words):
        end = end_of(words, begin)
        if end is None:
            raise LexError("BEGIN without END", found.starts[begin])
        if end > begin:
            statements.append(found.slice(begin, end))
        begin = end + 1
    return statements


def line_of(text: str, position: int) -> int:
    """The line, counted from one, of a position."""
    return text.count("\n", 0, position) + 1
