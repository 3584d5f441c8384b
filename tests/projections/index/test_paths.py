"""What is seen from a path, at any moment; and what a path leaves as it was."""

from math import log

import pytest
from hypothesis import given

from tallystick.projections.index import batch as desk, search as fulltext
from tallystick.projections.index.file import differences
from tallystick.projections.index.rows import address
from tallystick.projections.index.search import Scope, count_of, rarity, search, search_letters
from tallystick.records.operations import EPISODE_PUT
from tallystick.state.state import State
from tests.projections.index.ledgers import MadeUp, rebuilt, visible, walks

PATHS = ("", "draft", "deep", "other", "nowhere")


@given(walks("human agent"))
def test_what_the_index_shows_from_a_path_at_a_moment_is_what_was_held_and_heard_there_then(story):
    made = MadeUp.of(story)
    index, state = rebuilt(made.events), State()

    for event in made.events:
        state.apply(event)
        if event.seq % 4 and event.seq < len(made.events) - 1:
            continue
        for user in ("me", "ana"):
            for path in PATHS:
                seen = visible(index, Scope(user, event.seq, path).on(made.state.paths))
                held = [each.belief() for each in state.query(user=user, path=path)]
                heard = told_on(made.events[: event.seq + 1], state, user, state.paths.heard(user, path))
                there = [*(("belief", each.id) for each in held if each.text), *(("episode", name) for name in heard)]
                assert sorted((each.what, each.id) for each in seen) == sorted(there)
    index.close()


def told_on(events, state, user, heard):
    for event in events:
        if event.op == EPISODE_PUT and event.body is not None:
            episode = event.body["episode"]
            mine = episode.get("user", "me") == user and episode.get("path", "") in heard
            if mine and not state.episodes.is_retracted(event.id) and not state.uses.is_faded(event.id):
                yield event.id


@given(walks())
def test_nothing_that_is_done_on_paths_that_are_not_merged_changes_a_row_of_the_main_line(story):
    """Told once with all that happened, and once without what happened beside the main line."""
    at_once = ("join", "erase", "erase_episode", "merge")  # on several paths
    made = MadeUp.of(step for step in story if step[0] not in at_once)
    alone = [event if on_main(event, made) else event._replace(body=None) for event in made.events]
    with_paths, without = rebuilt(made.events), rebuilt(alone)

    for table, names in MAIN_LINE.items():
        rows = [sorted(index.db.execute(names), key=repr) for index in (with_paths, without)]
        assert rows[0] == rows[1], table
    words = ["tea", "coffee", "port", "the"]
    for user in ("me", "ana"):
        assert count_of(with_paths, user) == count_of(without, user)
        assert rarity(with_paths, words, user) == rarity(without, words, user)
        assert search(with_paths, words, Scope(user), 50) == search(without, words, Scope(user), 50)
        assert search_letters(with_paths, "茶", Scope(user), 50) == search_letters(without, "茶", Scope(user), 50)
    with_paths.close()
    without.close()


MAIN_LINE = {
    "blocks": "SELECT b.* FROM blocks b JOIN index_lives l ON l.block_id = b.id WHERE l.path = ''",
    "tags": "SELECT t.* FROM block_tags t JOIN index_lives l ON l.block_id = t.block_id WHERE l.path = ''",
    "lives": "SELECT * FROM index_lives WHERE path = ''",
    "sources": "SELECT * FROM index_sources WHERE path = ''",
    "names": "SELECT * FROM index_names WHERE path = ''",
    "edges": "SELECT e.* FROM edges e JOIN index_lives a ON a.block_id = e.from_id JOIN index_lives b ON"
    " b.block_id = e.to_id"
    " WHERE a.path = '' AND b.path = ''",
    "words": "SELECT term, doc, cnt FROM index_terms",
}  # fmt: skip


def on_main(event, made) -> bool:
    """Whether an event says something of the main line. What comes to pass on another path is told by its path."""
    body = event.body or {}
    if event.op.startswith(("path.", "receipt.", "outcome.")):
        asked = [receipt.get("asked", {}) for receipt in body.get("receipts", ())] or [body]
        return not event.op.startswith("path.") and not any(each.get("path") for each in asked)
    said = body.get("belief") or body.get("episode")
    if said is None and "id" in body:
        held = made.state.version(body["id"])
        return held is None or not held.path
    return said is None or not said.get("path")


# -- one by one --------------------------------------------------------------------------------------------------------


