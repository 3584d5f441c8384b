"""tallystick consolidate: facts out of what was observed, by rules, and everything that could go wrong on the way."""

import re
from contextlib import contextmanager

import pytest

ANA = ("--meta", "subject=Ana", "--meta", "predicate=works_at")


@pytest.fixture
def told(tallystick, home):
    """Something was observed, and there is a rule."""
    tallystick("observe", "Ana works at Acme", "--session", "s1", "--id", "e1", *ANA, "--meta", "object=Acme")
    tallystick("observe", "Ana works at Acme", "--session", "s2", "--id", "e2", *ANA, "--meta", "object=Acme")
    tallystick("observe", "Ana works at Initech", "--session", "s3", "--id", "e3", *ANA, "--meta", "object=Initech")
    (home / "work/people.yaml").write_text("id: people\ncadence: {every: 2}\nthen_emits: [people]\n")
    return tallystick


def test_it_prints_what_was_made_how_sure_it_is_and_from_which_episode(told):
    done = told("consolidate", "people.yaml")

    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "people: 1 add, 1 update, 1 noop of 3 episodes\n"
        "  add     Ana → works_at → Acme     0.8   e1\n"
        "  noop    Ana → works_at → Acme     0.85  e2\n"
        "  update  Ana → works_at → Initech  0.8   e3\n"
    )


def test_a_dry_run_shows_the_same_and_writes_nothing(told, folder):
    before = (folder / "events.wal").read_bytes()
    done = told("consolidate", "people.yaml", "--dry-run")

    assert done.out == (
        "people: 1 add, 1 update, 1 noop; nothing was changed\n"
        "  add     Ana → works_at → Acme     0.8   e1\n"
        "  noop    what comes from e1        0.8   e2\n"
        "  update  Ana → works_at → Initech  0.8   e3\n"
    )
    assert (folder / "events.wal").read_bytes() == before
    assert told("consolidate", "people.yaml").out.startswith("people: 1 add, 1 update, 1 noop of 3 episodes\n")
    told("observe", "Ana works at Initech", "--session", "s4", "--id", "e4", *ANA, "--meta", "object=Initech")
    done = told("consolidate", "people.yaml", "--dry-run")

    assert "  noop    Ana → works_at → Initech  0.8   e4\n" in done.out


def test_a_fact_may_be_replaced_again_and_again_and_ended(told):
    told("consolidate", "people.yaml")
    told("observe", "Ana works at Globex", "--id", "e5", *ANA, "--meta", "object=Globex")
    told("observe", "Ana works at Hooli", "--id", "e6", *ANA, "--meta", "object=Hooli")
    told("observe", "Ana retired", "--id", "e7", "--meta", "intent=delete", "--meta", "replaces=e6")
    done = told("consolidate", "people.yaml")

    assert done.out == (
        "people: 2 update, 1 delete of 3 episodes\n"
        "  update  Ana → works_at → Globex  0.8   e5\n"
        "  update  Ana → works_at → Hooli   0.8   e6\n"
        "  delete  Ana → works_at → Hooli   0.8   e7\n"
    )
    assert told("show").out == "No beliefs.\n"


def test_an_extractor_reads_words_and_the_dry_run_asks_the_same_one(told):
    told("observe", "I moved to Berlin. I love hiking.", "--agent", "Ana", "--id", "e8")
    plan = told("consolidate", "people.yaml", "--extractor", "english", "--dry-run")
    done = told("consolidate", "people.yaml", "--extractor", "english")

    for out in (plan.out, done.out):
        assert "  add     Ana → lives_in → Berlin   0.48  e8\n" in out
        assert "  add     Ana → likes → hiking      0.48  e8\n" in out


def test_an_extractor_that_nobody_knows_is_refused_and_nothing_is_read(told, folder):
    before = (folder / "events.wal").read_bytes()
    told("consolidate", "people.yaml", "--extractor", "klingon").refused()
    assert (folder / "events.wal").read_bytes() == before


