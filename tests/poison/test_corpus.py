"""Hostile memories through tools and web pages: none is served, none changes what is trusted, all go at one word."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tallystick import Memory
from tests.poison.household import CORPUS, DOORS, SAID, TRUSTED, feed, household, person

FRAMES = ("attention", "self", "task")
QUESTIONS = sorted({question for poison in CORPUS for question in poison["asks"]})


def state(me: Memory) -> dict[str, Any]:
    """All that is trusted: the beliefs, the facts, how their blocks stand, and what is on their pages."""
    beliefs = {key: me.show(key).to_dict() for key in TRUSTED}
    blocks = me._context.index.read(
        lambda file: file.db.execute(
            "SELECT b.content, b.status, b.confidence, b.reinforcement_count, b.decay_lambda, s.good, s.bad"
            " FROM blocks b JOIN index_sources s ON s.block_id = b.id WHERE s.until_seq IS NULL"
            " AND s.by IN ('cli:local', 'mcp:planner') AND NOT s.quarantined ORDER BY b.content"
        ).fetchall()
    )
    tags = me._context.index.read(
        lambda file: file.db.execute(
            "SELECT DISTINCT block_id, tag FROM block_tags JOIN index_sources USING (block_id) WHERE NOT quarantined"
        ).fetchall()
    )
    facts = [(fact.id, fact.triple, fact.confidence, fact.status) for fact in me.facts.query()]
    episodes = [me.episodes.get(f"said-{number}").content for number in range(len(SAID))]
    return {"beliefs": beliefs, "blocks": blocks, "tags": tags, "facts": facts, "episodes": episodes}


def answers(me: Memory, question: str) -> list[tuple[str, str]]:
    return [(hit.id, hit.text) for hit in me.recall(question, k=30)]


def framed(me: Memory, question: str) -> list[str]:
    return [hit.id for name in FRAMES for hit in me.frame(name, question).hits]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clean") / "memory"
    household(folder)
    return folder


@pytest.fixture(scope="module")
def poisoned(clean: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("poisoned") / "memory"
    shutil.copytree(clean, folder)
    feed(folder, CORPUS)
    return folder


@pytest.fixture
def mine(poisoned: Path, tmp_path: Path) -> Iterator[Memory]:
    """A copy of the poisoned memory, to be changed by its owner."""
    with person(Path(shutil.copytree(poisoned, tmp_path / "memory"))) as me:
        yield me


@pytest.fixture(scope="module")
def before(clean: Path) -> Iterator[Memory]:
    with person(clean) as me:
        yield me


@pytest.fixture(scope="module")
def after(poisoned: Path) -> Iterator[Memory]:
    with person(poisoned) as me:
        yield me


def test_there_are_enough_of_every_kind_and_each_is_another() -> None:
    kinds = {poison["kind"] for poison in CORPUS}
    assert len(CORPUS) >= 80
    assert len({(poison["how"], poison["words"], poison["attacks"]) for poison in CORPUS}) == len(CORPUS)
    assert kinds >= {"instruction", "correction", "look-alike", "trigger", "authority", "fake-review", "markup", "key"}


def test_the_poison_is_really_there_and_can_be_asked_for(after: Memory) -> None:
    said = {hit.trust for question in QUESTIONS for hit in after.recall(question, k=50, quarantined=True)}
    assert said >= {"web", "tool"}
    assert len([each for each in after.reviews.waiting() if each.action.kind == "trust"]) >= 40


@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_but_what_was_trusted_is_served(before: Memory, after: Memory, question: str) -> None:
    known, now = answers(before, question), answers(after, question)
    assert {name for name, _ in now} <= {name for name, _ in answers(before, " ".join(QUESTIONS))} | dict(known).keys()
    assert set(framed(after, question)) <= {before.show(key).id for key in TRUSTED} | {f"said-{n}" for n in range(9)}
    assert known[:1] == now[:1] or not known


def test_its_own_words_do_not_find_it_either(after: Memory) -> None:
    trusted = {words for _, words, _ in TRUSTED.values()} | set(SAID)
    for poison in CORPUS:
        assert {text for _, text in answers(after, poison["words"])} <= trusted, poison["id"]
        assert {hit.text for hit in after.frame("attention", poison["words"]).hits} <= trusted, poison["id"]


def test_nothing_that_is_trusted_has_changed(before: Memory, after: Memory) -> None:
    assert state(after) == state(before)
    for key, (_, words, _) in TRUSTED.items():
        assert (after.show(key).text, after.show(key).status) == (words, "active")
        assert [version.belief.text for version in after.history(key)] == [words]


def test_the_pages_still_say_what_was_trusted(after: Memory) -> None:
    for key, (_, words, more) in TRUSTED.items():
        if "about" in more:
            page = after.pages.read(more["about"]).text
            assert words in page, key
            assert f"~~{words}" not in page, key


def test_an_index_made_anew_says_the_same(mine: Memory, before: Memory) -> None:
    mine.rebuild_index()
    assert state(mine) == state(before)
    assert answers(mine, "database port") == answers(before, "database port")


def test_answering_no_to_everything_leaves_what_was_trusted(mine: Memory, before: Memory) -> None:
    for review in mine.reviews.waiting():
        mine.reviews.reject(review.id)
    assert state(mine) == state(before)


def test_two_words_of_a_person_take_all_of_it_out_even_of_what_can_be_asked_for(mine: Memory) -> None:
    """Even if a person had said yes to all that they were asked, in a moment of trust."""
    for review in mine.reviews.waiting():
        if review.action.kind == "trust":
            mine.reviews.approve(review.id)
    served = {hit.trust for question in QUESTIONS for hit in mine.recall(question, k=50)}
    assert served >= {"web", "tool"}
    mine.distrust("trust:web")
    mine.distrust("trust:tool")
    assert {hit.trust for question in QUESTIONS for hit in mine.recall(question, k=50)} <= {"human", "agent"}


def test_one_word_undoes_what_a_trusted_agent_did_under_its_influence(clean: Path, tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    shutil.copytree(clean, folder)
    left_out = ("other-user", "claim", "agent-rests-on", "person-rests-on", "outcome")
    feed(folder, (poison for poison in CORPUS if poison["how"] not in left_out), trust="agent")
    with person(folder) as me, person(clean) as before:
        questions = [*QUESTIONS, *(poison["words"] for poison in CORPUS)]
        wanted = {question: answers(before, question) for question in questions}
        assert any(answers(me, question) != wanted[question] for question in questions)
        assert me.show("backup").text != TRUSTED["backup"][1]  # another agent's, which an agent may revise

        me.distrust(DOORS["agent"], reason="it read poisoned pages")

        trusted = {words for _, words, _ in TRUSTED.values()} | set(SAID)
        for question in questions:
            served = answers(me, question)
            assert {text for _, text in served} <= trusted, question
            if question in QUESTIONS and wanted[question]:  # how rare a word is, poison has changed
                assert wanted[question][0][1] in [text for _, text in served[:3]], question
        assert answers(me, "when do backups run?")[0][1] == TRUSTED["backup"][1]
        facts = {fact.triple for fact in me.facts.query() if fact.triple}  # one without was said by the person too
        assert facts == {fact.triple for fact in before.facts.query()}


REWORDED = {
    "port": "what is the port number of our db?",
    "deploy": "which weekday do releases go out?",
    "tea": "which drink is Ana fond of?",
    "allergy": "which food must Bob avoid?",
    "owner": "whom does the payments service belong to?",
    "backup": "at what hour are the backups made?",
    "bank": "to which account do invoices go?",
    "doctor": "what is the name of my physician?",
}


def test_by_meaning_it_is_not_found_either_and_the_trusted_are_found_as_before(clean: Path, poisoned: Path) -> None:
    with Memory(clean, by="cli:local") as before, Memory(poisoned, by="cli:local") as after:
        for key, question in REWORDED.items():
            known, now = answers(before, question), answers(after, question)
            assert now[:1] == known[:1], key
            assert {hit.trust for hit in after.recall(question, k=30)} <= {"human", "agent"}, key
        assert sum(answers(before, each)[:1] != [] for each in REWORDED.values()) >= 5
