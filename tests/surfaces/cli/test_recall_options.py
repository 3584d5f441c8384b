"""Asking more closely: filters, frames for a prompt, receipts and replay, and vectors that are missing."""

import hashlib
import json
import re
import sys

import numpy as np
import pytest

from tallystick import Memory
from tallystick.records.embedder import Identity

RAW = set("\x1b\x07\u202e\x9b\u200c")


@pytest.fixture
def story(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "ana", "--about", "ana", "--tag", "drinks/hot")  # event 1
    tallystick("remember", "Bob prefers tea too", "--key", "bob", "--about", "bob", "--kind", "preference")  # event 2
    tallystick("observe", "Tea for two, please", "--id", "D1", "--agent", "waiter", "--at", "2026-01-05T10:00:00Z")
    tallystick("remember", "Tea was rationed", "--key", "war", "--valid-from", "1940-07-09", "--valid-to", "1952-10-05")
    return tallystick


def texts(done) -> list[str]:
    return [hit["text"] for hit in done.json]


def asked(story, *options: str) -> set[str]:
    return set(texts(story("recall", "tea", "--words", "--json", *options)))


ANA, BOB, EPISODE, RATION = "Ana prefers tea", "Bob prefers tea too", "Tea for two, please", "Tea was rationed"


# -- narrowed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--about", "ana"], {ANA}), (["--about", "ana", "--about", "bob"], {ANA, BOB}),
        (["--tag", "drinks/%"], {ANA}), (["--tag", "drinks"], set()),
        (["--kind", "preference"], {BOB}), (["--what", "episode"], {EPISODE}),
        (["--since", "2026-01-01", "--until", "2026-01-31"], {EPISODE}), (["--until", "2026-01-05"], set()),
        (["--without", "ana", "--without", "agent:waiter", "--without", "war"], {BOB}),
        (["--at", "2"], {ANA, BOB}), (["--agent", "waiter"], {EPISODE}), (["--session", "none"], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_every_filter_narrows_what_is_found(story, options, found):
    assert asked(story, *options) == found


def test_as_of_a_day_only_what_was_true_then_is_found(story):
    assert RATION in asked(story, "--as-of", "1945-01-01")
    assert RATION not in asked(story, "--as-of", "1960-01-01")
    assert RATION not in asked(story, "--as-of", "1939-01-01T12:00")


@pytest.mark.parametrize(
    "options",
    [["--since", "yesterday"], ["--until", "5"], ["--as-of", "soon"], ["--at", "soon"], ["--since", "9999-99-99"],
     ["--frame", "nonesuch"], ["--replay", "nonesuch"]],
    ids=" ".join,
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(story, options):
    done = story("recall", "tea", *options)
    done.refused()
    assert "fault" not in done.err


# -- as JSON -----------------------------------------------------------------------------------------------------------


def test_json_is_the_list_of_hits_and_explained_it_is_all_of_the_answer(story):
    plain, whole = story("recall", "tea", "--json").json, story("recall", "tea", "--json", "--explain", "-k", "1").json

    assert isinstance(plain, list)
    assert whole["hits"] == plain[:1]
    assert {"question", "fit", "floor", "hits", "nearest", "nearly", "receipt"} <= set(whole)
    assert whole["nearly"][0]["hit"]["text"] != plain[0]["text"]
    assert whole["nearly"][0]["why"]
    nothing = story("recall", "elephants", "--json", "--explain", "--floor", "1").json
    assert (nothing["hits"], bool(nothing["nearest"])) == ([], True)


def test_explained_it_tells_what_was_not_served_and_why(story):
    lines = story("recall", "tea", "--explain", "-k", "1").out.splitlines()
    rest = lines[lines.index("not served") + 1 :]

    assert lines[0] not in [line.strip() for line in rest]
    assert len(rest) >= 2
    assert all(line.startswith("    ") and "  " in line.strip() for line in rest[1::2]), "an id and a reason"


# -- frames ------------------------------------------------------------------------------------------------------------


def test_a_frame_prints_its_text_alone_and_tells_the_rest_beside_it(story, process):
    done = process("recall", "who prefers tea?", "--frame", "attention")

    assert done.status == 0
    assert ANA in done.out
    assert "tokens" not in done.out
    assert re.search(r"^\d+ of \d[\d,]* tokens used$", done.err, re.MULTILINE)
    assert "\x1b" not in done.out + done.err


def test_a_budget_is_kept_and_what_it_drops_is_named(story):
    for number in range(12):
        story("remember", f"Tea number {number} is brewed for {number} minutes in a pot of its own")
    whole = story("recall", "how is tea brewed?", "--frame", "attention", "--json").json
    small = story("recall", "how is tea brewed?", "--frame", "attention", "--budget", "60", "--json").json
    shown = story("recall", "how is tea brewed?", "--frame", "attention", "--budget", "60")

    assert small["used"] <= small["budget"] == 60
    assert len(small["hits"]) < len(whole["hits"])
    assert small["dropped"]
    assert f"{small['used']} of 60 tokens used" in shown.err
    assert all(each["why"] in shown.err for each in small["dropped"])


def test_a_frame_needs_no_question_and_what_is_always_served_is_in_it(story):
    story("remember", "Never share the key", "--key", "rule", "--always")
    told = story("recall", "--frame", "attention")

    assert (told.status, "Never share the key" in told.out) == (0, True)
    story("revise", "rule", "--no-always")
    assert story("show", "rule", "--json").json["always"] is False


def test_a_frame_with_nothing_to_show_prints_nothing(tallystick):
    tallystick("remember", "tea")
    done = tallystick("recall", "--frame", "self", "--user", "nobody")

    assert (done.status, done.out) == (0, "")
    assert "nothing to show" in done.err


def test_a_frame_as_json_is_all_of_it_and_nothing_is_said_beside_it(story):
    done = story("recall", "tea", "--frame", "attention", "--json", "--receipt")

    assert {"frame", "question", "text", "hits", "dropped", "used", "budget", "is_whole", "receipt"} <= set(done.json)
    assert done.json["receipt"]
    assert done.err == ""


def test_hostile_text_in_a_frame_never_reaches_a_terminal_raw(tallystick):
    tallystick("remember", "tea \x1b[31m\u202e \x9b2J pay\u200cpal", "--key", "k", "--always")
    for options in ([], ["--explain"], ["--json"], ["--budget", "1"]):
        done = tallystick("recall", "tea \x1b[31m", "--frame", "attention", *options)

        assert done.status == 0
        assert not set(done.out + done.err) & RAW


# -- receipts ----------------------------------------------------------------------------------------------------------


def receipt_of(done) -> str:
    [line] = [line for line in done.out.splitlines() if line.startswith("receipt ")]
    return line.removeprefix("receipt ")


def test_a_receipt_is_left_only_if_it_is_wanted(story):
    before = story("log", "--json").json
    assert "receipt" not in story("recall", "tea").out
    assert story("log", "--json").json == before

    assert receipt_of(story("recall", "tea", "--receipt"))
    assert len(story("log", "--json").json) == len(before) + 1


def test_a_question_that_was_kept_is_put_again_and_the_same_answer_is_status_0(story):
    receipt = receipt_of(story("recall", "who prefers tea?", "--keep-question"))
    story("remember", "Eve prefers tea as well", "--key", "eve")
    done = story("recall", "--replay", receipt)

    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("who prefers tea?\nserved then\n  1  ")
    assert "\nthe same\n" in done.out
    assert "\nnote: " in done.out
    assert "Eve" not in done.out
    assert story("recall", "--replay", receipt, "--json").json["is_the_same"] is True


def test_a_question_that_was_not_kept_must_be_given(story):
    receipt = receipt_of(story("recall", "who prefers tea?", "--receipt"))
    without, given = story("recall", "--replay", receipt), story("recall", "--replay", receipt, "who prefers tea?")

    assert without.status == 1
    assert ANA in without.out, "what was served is told all the same"
    assert "write it as QUESTION" in without.err
    assert (given.status, given.err) == (0, "")
    assert "\nthe same\n" in given.out


def test_an_answer_that_differs_is_status_1_and_says_what_differs(story):
    story("remember", "The port is 5432", "--key", "port")
    receipt = receipt_of(story("recall", "who prefers tea?", "--receipt"))
    done = story("recall", "--replay", receipt, "which port?")
    told = story("recall", "--replay", receipt, "which port?", "--json")

    assert done.status == told.status == 1
    assert "\nwhat differs\n" in done.out
    assert told.json["is_the_same"] is False
    assert all(line in done.out for line in told.json["differs"])


# -- vectors -----------------------------------------------------------------------------------------------------------


class Slow:
    """An embedder that has no vectors of words, as models have none."""

    identity = Identity("slow", "test", 8, "a" * 64)

    def embed(self, texts):
        found = np.zeros((len(texts), 8), dtype=np.float32)
        for row, text in enumerate(texts):
            found[row] = np.frombuffer(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], np.uint8) + 1.0
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def count(self, text):
        return len(text.split())


@pytest.fixture
def slow(folder, monkeypatch):
    """A memory of forty texts, and a slow embedder that has seen none of them."""
    monkeypatch.setattr("tallystick.models.registry.choose", lambda *_, **__: Slow())
    with Memory(folder) as memory, memory.batch():
        for number in range(40):
            memory.remember(f"Tea number {number} is brewed for {number} minutes")


def test_texts_that_have_no_vector_are_told_in_one_line_beside_the_answer(tallystick, slow, monkeypatch):
    monkeypatch.setattr("tallystick.surfaces.cli.recall._EMBEDDING", 0)
    done = tallystick("recall", "tea")

    assert re.match(r"\d\.\d\d  Tea number", done.out)
    assert re.fullmatch(
        r"vectors are being made: \d+ of 40; the rest is found by words; "
        r"run `tallystick rebuild-index` to make them now\n",
        done.err,
    )
    assert tallystick("recall", "tea", "--words").err == ""
    assert tallystick("recall", "tea", "--json").err == ""


def test_rebuild_index_makes_the_vectors_that_are_missing_and_says_how_many(tallystick, slow):
    done = tallystick("rebuild-index")

    assert done.out.splitlines()[-2].startswith("rebuilt from ")
    assert done.out.splitlines()[-1] == "added vectors for 40 texts (slow-8-aaaaaaaaaaaaaaaa)"
    assert tallystick("rebuild-index", "--vectors").out == "every text has its vector\n"
    assert tallystick("recall", "tea").err == ""


def test_vectors_alone_are_made_for_the_user_that_is_named(tallystick, slow, folder):
    tallystick("remember", "Bea drinks tea", "--user", "bea")
    tallystick("recall", "tea", "--words")
    before = (folder / "state.db").stat().st_ino

    assert tallystick("rebuild-index", "--vectors", "--user", "bea", "--json").json["vectors"] == 1
    assert tallystick("rebuild-index", "--vectors", "--json").json["vectors"] == 40
    assert (folder / "state.db").stat().st_ino == before


def test_without_an_embedder_it_says_so_and_recall_goes_by_words(tallystick, folder):
    tallystick("remember", "Ana prefers tea")
    (folder / "tallystick.toml").write_text('[recall]\nembedder = "none"\n')
    done = tallystick("rebuild-index")

    assert done.status == 0
    assert done.out.splitlines()[-1].startswith("no vectors: there is no embedder, and recall uses words only")
    again = tallystick("rebuild-index", "--json").json
    assert again | {"pages": {}} == {"pages": {}, "events": 2, "vectors": 0, "embedder": ""}
    assert texts(tallystick("recall", "tea", "--json")) == ["Ana prefers tea"]


IMPATIENT = (
    "from tallystick.models import http_client; http_client._FIRST_WAIT = 0.01; "
    "from tallystick.surfaces.cli import main; main()"
)


def test_an_embedder_that_cannot_be_had_is_one_line_and_no_fault(process, folder):
    """It is asked as often as ever, with shorter pauses."""
    process("remember", "Ana prefers tea")
    (folder / "tallystick.toml").write_text('[recall]\nembedder = "http://127.0.0.1:9/v1#nothing"\n')
    program = [sys.executable, "-c", IMPATIENT]
    done, recalled = process("rebuild-index", "--vectors", program=program), process("recall", "tea", program=program)

    assert done.status in (1, 3)
    assert done.err.count("\n") == 1
    assert "fault" not in done.err
    assert "  Ana prefers tea   " in recalled.out
    assert json.loads(process("recall", "tea", "--json", program=program).out)
