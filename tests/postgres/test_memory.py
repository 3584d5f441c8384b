"""`Memory` in a folder, in PostgreSQL, and through pgbouncer: the same calls give the same lines, answers and errors.

Through pgbouncer each write is decided twice, as if somebody else had been first: deciding changes nothing by itself.
Statements are made of words that occur once, so that none repeats or contradicts another: that is looked up in the
index, which only a folder has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.ledger.fold import LedgerMetadata, fold_line
from tallystick.ledger.postgres.ledger import PostgresLedger, _Again
from tallystick.projections.index import file as index
from tallystick.records.errors import TallystickError
from tallystick.records.rule import ConsolidationRule
from tallystick.state.state import State
from tests.conftest import at_most
from tests.postgres.stories import Draws, end_erasures
from tests.postgres.test_contract import forget_ledgers

KEYS, PATHS, NAMES = ["a", "b", "c"], ["", "try", "other"], ["one", "two", "three"]
LOCAL = {"page", "answer", "needs_sweep"}  # what only one of the engines has
POLICY = '[policy]\nexpires = "2d"\n[[policy.rules]]\naction = ["forget"]\ntrust = ["web"]\nthen = "refuse"\n'

keys, paths, names, who = map(st.sampled_from, (KEYS, PATHS, NAMES, ["person", "person", "web"]))
users = st.sampled_from(["me", "me", "ana"])
some = st.lists(names, min_size=1, max_size=2)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), who, keys, users, paths, st.booleans()),
        st.tuples(st.just("remember"), who, keys, users, paths, st.booleans()),
        st.tuples(st.just("observe"), who, names, users, paths),
        st.tuples(st.just("revise"), who, keys, users, paths),
        st.tuples(st.just("forget"), who, st.one_of(keys, names), users, paths),
        st.tuples(st.just("invalidate"), who, keys, users),
        st.tuples(st.just("undo"), who, st.one_of(st.none(), keys), users),
        st.tuples(st.just("undo"), who, st.one_of(st.none(), keys), users),
        st.tuples(st.just("several"), who, keys, names),
        st.tuples(st.just("branch"), st.sampled_from(PATHS[1:]), paths),
        st.tuples(st.just("merge"), st.sampled_from(PATHS[1:])),
        st.tuples(st.just("abandon"), st.sampled_from(PATHS[1:])),
        st.tuples(st.just("answer"), st.booleans(), who),
        st.tuples(st.just("distrust"), st.sampled_from(["web:test", "cli:*", "agent:helper"])),
        st.tuples(st.just("restore_trust"), st.sampled_from(["web:test", "cli:*"])),
        st.tuples(st.just("claim"), who, names, keys),
        st.tuples(st.just("consolidate"), st.booleans()),
        st.tuples(st.just("rule"), who, st.booleans()),
        st.tuples(st.just("outcome"), who, keys, st.sampled_from([0.0, 1.0])),
        st.tuples(st.just("relate"), who, keys, keys),
        st.tuples(st.just("archive"), who, names),
        st.tuples(st.just("config"), who, st.sampled_from(["5", "7"])),
        st.tuples(st.just("policy"), st.sampled_from(["", POLICY, "[policy"])),
        st.tuples(st.just("erase"), who, st.one_of(keys, names), users),
        st.tuples(st.just("again")),
    ),
    min_size=2, max_size=14,
)  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 5, 20, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Told:
    """What one engine says to each step."""

    def __init__(self, place: Path | str, draws: Draws, *, twice: bool = False) -> None:
        self.place, self.draws, self.clock, self.step, self.said = place, draws, Clock(), 0, list[Any]()
        self.twice = twice
        self.open()

    def open(self) -> None:
        self.draws.begin(0, fixed=True)
        self.person = Memory(self.place, clock=self.clock, by="cli:local", embedder="none", notify=lambda _: None)
        self.draws.begin(0)
        self.web = Memory(
            self.place, clock=self.clock, by="web:test", trust="web", embedder="none", notify=lambda _: None
        )

        for m in (self.person, self.web) if self.twice else ():
            self.lose_once(m._folder.ledger)

    def lose_once(self, ledger: PostgresLedger) -> None:
        """Let each write of a ledger be decided, and then once more."""
        decided, lost = ledger._decided, list[bool]()

        def losing(looked: Any, decide: Any, request: str) -> Any:
            if lost.pop() if lost else False:
                return decided(looked, decide, request)
            count = self.draws._count
            ledger._begin_moment(looked)
            ledger.state.begin()
            try:
                decide()
            finally:
                ledger.state.rollback()
                self.draws._count = count
            lost.append(True)
            raise _Again

        ledger._decided = losing  # type: ignore[method-assign]

    def close(self) -> None:
        self.web.close()
        self.person.close()

    def say(self, step: tuple[Any, ...]) -> None:
        self.step += 1
        self.draws.begin(self.step)
        self.clock.now += timedelta(hours=7)
        what, *rest = step if isinstance(step, tuple) else (step,)
        if rest and rest[0] in ("person", "web"):
            rest[0] = getattr(self, rest[0])
        try:
            self.said.append(plain(getattr(self, f"_{what}")(*rest)))
            speaker = next((each for each in rest if isinstance(each, Memory)), self.person)
            if isinstance(ledger := speaker._folder.ledger, PostgresLedger):
                ledger.refresh()
                end_erasures(ledger)
        except TallystickError as error:
            settings_place = self.person._folder.settings.place
            text = str(error).replace(settings_place, "SETTINGS").replace(self.person.place, "PLACE")
            self.said.append((type(error).__name__, getattr(error, "code", ""), text))

    def _words(self) -> str:
        return f"quux{self.step} zorp{self.step}"

    def _remember(self, m: Memory, key: str, user: str, path: str, rests: bool) -> Any:
        return m.remember(self._words(), key=key, user=user, path=path, rests_on=["a"] * (rests and key != "a"))

    def _observe(self, m: Memory, name: str, user: str, path: str) -> Any:
        return m.observe(self._words(), id=name, user=user, path=path, session=f"s{self.step % 3}")

    def _revise(self, m: Memory, key: str, user: str, path: str) -> Any:
        return m.revise(key, self._words(), reason="it was wrong", user=user, path=path)

    def _forget(self, m: Memory, name: str, user: str, path: str) -> Any:
        return m.forget(name, user=user, path=path)

    def _invalidate(self, m: Memory, key: str, user: str) -> Any:
        return m.invalidate(key, "it never was", user=user)

    def _undo(self, m: Memory, name: str | None, user: str) -> Any:
        return m.undo(name, user=user)

    def _several(self, m: Memory, key: str, name: str) -> Any:
        with m.batch():
            m.observe(self._words(), id=name)
            m.remember(f"{self._words()} again", key=key)
            return m.revise(key, f"{self._words()} better")

    def _branch(self, name: str, parent: str) -> Any:
        return self.person.paths.branch(name, parent)

    def _merge(self, name: str) -> Any:
        return self.person.paths.merge(name)

    def _abandon(self, name: str) -> Any:
        return self.person.paths.abandon(name, "it led nowhere")

    def _answer(self, is_yes: bool, m: Memory) -> Any:
        m = getattr(self, m) if isinstance(m, str) else m
        for each in self.person.reviews.waiting()[:1]:
            return m.reviews.approve(each.id) if is_yes else m.reviews.reject(each.id)
        return None

    def _distrust(self, source: str) -> Any:
        return self.person.distrust(source, reason="it lied")

    def _restore_trust(self, source: str) -> Any:
        return self.person.restore_trust(source)

    def _claim(self, m: Memory, name: str, key: str) -> Any:
        said = {"intent": "state", "subject": key, "predicate": "likes", "object": f"tea{self.step % 2}"}
        return m.observe(self._words(), id=f"{name}{self.step}", metadata=said)

    def _consolidate(self, since_last: bool) -> Any:
        done = self.person.consolidate(ConsolidationRule(id="likes"), since_last=since_last)
        return done.read, done.considered, done.facts

    def _rule(self, m: Memory, is_new: bool) -> Any:
        m.rules.put(ConsolidationRule(id="mine")) if is_new else m.rules.drop("mine")

    def _outcome(self, m: Memory, key: str, signal: float) -> Any:
        return m.outcome([key], signal)

    def _relate(self, m: Memory, one: str, other: str) -> Any:
        return m.relate(one, other, "goes with")

    def _archive(self, m: Memory, name: str) -> Any:
        return m.archive(name)

    def _config(self, m: Memory, value: str) -> Any:
        m.config.set("top_k", value)

    def _policy(self, text: str) -> Any:
        self.person.replace_settings(text)
        return self.person.policy

    def _erase(self, m: Memory, name: str, user: str) -> Any:
        return m.erase(name, user=user)

    def _again(self) -> None:
        self.close()
        self.open()

    def lines(self) -> list[Any]:
        with self.person._folder.known():
            return list(self.person._folder.ledger.lines())

    def rows(self) -> list[bytes]:
        with self.person._folder.known():
            return list(self.person._folder.state.dump())

    def answers(self) -> Iterator[Any]:
        """What is asked at the end, now and at some moments before."""
        m = self.person
        for user in ("me", "ana"):
            for path in PATHS:
                yield [plain(each) for each in m.beliefs.query(status="", user=user, path=path)]
            for moment in range(0, m._folder.ledger.head.seq + 1, 2):
                yield [plain(each) for each in m.beliefs.query(status="", user=user, believed_at=moment)]
            for key in KEYS:
                with suppress(TallystickError):
                    yield plain(m.history(key, user=user)), plain(m.why(key, user=user))
                    yield plain(m.dependents(key, user=user))
            yield plain(m.diff(0, user=user)), plain(m.sources(user=user)), plain(m.episodes.recent(user=user))
            yield plain(m.facts.query(user=user)), plain(m.facts.query(user=user, quarantined=True))
            yield list(m.export_lines(user=user))[1:]
        yield plain(list(m.log())), plain(list(m.audit())), plain(m.reviews.all()), plain(m.paths.all())
        yield plain(list(self.web.log())), plain(self.web.beliefs.all()), plain(m.rules.all()), m.config.all()
        status = m.status()
        yield status.beliefs, status.forgotten, status.events, status.episodes, status.waiting, status.paths, status.by
        report = m.ledger.verify()
        yield report.ok, report.events, report.head


def plain(value: Any) -> Any:
    """A result as data, without what only one of the engines has."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    found = value.to_dict() if hasattr(value, "to_dict") else value
    if isinstance(found, dict):
        return {name: plain(each) for name, each in found.items() if name not in LOCAL}
    return found if isinstance(found, str | int | float | bool | bytes | None) else repr(found)


