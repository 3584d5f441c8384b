"""Questions whose answers are known: what passes, what fails and why, and files that mean harm."""

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tallystick import Memory, NotFound, Refused
from tallystick.memory.recall.evaluate import read_questions
from tallystick.records.errors import Closed
from tallystick.records.evaluation import Verdicts
from tests.growth import assert_text_linear
from tests.refusals import refuses


@pytest.fixture
def story(memory: Memory) -> Memory:
    memory.remember("Ana prefers tea over coffee", key="ana-drinks", about="ana")
    memory.remember("The staging port is 5432", key="port")
    memory.remember("We ship the release on Friday", key="plan", always=True)
    memory.observe("Let's have a tea at noon", id="D1", agent="bob")
    return memory


def one(memory: Memory, **asked: object) -> tuple[bool, tuple[str, ...]]:
    [verdict] = memory.test([{name.rstrip("_"): value for name, value in asked.items()}])
    assert verdict.passed == (verdict.wrong == ())
    return verdict.passed, verdict.wrong


def put(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# -- what passes and what fails ----------------------------------------------------------------------------------------


def test_what_must_be_found_is_named_by_key_or_any_id_and_what_is_said_twice_by_either_name(story):
    belief = story.show("ana-drinks")
    for name in ("ana-drinks", belief.id, belief.id[-6:]):
        assert one(story, ask="what does Ana prefer to drink?", find=[name]) == (True, ())
    story.remember("Ana prefers tea over coffee", key="again")
    assert one(story, ask="what does Ana prefer?", find=["ana-drinks", "again"], k=1) == (True, ())


def test_a_version_that_was_replaced_stands_for_the_one_that_is_held_and_at_a_moment_the_one_of_then(story):
    before = story.show("port").id
    story.revise("port", "The staging port is 6543")
    now = story.status().events - 1

    [verdict] = story.test([{"ask": "which port is staging on?", "find": [before], "says": "6543"}])
    assert (verdict.passed, verdict.places) == (True, {before: 1})
    assert one(story, ask="staging port", find="port", says="5432", at=2) == (True, ())
    assert one(story, ask="staging port", find="port", says="6543", at=now) == (True, ())
    assert one(story, ask="staging port", find="port", at=1) == (False, ("port was not held then",))


def test_what_comes_too_late_is_told_with_its_place(story):
    for number in range(6):
        story.remember(f"Tea tea tea of sort {number}", key=f"t{number}")
    passed, [why] = one(story, ask="tea of sort", find="ana-drinks", k=2, words=True)

    assert not passed
    assert why.startswith("ana-drinks is at place ")
    assert why.endswith(", not among the 2 that are served")
    assert int(why.split()[4].rstrip(",")) > 2


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ({"ask": "coffee", "find": "port", "words": True}, "port is not found in the first 50"),
        ({"ask": "Ana's tea", "find": "ana-drinks", "floor": 1},
         "ana-drinks is not found: nothing fits; it would be at place 1"),
        ({"ask": "staging port", "not": ["port"]}, "port must not be found, and is at place 1"),
        ({"ask": "staging port", "not": ["ana-drinks"], "words": True}, ""),
        ({"ask": "what does Ana prefer?", "says": ["TEA", "coffee"]}, ""),
        ({"ask": "what does Ana prefer?", "says": ["rum"]}, "no hit says 'rum'"),
        ({"ask": "tea", "nothing": True, "floor": 1.0}, ""),
        ({"ask": "what tea does Ana prefer?", "nothing": True, "floor": 0},
         r"nothing may fit, and {id} does \(.*\): Ana prefers tea over coffee"),
        ({"ask": "plan the release", "frame": "attention", "find": "plan", "says": "friday"}, ""),
        ({"frame": "attention", "find": "plan"}, ""),
        ({"frame": "attention", "find": "plan", "budget": 1}, "plan was left out of the frame: .*"),
        ({"ask": "tea", "frame": "nonesuch", "find": "plan"}, ".*'nonesuch'.*"),
        ({"ask": "a tea at noon", "find": "D1"}, ""),
        ({"ask": "tea", "find": "D1", "what": "episode", "agent": "bob", "k": 1}, ""),
        ({"ask": "tea", "not": "D1", "without": ["agent:bob"]}, ""),
        ({"ask": "tea", "find": "ana-drinks", "about": ["ana"], "kind": "fact"}, ""),
        ({"ask": "tea", "find": "ana-drinks", "user": "bea"}, "ana-drinks is not in this memory"),
    ],
    ids=str,
)  # fmt: skip
def test_a_question_passes_or_says_what_is_wrong(story, asked, wrong):
    passed, told = one(story, **asked)
    assert passed == (not wrong)
    assert re.fullmatch(wrong.format(id=story.show("ana-drinks").id), " and ".join(told))


