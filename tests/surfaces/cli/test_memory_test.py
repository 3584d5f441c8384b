"""tallystick test: a person's own questions, put again, and noticed when their answers get worse."""

import re

import pytest

QUESTIONS = """\
- ask: what does Ana prefer to drink?
  find: [ana-drinks]
- ask: who prefers what?
  words: true
  find: [ana-drinks, FACT-009]
  says: [rum]
- frame: attention
  find: plan
"""


@pytest.fixture
def story(tallystick, home):
    tallystick("remember", "Ana prefers tea over coffee", "--key", "ana-drinks")
    tallystick("remember", "We ship on Friday", "--key", "plan", "--always")
    (home / "work/q.yaml").write_text(QUESTIONS)
    return tallystick


def test_each_question_is_a_line_with_what_is_wrong_below_it_and_a_failure_is_status_1(story):
    done = story("test", "q.yaml")

    assert (done.status, done.err) == (1, "")
    assert done.out == (
        "✓ what does Ana prefer to drink?  at 1\n"
        "✗ who prefers what?  line 3\n"
        "    FACT-009 is not in this memory\n"
        "    no hit says 'rum'\n"
        "✓ the frame attention  at 1\n"
        "\n"
        "2 of 3 questions passed; 3 of 4 found (75%); mean place 1.0\n"
    )


def test_if_all_pass_the_status_is_0(story, home):
    (home / "work/q.yaml").write_text('[{"ask": "what does Ana prefer?", "find": "ana-drinks"}]')
    done = story("test", "q.yaml")

    assert done.status == 0
    assert done.out.endswith("\n1 of 1 question passed; 1 of 1 found (100%); mean place 1.0\n")


def test_a_question_that_asks_for_nothing_has_no_places(story, home):
    (home / "work/q.yaml").write_text("- ask: elephants\n  nothing: true\n  floor: 1\n")

    assert story("test", "q.yaml").out == "✓ elephants\n\n1 of 1 question passed\n"


def test_json_holds_every_verdict_and_the_same_status(story):
    done = story("test", "q.yaml", "--json")

    assert done.status == 1
    assert {name: done.json[name] for name in ("questions", "passed", "wanted", "found", "share", "mean_place")} == {
        "questions": 3, "passed": 2, "wanted": 4, "found": 3, "share": 0.75, "mean_place": 1.0,
    }  # fmt: skip
    assert done.json["verdicts"][1] == {
        "ask": "who prefers what?", "find": ["ana-drinks", "FACT-009"], "says": ["rum"], "words": True, "line": 3,
        "passed": False, "places": {"ana-drinks": 1}, "wrong": ["FACT-009 is not in this memory", "no hit says 'rum'"],
    }  # fmt: skip


def test_a_user_may_be_named_and_a_question_may_name_another(story, home):
    story("remember", "Bea drinks rum", "--key", "bea-drinks", "--user", "bea")
    (home / "work/q.yaml").write_text(
        "- {ask: who drinks rum?, find: bea-drinks}\n- {ask: what does Ana prefer?, find: ana-drinks, user: me}\n"
    )

    assert story("test", "q.yaml", "--user", "bea").status == 0
    assert "bea-drinks is not in this memory" in story("test", "q.yaml").out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- ask: [", "q.yaml, line 1: not YAML"), ("- ask: tea\n  wants: x\n", "line 2: unknown key 'wants'"),
        ("- !!python/name:os.system x", "tags"), ("- &a [*a]", "anchors"), ("- ask: \x1b[31m\n", "not YAML"),
        ("- ask: tea\n  \u202efind: x", "unknown key"), ("x" * 10_000_000, "larger than 262,144 bytes"),
    ],
    ids=["not YAML", "unknown key", "tag", "anchor", "escape", "hidden", "large"],
)  # fmt: skip
def test_a_file_that_is_wrong_is_one_line_and_nothing_is_asked(story, home, text, says):
    (home / "work/q.yaml").write_text(text)
    done = story("test", "q.yaml")
    done.refused(says)
    assert not set(done.err) & set("\x1b\u202e")


def test_a_file_that_is_not_there_is_told(story):
    done = story("test", "none.yaml")
    done.refused()
    assert done.err.startswith("tallystick: no file none.yaml")


def test_hostile_words_are_shown_and_not_obeyed(story, home):
    (home / "work/q.yaml").write_text('- ask: "tea \\e[31m"\n  find: "\\e]0;x\\a"\n  says: "\\u202e"\n')
    for form in ([], ["--json"]):
        done = story("test", "q.yaml", *form)

        assert done.status == 1
        assert not set(done.out) & set("\x1b\x07\u202e")


def test_on_a_terminal_it_is_coloured_and_in_a_pipe_it_is_not(story, terminal, process):
    assert "\x1b[32m✓" in terminal("test", "q.yaml").out
    assert "\x1b" not in process("test", "q.yaml").out
    assert not re.search(r"\x1b\[\d*m", terminal("test", "q.yaml", NO_COLOR="1").out)