def test_what_a_web_page_said_waits_for_a_yes(told):
    told("observe", "Bob works at Acme", "--trust", "web", "--id", "w1", "--meta", "subject=Bob", "--meta",
         "predicate=works_at", "--meta", "object=Acme")  # fmt: skip
    done = told("consolidate", "people.yaml")
    [asked] = told("review", "--json").json

    assert f"  1 review pending: {asked['id'][-6:]}    tallystick review\n" in done.out
    assert told("consolidate", "people.yaml", "--all", "--json").json[0]["waiting"] == []


def test_what_makes_no_sense_is_set_aside_with_the_reason_and_holds_up_nobody(told):
    told("observe", "Forget it", "--id", "bad", "--meta", "intent=delete")
    done = told("consolidate", "people.yaml")

    assert done.status == 0
    assert done.out.startswith("people: 1 add, 1 update, 1 noop of 4 episodes\n")
    assert "  skipped bad: intent 'delete' needs `replaces`" in done.out
    assert told("consolidate", "--findings").out.startswith("bad  Forget it\n    people: intent 'delete' needs")
    assert told("consolidate", "--findings", "--json").json[0]["episode"] == "bad"
    told("erase", "bad", "--yes")
    assert told("consolidate", "--findings").out == "No skipped episodes.\n"


def test_json_holds_every_delta_and_fact_and_a_dry_run_only_the_deltas(told):
    [plan] = told("consolidate", "people.yaml", "--dry-run", "--json").json
    [done] = told("consolidate", "people.yaml", "--json").json

    assert [delta["kind"] for delta in plan["deltas"]] == ["add", "noop", "update"]
    assert plan["findings"] == []
    assert "facts" not in plan
    assert (done["rule"], done["user"], done["considered"]) == ("people", "me", 3)
    assert done["made"] == {"add": 1, "noop": 1, "update": 1}
    assert done["deltas"][0]["channels"] == ["people"]
    assert [fact["payload"]["object"] for fact in done["facts"]] == ["Acme", "Acme", "Initech"]


def test_several_rules_of_a_file_run_one_after_another_and_one_wrong_rule_stops_them_all(told, home):
    (home / "work/two.yaml").write_text("- id: a\n  when_filter: id = 'e1'\n- id: b\n  when_filter: id = 'e3'\n")
    (home / "work/bad.yaml").write_text("- id: c\n- id: d\n  when: never\n")
    wrong = told("consolidate", "bad.yaml")
    done = told("consolidate", "two.yaml")

    assert wrong.err == (
        "tallystick: bad.yaml, line 3: a rule has no field 'when'; it has id, cadence, when_filter, then_emits\n"
    )
    assert [line for line in done.out.splitlines() if not line.startswith(" ")] == [
        "a: 1 add of 1 episode", "b: 1 update of 1 episode",
    ]  # fmt: skip


def test_a_filter_that_is_not_understood_is_shown_with_a_caret_under_the_character(told, home):
    (home / "work/bad.yaml").write_text("id: a\nwhen_filter: content LIKE 5\n")
    done = told("consolidate", "bad.yaml")

    assert (done.status, done.out) == (1, "")
    assert done.err.splitlines()[:2] == ["  content LIKE 5", "               ^"]
    assert done.err.splitlines()[2].startswith("tallystick: bad.yaml, line 2: when_filter at character 13")
    assert told("consolidate", "bad.yaml", "--json").err.count("\n") == 1


@pytest.mark.parametrize("before", ["\u202e", "日本", "\x85", "e\u0301", "\t", "x" * 3000])
def test_the_caret_stands_under_the_character_whatever_comes_before_it(told, home, before):
    from tallystick.surfaces.present.text import cells

    (home / "work/bad.yaml").write_text(f"id: a\nwhen_filter: \"content = '{before}' AND !\"\n")
    shown, caret, _ = told("consolidate", "bad.yaml").err.splitlines()

    assert cells(caret) <= 120
    assert cells(shown[: shown.index("!")]) == caret.index("^")
    assert not set(shown) & set("\u202e\x85\t")


# -- rules that run by themselves --------------------------------------------------------------------------------------


def test_a_rule_that_is_kept_runs_when_it_is_due_and_says_how_much_and_no_words(told):
    assert told("consolidate", "--add", "people.yaml").out == "Saved people\n"
    assert told("consolidate", "--list").out == "people  every 2 episodes      3 waiting  never ran  due now\n"
    assert told("consolidate", "--due").out == "people: 1 add, 1 update, 1 noop of 3 episodes\n"

    done = told("consolidate", "--due")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert told("consolidate", "--due", "--json").json == []
    assert told("consolidate", "--list").out == "people  every 2 episodes      0 waiting  last ran just now\n"


