"""A place in a filter that is being read, and the columns it may name."""

from __future__ import annotations

from collections.abc import Iterable

from tallystick.consolidate.filter.tokens import Token, fold, tokens, wrong
from tallystick.consolidate.filter.tree import DOCUMENTED
from tallystick.records.errors import ConsolidationRuleError

MOST = 1_000  # comparisons, and values in lists


class Reader:
    """The tokens from the next one on. Whoever takes one does not see it again."""

    def __init__(self, text: str, columns: Iterable[str]) -> None:
        self.columns = {fold(name): name for name in (*columns, *DOCUMENTED)}
        self._text = text
        self._tokens = tokens(text)
        self._place = 0
        self._terms = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._place]

    def take(self) -> Token:
        """The next token. The end stays, however often it is taken."""
        token = self.next
        if token.kind != "end":
            self._place += 1
        return token

    def takes(self, *keywords: str) -> Token | None:
        """The next token, if it is one of these; else it stays where it is."""
        return self.take() if self.next.keyword in keywords else None

    def needs(self, keyword: str, why: str) -> Token:
        """The next token, which must be this one."""
        token = self.takes(keyword)
        if token is None:
            raise self.wrong(self.next.at, why)
        return token

    def count(self, at: int) -> None:
        """One more comparison, or value of a list."""
        self._terms += 1
        if self._terms > MOST:
            raise self.wrong(at, f"a filter holds up to {MOST:,} comparisons and listed values; split the rule")

    def wrong(self, at: int, why: str) -> ConsolidationRuleError:
        return wrong(self._text, at, why)
