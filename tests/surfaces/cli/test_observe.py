"""`tallystick observe`, through the program."""


def test_what_is_observed_is_told_found_shown_and_erased(tallystick):
    done = tallystick("observe", "Let's ship on Friday.", "--session", "standup", "--agent", "ana", "--id", "D1:1")
    assert (done.status, done.out) == (0, "Observed D1:1: Let's ship on Friday.\n")

    assert tallystick("recall", "ship").out.endswith("  Let's ship on Friday.   D1:1 · ana · just now\n")
    shown = tallystick("show", "D1:1")
    assert shown.out.splitlines()[0] == "Let's ship on Friday."
    assert "standup" in shown.out
    assert "standup/ana: Let's ship on Friday." in tallystick("log").out
    assert tallystick("erase", "D1:1", "--yes").out.startswith("Erased 1 episode, 1 event")
    assert tallystick("recall", "ship").out == "I don't know.\n"
    assert tallystick("show", "D1:1").status == 1


def test_metadata_and_time_come_with_it(tallystick):
    done = tallystick("observe", "The build broke", "--at", "2026-05-03", "--meta", "branch=main", "--json")

    assert done.json["metadata"] == {"branch": "main"}
    assert done.json["timestamp"] == "2026-05-03T00:00:00.000000Z"


def test_a_slip_is_answered_in_one_line_and_nothing_is_recorded(tallystick):
    tallystick("observe", "first")
    for wrong in (["x", "--at", "soon"], [" "]):
        tallystick("observe", *wrong).refused()
    assert tallystick("log").out.count("episode.put") == 1


def test_the_log_and_erase_name_an_episode_as_a_person_would_type_it(tallystick):
    name = tallystick("observe", "Let us ship on Friday", "--json").json["id"][-6:]

    assert f"{name}  Let us ship on Friday" in tallystick("log").out
    assert f"\n  {name}  Let us ship on Friday\n" in tallystick("erase", name, "--dry-run").out
    assert tallystick("forget", name).out == (
        f"Retracted {name}: Let us ship on Friday\nUndo with `tallystick undo {name}`\n"
    )
    assert f" {name} retracted" in tallystick("log").out
    assert tallystick("show", name).out.startswith("Let us ship on Friday\n")