def test_what_is_due_is_everyones_unless_somebody_is_named(told):
    for user in ("ana", "bob"):
        told("observe", f"{user} was here", "--user", user)
        told("observe", f"{user} was there", "--user", user)
        told("consolidate", "--add", "people.yaml", "--user", user)

    assert told("consolidate", "--due", "--user", "bob").out == "people of bob: 2 add of 2 episodes\n"
    assert told("consolidate", "--due").out == "people of ana: 2 add of 2 episodes\n"
    assert told("show", "--user", "bob").out.count("\n") == 2
    assert told("show").out == "No beliefs.\n"


def test_json_of_what_was_due_has_no_words_of_anyone(told):
    told("consolidate", "--add", "people.yaml")

    assert told("consolidate", "--due", "--json").json == [
        {
            "rule": "people", "user": "me", "read": 3, "considered": 3, "made": {"add": 1, "noop": 1, "update": 1},
            "waiting": 0, "findings": 0,
        },
    ]  # fmt: skip


def test_a_rule_may_go_by_the_clock_or_only_when_asked(told, home):
    (home / "work/two.yaml").write_text(
        "- id: weekly\n  cadence: {cron: '0 9 * * 1', zone: Europe/Berlin}\n- id: asked\n"
    )
    added = told("consolidate", "--add", "two.yaml").out
    asked, weekly = told("consolidate", "--list").out.splitlines()

    assert "asked  (without a cadence, it runs only on demand)" in added
    assert asked == "asked   on demand                         3 waiting  never ran"
    assert weekly.startswith("weekly  cron 0 9 * * 1 Europe/Berlin      3 waiting  never ran  next 20")
    assert told("consolidate", "--due").out == ""


def test_a_rule_is_given_up_and_what_it_made_stands(told):
    told("consolidate", "--add", "people.yaml")
    told("consolidate", "--due")

    assert told("consolidate", "--drop", "people").out == "Dropped people\n"
    assert told("consolidate", "--list").out == "No saved rules.\n"
    assert told("consolidate", "--drop", "people").status == 1
    assert "Ana works at Initech" in told("show").out


def test_of_the_rules_of_a_file_all_are_kept_or_none(told, home, folder):
    (home / "work/bad.yaml").write_text("- id: good\n- id: bad\n  cadence: {every: 0}\n")
    (home / "work/two.yaml").write_text("- id: a\n- id: b\n")

    assert told("consolidate", "--add", "bad.yaml").status == 1
    assert told("consolidate", "--list").out == "No saved rules.\n"
    told("consolidate", "--add", "two.yaml")
    left = re.findall(rb'"op":"rule.put/1".*?"left":(\d)', (folder / "events.wal").read_bytes())
    assert left == [b"1", b"0"], "one group"


def test_what_others_wrote_cannot_recolour_the_terminal(told, home):
    told("observe", "\x1b[31mred\u202e", "--id", "\x1b]0;x\x07", "--meta", "subject=\x1b[2J", "--meta", "predicate=is",
         "--meta", "object=\u202eevil")  # fmt: skip
    (home / "work/odd.yaml").write_text('id: "\\e[31m\\u202e"\ncadence: {every: 1}\n')
    for args in (("odd.yaml", "--dry-run"), ("odd.yaml",), ("--add", "odd.yaml"), ("--list",)):
        done = told("consolidate", *args)
        assert done.status == 0
        assert not set(done.out) & set("\x1b\x07\u202e")


def test_the_bar_of_a_long_run_ends_where_the_run_ends(told, monkeypatch):
    drawn = []

    @contextmanager
    def progress(_, total):
        drawn.append((total, steps := []))
        yield steps.append

    monkeypatch.setattr("tallystick.surfaces.cli.consolidate.progress", progress)
    told("consolidate", "people.yaml")
    told("observe", "One more")
    told("consolidate", "people.yaml")
    told("consolidate", "people.yaml", "--all")

    assert [(total, sum(steps)) for total, steps in drawn] == [(3, 3), (1, 1), (4, 4)]