def texts(told, path="", at=None):
    """What is seen from a path, in the order of the alphabet."""
    seq = len(told.made.events) if at is None else at
    scope = Scope("me", seq, path).on(told.made.state.paths)
    blocks = dict(told.ask("SELECT id, content FROM blocks"))
    return sorted(each.said or blocks[each.block_id] for each in visible(told.index, scope))


KEYED = 7  # a number with which `put` gives a key


def test_what_a_branch_was_put_over_stays_hidden_there_under_another_name(told):
    told.put("tea", number=KEYED)
    told.say("branch", "me", "draft", "")
    told.say("change", "revise", "coffee", "me", 0, "draft")
    told.say("change", "rename", "", "me", 0, "")
    assert told.made.state.query()[0].key == "key-0"
    assert (texts(told, "draft"), texts(told)) == (["coffee"], ["tea"])


def test_what_became_part_of_a_hidden_belief_later_was_seen_before(told):
    told.put("tea", number=KEYED)
    told.put("coffee")
    told.say("branch", "me", "draft", "")
    told.say("change", "revise", "green tea", "me", 0, "draft")
    before = len(told.made.events) - 1
    told.say("merge", "tea and coffee", "me", 0, 1)
    assert texts(told, "draft", before) == ["coffee", "green tea"]
    assert (texts(told, "draft"), texts(told)) == (["green tea"], ["tea and coffee"])
    told.put("juice")
    told.say("merge", "juice, tea and coffee", "me", 2, 0)
    assert texts(told) == ["juice, tea and coffee"]
    assert texts(told, "draft", before) == ["coffee", "green tea"]
    assert list(differences(told.index, rebuilt(told.made.events))) == []


def test_what_needs_approval_on_a_branch_hides_nothing_until_it_is_approved(told):
    told.put("rum", "draft", KEYED, trust="web")
    told.put("tea", number=KEYED)
    assert texts(told, "draft") == ["tea"]
    told.say("decide", "me", 0, True)
    assert texts(told, "draft") == ["rum"]
    assert texts(told, "draft", len(told.made.events) - 2) == ["tea"]


def test_what_a_path_uses_of_the_main_line_counts_there_alone_until_it_is_merged(told):
    told.put("tea")
    told.say("branch", "me", "draft", "")
    told.say("serve", "me", 0, "", "cli:local", "draft")
    told.say("outcome", "me", 0, 1, "", "draft")
    block = "SELECT reinforcement_count, confidence FROM blocks"
    assert told.ask(block) == [(0, 0.1)]
    [used] = told.ask("SELECT path, reinforcement_count FROM index_path_use")
    assert used[0] == "draft"
    told.say("join", "me", "draft", "", "review", "human")
    assert told.ask("SELECT * FROM index_path_use") == told.ask("SELECT * FROM index_path_proof") == []
    [(count, confidence)] = told.ask(block)
    assert (count, confidence > 0.1) == (used[1], True)


def test_what_a_path_uses_of_its_own_counts_in_its_own_block_and_comes_over_with_the_belief(told):
    told.say("branch", "me", "draft", "")
    told.put("tea", "draft")
    told.say("serve", "me", 0, "", "cli:local", "draft")
    told.say("outcome", "me", 0, 0, "", "draft")
    assert told.ask("SELECT * FROM index_path_use") == told.ask("SELECT * FROM index_path_proof") == []
    there = (
        "SELECT b.reinforcement_count, b.confidence FROM blocks b JOIN index_lives l ON l.block_id ="
        " b.id WHERE path = ?"
    )
    [on_the_branch] = told.ask(there, "draft")
    assert on_the_branch[0] > 0
    assert on_the_branch[1] < 0.1
    told.say("join", "me", "draft", "", "review", "human")
    assert told.ask(there, "") == [on_the_branch]


def test_a_merge_into_a_path_further_up_than_the_parent_takes_the_use_along(told):
    told.put("tea")
    told.say("branch", "me", "draft", "")
    told.say("branch", "me", "deep", "draft")
    told.say("serve", "me", 0, "", "cli:local", "deep")
    told.say("outcome", "me", 0, 1, "", "deep")
    told.say("join", "me", "deep", None, "review", "human")
    assert [row[0] for row in told.ask("SELECT path FROM index_path_use")] == ["draft"]
    assert [row[0] for row in told.ask("SELECT path FROM index_path_proof")] == ["draft"]
    told.say("join", "me", "draft", "", "review", "human")
    assert told.ask("SELECT * FROM index_path_use") == []
    assert told.ask("SELECT reinforcement_count > 0, confidence > 0.1 FROM blocks") == [(1, 1)]