def test_a_name_that_is_not_in_the_memory_fails_its_own_question_and_no_other_and_each_ticks(story):
    good, ticks = {"ask": "Ana's tea", "find": "ana-drinks"}, []
    asked = [{"ask": "tea", "find": ["FACT-009"]}, {"ask": "tea", "not": "FACT-009"}, good]
    verdicts = story.test(asked, on_progress=ticks.append)

    assert [each.wrong for each in verdicts] == [("FACT-009 is not in this memory",)] * 2 + [()]
    assert ticks == [1, 1, 1]


def test_what_was_forgotten_is_told_as_such_and_may_well_be_what_must_not_be_found(story):
    story.forget("port")

    assert one(story, ask="staging port", find="port") == (False, ("port is no longer held",))
    assert one(story, ask="staging port", not_="port") == (True, ())


def test_the_summary_counts_what_was_wanted_and_found_and_where(story):
    verdicts = story.test(
        [{"ask": "what does Ana prefer?", "find": ["ana-drinks", "nobody"]}, {"ask": "staging port", "find": "port"}]
    )

    assert (verdicts.passed, verdicts.wanted, verdicts.found, verdicts.share) == (1, 3, 2, 2 / 3)
    assert verdicts.mean_place == 1.0
    assert not verdicts.all_passed
    assert (Verdicts().share, Verdicts().mean_place, Verdicts().all_passed) == (None, None, True)
    assert json.loads(json.dumps(verdicts.to_dict()))["verdicts"][0]["wrong"] == ["nobody is not in this memory"]


def test_asking_writes_nothing_even_where_every_recall_leaves_a_receipt_and_a_closed_memory_is_an_error(home):
    with Memory() as memory:
        memory.remember("Ana prefers tea", key="ana")
        memory.folder.joinpath("tallystick.toml").write_text("[recall]\nreceipts = true\n")
    asked = [{"ask": "tea", "find": "ana"}, {"ask": "tea", "find": "ana", "frame": "attention"}]
    with Memory() as memory:
        memory.test(asked)
        memory.receipts.flush()
        assert [event.op for event in memory.log()][1:] == ["belief.put/1"]
    with pytest.raises(Closed):
        memory.test(asked)


# -- what a program may ask --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({}, "needs an `ask`"), ({"ask": "tea"}, "needs an expected answer"), ({"find": "x"}, "needs an `ask`"),
        ({"ask": "tea", "find": []}, "find must be"), ({"ask": "tea", "find": 7}, "find must be"),
        ({"ask": "tea", "find": {"a": 1}}, "find must be"), ({"ask": 7, "find": "x"}, "ask must be"),
        ({"ask": "tea", "find": "x", "finds": "y"}, "unknown key 'finds'"),
        ({"ask": "tea", "find": "x", "nothing": True}, "cannot be combined"),
        ({"ask": "tea", "find": "x", "k": 0}, "k must be"), ({"ask": "tea", "find": "x", "k": 10**9}, "k must be"),
        ({"ask": "tea", "find": "x", "k": True}, "k must be"), ({"ask": "t", "find": "x", "floor": 2}, "floor"),
        ({"ask": "t", "find": "x", "floor": float("nan")}, "floor"), ({"ask": "t", "nothing": "maybe"}, "true or"),
        ({"ask": "t", "find": "x", "since": "soon"}, "not a time"), ({"ask": "t", "find": "x", "at": "soon"}, "not a"),
        ({"ask": "t", "find": "x", "budget": 9}, "needs a frame"),
    ],
)  # fmt: skip
def test_a_question_that_makes_no_sense_is_refused_with_its_number(memory, asked, says):
    with pytest.raises(Refused, match=says) as error:
        memory.test([{"ask": "tea", "find": "x"}, asked])

    assert str(error.value).startswith("question 2: ")
    assert "\n" not in str(error.value)


