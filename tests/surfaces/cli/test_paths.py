"""`tallystick paths`, and the commands that stand on a path."""


def test_the_tree_shows_every_path_what_became_of_it_and_what_was_said_there(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "tea")
    tallystick("paths", "branch", "try-b")
    tallystick("paths", "branch", "try-c", "--from", "try-b")
    tallystick("paths", "branch", "other")
    tallystick("remember", "Ana prefers coffee", "--key", "tea", "--path", "try-c")
    tallystick("observe", "Ana came by", "--path", "try-c")
    tallystick("paths", "abandon", "other", "--reason", "it led nowhere")
    done = tallystick("paths")

    assert done.status == 0
    main, b, c, other = done.out.splitlines()
    assert main == "main  1 belief, 0 episodes"
    assert b.startswith("├─ try-b  0 beliefs, 0 episodes  open, just now")
    assert c.startswith("│  └─ try-c  1 belief, 1 episode  open")
    assert other.startswith("└─ other  0 beliefs, 0 episodes  abandoned (it led nowhere)")
    tree = tallystick("paths", "--json").json
    assert [branch["name"] for branch in tree["branches"]] == ["try-b", "other"]
    assert tree["branches"][0]["branches"][0]["path"]["parent_id"] == "try-b"


def test_what_is_said_on_a_path_is_seen_there(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "tea")
    tallystick("paths", "branch", "try-b")
    assert tallystick("revise", "tea", "Ana prefers coffee", "--path", "try-b").status == 0

    assert tallystick("show", "tea", "--json").json["text"] == "Ana prefers tea"
    assert tallystick("show", "tea", "--path", "try-b", "--json").json["text"] == "Ana prefers coffee"
    assert [each["text"] for each in tallystick("recall", "Ana prefers", "--json").json] == ["Ana prefers tea"]
    found = tallystick("recall", "Ana prefers", "--path", "try-b", "--json").json
    assert [each["text"] for each in found] == ["Ana prefers coffee"]
    assert len(tallystick("show", "tea", "--path", "try-b", "--history", "--json").json) == 2
    tallystick("forget", "tea", "--path", "try-b")
    assert tallystick("show", "--path", "try-b", "--json").json == []
    assert len(tallystick("show", "--json").json) == 1


def test_a_merge_tells_what_it_brought_and_what_both_sides_changed(tallystick):
    for key in ("tea", "bun"):
        tallystick("remember", f"Ana prefers {key}", "--key", key)
    tallystick("paths", "branch", "try-b")
    tallystick("revise", "tea", "Ana prefers coffee", "--path", "try-b")
    tallystick("revise", "tea", "Ana prefers cocoa")
    tallystick("remember", "Ana bakes", "--key", "bakes", "--path", "try-b")
    tallystick("forget", "bun", "--path", "try-b")
    looked = tallystick("paths", "merge", "try-b", "--dry-run")

    assert looked.out.startswith("Would merge 2 beliefs from try-b into main\n")
    assert (
        "conflict  tea: both sides changed it\n    main  Ana prefers cocoa\n    try-b  Ana prefers coffee" in looked.out
    )
    assert tallystick("paths", "--json").json["branches"][0]["path"]["is_active"]
    done = tallystick("paths", "merge", "try-b")
    assert done.out.startswith("Merged 2 beliefs from try-b into main\n")
    assert "bun  Ana prefers bun  tombstone" in done.out
    [review] = tallystick("review", "--json").json
    assert f"pending: `tallystick review {review['id'][-6:]}`" in done.out
    assert tallystick("review", review["id"], "--approve", "--yes").status == 0
    assert tallystick("show", "tea", "--json").json["text"] == "Ana prefers coffee"
    tallystick("paths", "merge", "try-b").refused("is merged")


def test_a_rule_settles_conflicts_and_a_path_may_be_brought_further_up(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "tea")
    tallystick("paths", "branch", "b")
    tallystick("paths", "branch", "c", "--from", "b")
    tallystick("revise", "tea", "Ana prefers coffee", "--path", "c")
    tallystick("revise", "tea", "Ana prefers cocoa")
    told = tallystick("paths", "merge", "c", "--into", "main", "--conflicts", "branch", "--json").json

    assert [belief["text"] for belief in told["brought"]] == ["Ana prefers coffee"]
    assert (told["into"], told["reviews"], len(told["conflicts"])) == ("", [], 1)


def test_one_path_is_shown_with_what_it_holds_of_its_own_and_its_events(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "tea")
    tallystick("paths", "branch", "try-b")
    tallystick("remember", "Ana bakes", "--key", "bakes", "--path", "try-b")
    tallystick("observe", "Ana came by", "--path", "try-b")
    tallystick("paths", "compact", "try-b", "--summary", "Ana bakes well")
    done = tallystick("paths", "show", "try-b")

    assert done.out.startswith("try-b  closed, from main, just now\n2 beliefs of its own\n  bakes  Ana bakes\n")
    assert "5 events" in done.out
    assert "path.branch        the path try-b, from main" in done.out
    assert "Ana prefers tea" not in done.out
    shown = tallystick("paths", "show", "try-b", "--json").json
    assert [event["op"] for event in shown["events"]] == [
        "path.branch/1", "belief.put/1", "episode.put/1", "belief.put/1", "path.compact/1"
    ]  # fmt: skip
    assert [belief["text"] for belief in shown["said"]] == ["Ana bakes", "Ana bakes well"]


def test_the_log_tells_of_paths_in_words(tallystick):
    tallystick("remember", "Ana prefers tea", "--key", "tea")
    for name in ("b", "c", "d"):
        tallystick("paths", "branch", name)
    tallystick("remember", "new", "--path", "b")
    tallystick("paths", "merge", "b")
    tallystick("paths", "abandon", "c", "--reason", "no use")
    tallystick("paths", "compact", "d")
    told = tallystick("log").out

    assert "the path b, from main" in told
    assert "the path b is merged into main: 1 belief" in told
    assert "the path c is abandoned (no use)" in told
    assert "the path d is closed" in told


def test_what_cannot_be_is_refused_in_one_line(tallystick):
    tallystick("remember", "Ana prefers tea")
    for words in (
        ["paths", "branch", "a\nb"], ["paths", "branch", "main"], ["paths", "branch", "x", "--from", "nowhere"],
        ["paths", "merge", "nowhere"], ["paths", "abandon", "main", "--reason", "x"], ["paths", "show", "nowhere"],
        ["paths", "abandon", "nowhere", "--reason", " "],
    ):  # fmt: skip
        tallystick(*words).refused()