def test_what_was_used_below_the_path_that_said_it_counts_in_its_own_block_once_it_is_merged_there(told):
    told.say("branch", "me", "draft", "")
    told.say("branch", "me", "deep", "draft")
    told.put("tea", "draft")
    told.say("serve", "me", 0, "", "cli:local", "deep")
    told.say("outcome", "me", 0, 1, "", "deep")
    assert told.ask("SELECT reinforcement_count, confidence FROM blocks") == [(0, 0.1)]
    told.say("join", "me", "deep", None, "review", "human")
    assert told.ask("SELECT * FROM index_path_use") == told.ask("SELECT * FROM index_path_proof") == []
    assert told.ask("SELECT reinforcement_count > 0, confidence > 0.1 FROM blocks") == [(1, 1)]


def test_the_same_words_on_two_paths_are_two_blocks_and_no_words_spell_the_address_of_a_paths(told):
    told.put("tea")
    told.put(" TEA", "draft")
    told.put("tea", "other")
    assert told.ask("SELECT path, reinforcement_count FROM index_lives JOIN blocks ON id = block_id ORDER BY 1") == [
        ("", 0), ("draft", 0), ("other", 0),
    ]  # fmt: skip
    spelled = {
        address(text, user, path)
        for text, user, path in (
            ("tea", "me", ""), ("tea", "me", "a"), ("tea", "m", "ea"), (":tea", "me", "a"), ("p2:1:mea:tea", "me", ""),
            ("tea", "mea", ""), ("a:tea", "me", "a"), ("tea", "me", "a:a"),
        )
    }  # fmt: skip
    assert len(spelled) == 8


def test_what_is_said_on_a_path_is_found_there_by_its_words_and_by_its_letters_and_nowhere_else(told):
    told.put("漢字")
    told.put("字")
    told.put("tea and 茶")
    alone = search_letters(told.index, "茶", Scope("me"), 50)
    told.put("green tea and 茶", "draft")
    told.put("tea and rum, 茶", "other")
    here = Scope("me", path="draft").on(told.made.state.paths)
    for found in (search(told.index, ["tea"], here, 50), search_letters(told.index, "茶", here, 50)):
        texts = [told.ask("SELECT content FROM blocks WHERE id = ?", each.block)[0][0] for each in found]
        assert sorted(texts) == ["green tea and 茶", "tea and 茶"]
    assert rarity(told.index, ["tea", "rum"], "me", on=here) == pytest.approx([log(1 + 2.5 / 2.5), log(1 + 3.5 / 1.5)])
    assert rarity(told.index, ["tea", "rum"], "me") == pytest.approx([log(1 + 2.5 / 1.5)] * 2)
    assert search_letters(told.index, "茶", Scope("me"), 50) == alone


def test_one_address_of_two_paths_is_still_two_blocks(told, monkeypatch):
    """If the hash itself collided, the path would still stand beside it."""
    monkeypatch.setattr(desk, "address", lambda content, user="me", path="": address("tea"))
    told.put("tea of mine")
    told.put("tea of hers", "draft")
    assert told.ask("SELECT path, content FROM index_lives JOIN blocks ON id = block_id ORDER BY 1") == [
        ("", "tea of mine"), ("draft", "tea of hers"),
    ]  # fmt: skip


def test_in_a_large_folder_too_how_much_there_is_and_how_rare_a_word_is_leaves_paths_out(told, monkeypatch):
    told.put("tea")
    told.put("rum")
    alone = count_of(told.index, "me"), rarity(told.index, ["tea", "rum"], "me")
    for number in range(5):
        told.put(f"tea and more tea {number}", "draft")
    monkeypatch.setattr(fulltext, "_COUNTED", 0)
    assert (count_of(told.index, "me"), rarity(told.index, ["tea", "rum"], "me")) == alone


def test_closing_a_path_takes_what_happened_there_out_of_sight_and_leaves_what_is_held(told):
    told.say("branch", "me", "draft", "")
    told.say("branch", "me", "deep", "draft")
    told.say("observe", "it rained", "me", "human", 2, "cli:local", "draft", "s1")
    told.put("tea", "draft")
    assert texts(told, "deep") == ["it rained", "tea"]
    told.say("compact", "me", "draft", "what it came to")
    assert texts(told, "draft") == texts(told, "deep") == ["tea", "what it came to"]
    assert texts(told, "deep", len(told.made.events) - 3) == ["it rained", "tea"]