def test_on_a_terminal_the_table_fits_its_width(told, terminal):
    told("observe", "Ana writes " + "a very long letter " * 20, "--id", "e" * 60)
    done = terminal("consolidate", "people.yaml", columns=70)

    assert done.status == 0
    assert "1 add" not in done.out
    assert "2 add" in done.out
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in done.out.splitlines()) <= 70


def test_very_many_are_not_all_printed(told, home):
    from tallystick import Memory

    with Memory() as memory, memory.batch():
        for number in range(120):
            memory.observe(f"thing {number}", metadata={"intent": "delete"} if number % 2 else {})
    done = told("consolidate", "people.yaml")

    assert "  and 13 more, shown by --json\n" in done.out
    assert "  and 10 more; `tallystick consolidate --findings` lists them\n" in done.out
    assert done.out.count("\n") == 103


# -- where a fact comes from, and what becomes of it -------------------------------------------------------------------


def test_show_tells_which_episodes_a_fact_comes_from_and_by_which_rule(told):
    told("consolidate", "people.yaml")
    [fact] = told("show", "--json").json
    done = told("show", fact["key"])

    assert (
        "  episodes    e1 Ana works at Acme (rule people)\n"
        "              e2 Ana works at Acme (rule people)\n"
        "              e3 Ana works at Initech (rule people)\n"
    ) in done.out
    for number in range(5):
        told("observe", "Ana works at Initech", "--session", f"t{number}", *ANA, "--meta", "object=Initech")
    told("consolidate", "people.yaml")
    [fact] = told("show", "--json").json
    done = told("show", fact["key"])

    assert "  episodes    and 3 episodes before\n" in done.out
    assert done.out.count("(rule people)") == 5


def test_forgetting_an_episode_shows_what_rests_on_it_and_leaves_it_unless_told(told):
    told("observe", "Bob likes tea", "--id", "e9", "--meta", "subject=Bob", "--meta", "predicate=likes", "--meta",
         "object=tea")  # fmt: skip
    told("consolidate", "people.yaml")
    ana, bob = (belief["key"][-6:] for belief in told("show", "--json").json)
    first, shared = told("forget", "e9"), told("forget", "e3")

    assert first.out == (
        "Retracted e9: Bob likes tea\n"
        f"  {bob}  Bob → likes → tea  has no other source, and stays; --withdraw removes it too\n"
        "Undo with `tallystick undo e9`\n"
    )
    assert f"  {ana}  Ana → works_at → Initech  has other sources, and stays\n" in shared.out
    assert told("show", bob).status == 0
    assert "withdrawn with it" in told("forget", "e9", "--withdraw").out
    assert "forgotten" in told("show", bob).out
    assert told("consolidate", "people.yaml", "--all").out == "people: nothing new of 2 episodes\n"


def test_beliefs_and_episodes_may_be_forgotten_in_one_call_and_all_go_or_none(told):
    told("remember", "Ana drinks tea", "--key", "tea")
    failed = told("forget", "tea", "e1", "nothing-like-it")
    held = told("show", "tea", "--json").json["status"]
    done = told("forget", "tea", "e1", "--json")

    assert (failed.status, held) == (1, "active")
    assert [belief["key"] for belief in done.json["beliefs"]] == ["tea"]
    assert [episode["id"] for episode in done.json["episodes"]] == ["e1"]
    assert told("forget", "tea", "--withdraw").status == 2


def test_the_log_tells_what_rules_did(told):
    told("observe", "Forget it", "--id", "bad", "--meta", "intent=delete")
    told("observe", "Never mind", "--id", "nothing", "--meta", "intent=noop")
    told("consolidate", "--add", "people.yaml")
    told("consolidate", "--due")
    told("consolidate", "--drop", "people")
    told("forget", "e1", "--reason", "it was a joke")
    out = told("log").out

    for words in (
        "the rule people, every 2", "the rule people made 1 add, 2 noop, 1 update of 5 epi",
        "the rule people skipped ", "the rule people saw nothing: nothing changes", "the rule people is dropped",
        "retracted (it was a joke)",
    ):  # fmt: skip
        assert words in out, words