@contextmanager
def engines(cluster: Any) -> Iterator[list[Told]]:
    draws = Draws()
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as home, ExitStack() as stack:
        patch.setattr(os, "urandom", draws)
        patch.setattr(index, "os", SimpleNamespace(**{**vars(os), "urandom": bytes}))  # it numbers its rows
        patch.setenv("TALLYSTICK_PASS_KEY", str(cluster.key))
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, home)
        folder = Told(Path(home) / "memory", draws)
        stack.callback(folder.close)
        ledger = folder.person.ledger.id
        made = [folder]
        stack.callback(forget_ledgers, cluster, ledger)
        for database in ("straight", "pooled"):
            address = cluster.ledger_address(cluster.new_ledger(database, ledger), database)
            made.append(Told(address, draws, twice=database == "pooled"))
            stack.callback(made[-1].close)
        yield made


@settings(max_examples=at_most(200))
@given(steps)
def test_the_same_calls_give_the_same_lines_answers_and_errors(cluster: Any, story: list[tuple[Any, ...]]) -> None:
    with engines(cluster) as (folder, *databases):
        for step in story:
            for engine in (folder, *databases):
                engine.say(step)
            for engine in databases:
                assert engine.said == folder.said
        lines, rows, answers = folder.lines(), folder.rows(), list(folder.answers())
        for engine in databases:
            assert engine.lines() == lines
            assert engine.rows() == rows == folded(engine)
            assert list(engine.answers()) == answers


def folded(engine: Told) -> list[bytes]:
    """The state that follows from the lines."""
    state, standing = State(), LedgerMetadata()
    for line in engine.lines():
        fold_line(line, state, standing)
    return list(state.dump())


def test_an_erasure_says_the_same_but_for_the_sweep(cluster: Any) -> None:
    """Stories seldom erase what is there."""
    with engines(cluster) as every:
        for step in [("observe", "person", "one", "me", ""), ("remember", "person", "a", "me", "", False),
                     ("erase", "person", "a", "me"), ("erase", "person", "one", "me"),
                     ("remember", "person", "a", "me", "", False)]:  # fmt: skip
            for engine in every:
                engine.say(step)
        assert all(engine.said == every[0].said for engine in every)
        assert all(engine.lines() == every[0].lines() for engine in every)
        assert [each["events"] for each in every[0].said[2:4]] == [1, 1]