def test_what_is_no_mapping_is_refused(memory):
    with refuses("value", "question 1"):
        memory.test(["tea"])  # type: ignore[list-item]


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_file_is_a_list_or_a_mapping_with_what_is_usual_and_a_question_goes_before_that(tmp_path):
    def read(text):
        return read_questions(put(tmp_path / "q", text))

    plain = "- ask: tea?\n  find: [x]\n  k: 3\n\n- ask: port?\n  find: y\n  k: 3\n"
    usual = "k: 3\nquestions:\n- {ask: tea?, find: [x]}\n- {ask: port?, find: y}\n"
    spoken = json.dumps([{"ask": "tea?", "find": ["x"], "k": 3}, {"ask": "port?", "find": "y", "k": 3}])
    first, second, third = map(read, (plain, usual, spoken))
    assert [asked.to_dict() for asked in first] == [asked.to_dict() for asked in second]
    assert [asked.to_dict() for asked in first] == [asked.to_dict() for asked in third]
    assert [asked.line for asked in first] == [1, 5]
    assert first[1].find == ("y",)

    text = "k: 3\nwords: yes\nquestions:\n- {ask: tea, find: x, k: 9, words: false}\n- {ask: tea, find: x}\n"
    assert [asked.options for asked in read(text)] == [{"k": 9, "words": False}, {"k": 3, "words": True}]
    names = ["123456", "1e5432", "0x12", "007", "2026-05-03", "true", "null", "~", "no"]
    [asked] = read(f"- ask: 1987\n  find: [{', '.join(names)}]\n")
    assert (asked.ask, list(asked.find)) == ("1987", names), "as they are written"
    [asked] = read(b"\xef\xbb\xbf- ask: tea\r\n  find: x\r\n")
    assert asked.ask == "tea", "a mark at the beginning is passed over"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "no questions"), ("[]", 1, "no questions"), ("tea", 1, "no questions"),
        ("- tea", 1, "must be a mapping"), ("k: 3", 1, "with `questions:`"), ("questions: 3", 1, "no questions"),
        ("- ask: tea\n  finds: x", 2, "unknown key 'finds'"), ("ask: x\nquestions: [a]", 1, "unknown key 'ask'"),
        ("- ask: tea\n  find: x\n- ask: tea\n", 3, "expected answer"), ("- ask: t\n  find: x\n  k: 0", 3, "k must"),
        ("- ask: tea\n  find:", 2, "find must be"), ("- ask: tea\n  ask: tea", 2, "'ask'"),
        ("- ask: a: b", 1, "not YAML"), ("- ask: [", 1, "not YAML"), ("- ask: 'tea\n\n", 3, "not YAML"),
        ("- ask: \x01", 1, "not YAML"), ("\n\n- ask: \x00", 3, "not YAML"), ('- "\\UFFFFFFFF"', 1, "not YAML"),
        ("- &a tea\n- *a", 1, "anchors and aliases"), ("- ask: tea\n  find: *x", 2, "anchors and aliases"),
        ("- !!python/object/apply:os.system [x]", 1, "tags"), ("- ask: !!int 3", 1, "tags"),
        ("- [[[[[[x]]]]]]", 1, "too deep"), ("- ask: a\n  find: x\n---\n- ask: b", 3, "one document"),
        ("- ? [a]\n  : b", 1, "a name must be a string"), ("%YAML 99999999999.1\n---\n- a", 1, "YAML"),
        ("\t- ask: x", 1, "not YAML"),
        ("- ask: tea\n  find: {a: b}", 2, "find must"), ("- ask: tea\n  find: [[a]]", 2, "find must"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_refused_in_one_line_with_the_place(tmp_path, text, line, says):
    path = put(tmp_path / "q.yaml", text)
    with pytest.raises(Refused) as error:
        read_questions(path)

    assert str(error.value).startswith(f"{path}, line {line}: "), error.value
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_text_too_large_or_not_there_is_refused(tmp_path):
    with refuses("text", "UTF-8"):
        read_questions(put(tmp_path / "a", b"- ask: \xff"))
    with refuses("size", "262", "144"):
        read_questions(put(tmp_path / "b", "- ask: tea\n  find: x\n" * 500_000))
    with refuses("place", f"{tmp_path} is a folder"):
        read_questions(tmp_path)
    with pytest.raises(NotFound, match=str(tmp_path / "none")):
        read_questions(tmp_path / "none")


@pytest.mark.parametrize("bomb", ["[", "{", "- ", "? ", "{a: ", "!", "\t", "&a ", "- ask: tea\n"])
@pytest.mark.longer
@pytest.mark.sample(3)
def test_a_file_is_refused_in_time_that_grows_with_it(tmp_path, bomb):
    def refused(text: str) -> None:
        with pytest.raises(Refused):
            read_questions(put(tmp_path / "q.yaml", text))

    assert_text_linear(refused, bomb, 15_000, deeper=16)


def test_a_file_that_multiplies_itself_is_refused_before_it_grows(tmp_path):
    layers = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    path = put(tmp_path / "q.yaml", "a0: &a0 [x]\n" + "\n".join(layers))

    with refuses("file", "line 1"):
        read_questions(path)


SIGNS = st.text(st.sampled_from("-?:,[]{}#&*!|>'\"%@` \n\tab0~<=/\\x\U0001f375\u202e\u200b\x00\x85\ufeff"), max_size=40)


@given(st.one_of(SIGNS, st.text(max_size=40), st.binary(max_size=40)))
def test_whatever_a_file_holds_it_is_read_or_refused(text):
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    with tempfile.TemporaryDirectory() as folder:
        for before in (b"", b"- ask: tea\n  find: x\n  says: "):
            try:
                read_questions(put(Path(folder) / "q.yaml", before + data))
            except Refused as error:
                said = str(error)
            else:
                said = ""
            assert "\n" not in said
