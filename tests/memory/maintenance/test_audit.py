"""Who did what, on whose approval: read from the ledger, and kept in `audit.jsonl` as a file that follows it."""

import fcntl
import json
import os
import stat
from datetime import timedelta
from functools import partial
from itertools import islice

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.memory.core import audit_file as audit
from tallystick.memory.core.audit_file import AuditFile
from tallystick.records.audit import Auditor
from tallystick.records.errors import NeedsApproval
from tallystick.records.event import Draft, Event
from tallystick.repair.check import check
from tests.crash.disks import at_once
from tests.text.secrets.leaks import drawn


@pytest.fixture
def file(memory):
    return memory.folder / "audit.jsonl"


def lines(memory):
    return [json.loads(line) for line in (memory.folder / "audit.jsonl").read_bytes().splitlines()]


def of_the_ledger(memory):
    return [json.loads(line.to_line()) for line in memory.audit()]


def approved(memory, home):
    """An agent asks to forget and to erase, and a person says yes."""
    memory.remember("Ana drinks tea", key="tea")
    memory.remember("Ana drinks coffee", key="coffee")
    with Memory(memory.folder, trust="agent", by="mcp:3f9a") as agent:
        for ask in (lambda: agent.forget("tea"), lambda: agent.erase("coffee")):
            with pytest.raises(NeedsApproval):
                ask()
    for review in memory.reviews.waiting():
        memory.reviews.approve(review.id)


# -- the reading -------------------------------------------------------------------------------------------------------


def test_each_act_names_who_what_when_to_what_and_how_it_went_and_can_be_proved(memory):
    belief = memory.remember("Ana drinks tea", key="tea")
    newer = memory.revise("tea", "Ana drinks coffee")
    began, said, revised = memory.audit()

    assert (began.action, began.seq, began.user) == ("begin", 0, "")
    assert (said.action, said.by, said.outcome, said.subject) == ("remember", "python:local", "applied", (belief.id,))
    assert (said.trust, said.user, said.approval) == ("human", "me", None)
    assert (said.at, said.hash) == next((event.ts, event.hash) for event in memory.log(1))
    assert (revised.action, revised.subject) == ("revise", (newer.id, belief.id))
    proof = memory.ledger.check_proof(memory.ledger.prove(revised.seq))
    assert proof["event"]["seq"] == revised.seq
    assert next(iter(memory.log(revised.seq))).hash == revised.hash


def test_an_act_on_a_yes_names_the_yes_and_what_was_held_is_said_to_be(memory, home):
    approved(memory, home)
    acts = [(act.action, act.outcome, act.by, act.trust) for act in memory.audit()][3:]
    ask = ("held", "mcp:3f9a", "agent")
    yes = ("approve", "applied", "python:local", "")

    assert acts[:6] == [
        ("forget", *ask), ("ask", "held", "mcp:3f9a", ""), yes, ("forget", "applied", "python:local", ""), yes,
        ("erase", "applied", "python:local", ""),
    ]  # fmt: skip
    told = {line["seq"]: line for line in lines(memory)}
    forgotten, erased = told[6], told[8]
    assert forgotten["approval"] == {"review": told[3]["subject"][0], "by": "python:local", "at": told[5]["at"]}
    assert erased["approval"] == {"review": told[4]["subject"][0], "by": "python:local", "at": told[7]["at"]}


def test_no_words_of_the_memory_are_repeated(memory, home):
    secret = drawn(20)
    about = f"person-{secret.lower()}"
    memory.remember(f"a {secret}", key=f"k-{secret}", about=about, tags=[secret], evidence=[secret])
    memory.observe(f"b {secret}", id=f"e-{secret}", session=secret, agent=secret, metadata={"n": secret})
    memory.revise(f"k-{secret}", f"c {secret}", reason=secret)
    memory.outcome([f"k-{secret}"], 1.0, reason=secret)
    memory.pages.create(f"person-b{secret.lower()}", description=secret)
    memory.recall(secret, receipt=True, keep_question=True)
    memory.forget(f"k-{secret}", reason=secret)
    memory.receipts.flush()
    assert secret.lower() not in (memory.folder / "audit.jsonl").read_text().lower()


def test_a_refused_attempt_a_grant_with_its_marker_a_path_and_a_source_are_told_in_plain_words():
    auditor = Auditor(lambda _: None)

    def act(op, **body):
        return auditor.line(Event(1, "t", op, "01X", "cli:local", "h", body), "me")

    refused = act("review.refuse/1", user="me", kind="erase", target="b-1", review="r-1", why="stale")
    assert (refused.action, refused.outcome, refused.subject) == ("erase", "refused", ("r-1", "b-1"))
    granted = act("review.grant/1", review="r-1", user="me", marker="m-1", digest="d", expires="t")
    assert (granted.action, granted.outcome, granted.subject) == ("approve", "applied", ("r-1",))
    done = auditor.line(Event(2, "t2", "belief.tombstone/1", "01Y", "mcp:x", "h", {"id": "b", "approved": "r-1"}), "me")
    assert done.approval == {"review": "r-1", "by": "cli:local", "at": "t", "marker": "m-1"}
    assert act("path.merge/1", user="me", path="p", into="main").subject == ("p", "main")
    assert act("trust.set/1", user="me", source="web:x", trust="none").subject == ("web:x",)
    assert act("graph.put/1", user="me", nodes=[{"id": "person-ana"}]).subject == ("01X",)
    assert act("later.thing/7", words="some").action == "later thing"
    assert act("snapshot/1", seq=1) is None


def test_one_user_reads_nothing_of_another_and_the_file_names_all(memory, home):
    memory.remember("Ana drinks tea", user="ana")
    mine = memory.remember("I drink coffee")
    with Memory(memory.folder, user="ana") as anas:
        assert [act.user for act in anas.audit()] == ["", "ana"]
    assert [act.subject for act in memory.audit() if act.action == "remember"] == [(mine.id,)]
    assert [line["user"] for line in lines(memory)] == ["", "ana", "me"]


def test_it_can_be_followed(memory, home):
    followed = memory.audit(1, follow=True, pause=0.01)
    with Memory(memory.folder) as other:
        other.remember("one")
        assert next(followed).action == "remember"
        other.observe("two")
        assert next(followed).action == "observe"


# -- the file ----------------------------------------------------------------------------------------------------------


def test_the_file_says_what_the_ledger_says_after_each_write(memory):
    for number in range(3):
        memory.remember(f"thing {number}")
        assert lines(memory) == of_the_ledger(memory)
    with memory.batch():
        memory.remember("a")
        memory.observe("b")
    assert lines(memory) == of_the_ledger(memory)
    assert stat.S_IMODE((memory.folder / "audit.jsonl").stat().st_mode) == 0o600
    assert check(memory.folder) == []


@pytest.fixture
def begun(monkeypatch) -> list[int]:
    """Where each reading of the ledger began that the file was caught up by."""
    catch_up, found = AuditFile._catch_up, []
    monkeypatch.setattr(AuditFile, "_catch_up", lambda *given: found.append(given[2]) or catch_up(*given))
    return found


def test_what_another_program_wrote_is_told_too_and_nothing_twice_or_from_the_beginning(memory, begun):
    memory.remember("one")
    begun.clear()
    with Memory(by="mcp:x") as other:
        other.remember("two")
        memory.remember("three")
        other.remember("four")
        memory.remember("five")
    assert lines(memory) == of_the_ledger(memory)
    assert [line["by"] for line in lines(memory)].count("mcp:x") == 2
    assert (len(begun), min(begun)) == (4, 1)


def test_one_who_comes_late_begins_where_the_other_ended(memory, begun):
    memory.remember("one")
    memory._folder.ledger._then = None
    events = memory._folder.ledger.append([Draft("config.set/1", {"key": "a", "value": "b"})])
    with Memory() as other:
        other.remember("two")
    begun.clear()
    memory._services.audit_file.follow(events)
    assert begun == [3]
    assert lines(memory) == of_the_ledger(memory)


def _write(folder, number):
    with Memory(folder, by=f"mcp:{number}") as memory:
        for each in range(15):
            memory.remember(f"thing {number} {each}")


def test_programs_that_write_at_once_leave_each_act_once_and_in_order(memory, home):
    memory.close()
    at_once(*(partial(_write, memory.folder, number) for number in range(3)))
    with Memory(memory.folder) as memory:
        memory.remember("the last")
        assert lines(memory) == of_the_ledger(memory)
        assert len(lines(memory)) == 47


DAMAGES = {
    **{str(torn): lambda whole, torn=torn: whole + torn
       for torn in (b'{"act', b"\x00" * 700, b"nonsense", b'{"action":"remember"}')},
    "gone": lambda whole: None, "empty": lambda whole: b"", "no json": lambda whole: b"x\n" * 9,
    "behind": lambda whole: b"".join(whole.splitlines(keepends=True)[:2]),
    "another ledger's": lambda whole: whole.replace(json.loads(whole.splitlines()[-1])["hash"].encode(), b"0" * 64),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_torn_missing_damaged_or_behind_is_set_right_by_the_next_write(memory, file, damage):
    for number in range(5):
        memory.remember(f"thing {number}")
    left = DAMAGES[damage](file.read_bytes())
    file.unlink() if left is None else file.write_bytes(left)
    memory.remember("one more")
    assert lines(memory) == of_the_ledger(memory)


@settings(max_examples=15, deadline=None)
@given(cut=st.integers(0, 3000))
def test_cut_anywhere_it_is_whole_again_after_the_next_write(tmp_path_factory, cut):
    with Memory(tmp_path_factory.mktemp("m") / "m") as memory:
        for number in range(6):
            memory.remember(f"thing {number}")
        whole = (memory.folder / "audit.jsonl").read_bytes()
        os.truncate(memory.folder / "audit.jsonl", min(cut, len(whole)))
        memory.remember("one more")
        assert lines(memory) == of_the_ledger(memory)


def test_rebuilding_gives_the_same_bytes(memory, file):
    memory.remember("one", key="k")
    memory.revise("k", "two")
    memory.observe("three")
    memory.forget("k")
    with memory.batch():
        memory.remember("four")
    before = file.read_bytes()
    file.write_bytes(before.replace(b"applied", b"refused"))
    memory.rebuild_index()
    assert file.read_bytes() == before


def test_an_erasure_leaves_the_ids_and_who_erased_them(memory):
    belief = memory.remember("Ana drinks tea")
    memory.erase(belief.id)
    said, erased, done = lines(memory)[1:4]
    assert (said["action"], said["subject"]) == ("remember", [belief.id])
    assert (erased["action"], erased["subject"], done["action"]) == ("erase", [belief.id], "finish erasing")
    assert check(memory.folder) == []


def test_after_a_restore_it_tells_what_the_ledger_tells(memory, home):
    memory.remember("one")
    copy = memory.backup()
    memory.remember("two")
    memory.close()
    with Memory.restore(copy, memory.folder) as back:
        back.remember("three")
        assert lines(back) == of_the_ledger(back)
        assert [line["action"] for line in lines(back)].count("restore") == 1


@pytest.mark.parametrize("is_last", [True, False])
def test_after_pruning_what_was_told_stays_told_also_where_the_last_line_is_not_of_the_last_event(
    memory, home, is_last
):
    memory.remember("one")
    if not is_last:
        memory._folder.ledger.append([Draft("receipt.put/1", {"receipts": []})])
    memory.ledger.compact()
    memory.ledger.prune(home / "away")
    if not is_last:
        memory.close()
    with Memory() as again:
        (memory if is_last else again).remember("two")
        assert [line["action"] for line in lines(again)] == ["begin", "remember", "compact", "prune", "remember"]
    assert check(memory.folder)[0].code == "segment-pruned"


@pytest.mark.parametrize("is_imported", [False, True])
def test_pages_that_are_made_again_after_a_prune_are_as_old_as_they_were_and_nobody_changed_them(
    memory, home, clock, is_imported
):
    if is_imported:
        with Memory(home / "other") as other:
            other.remember("zero")
            other.export(home / "other.ndjson")
        memory.import_export(home / "other.ndjson", mine=True)
    memory.remember("one")
    clock.now += timedelta(seconds=3)
    memory.ledger.compact()
    memory.ledger.prune(home / "away")
    memory.rebuild_index()
    memory.remember("two")

    assert [line["action"] for line in lines(memory)] == ["compact", "prune", "remember"]


def test_a_line_may_be_very_long(memory, file, monkeypatch):
    monkeypatch.setattr(audit, "_TAIL", 256)
    with memory.batch():
        names = [memory.remember(f"thing {number}").id for number in range(40)]
    memory.erase(*names)
    first = file.read_bytes()
    os.truncate(file, first.rfind(b"\n", 0, -1) + 1)  # the long one stands last
    file.write_bytes(file.read_bytes().replace(b"remember", b"x"))
    memory.remember("one more")
    assert file.read_bytes().count(b'"action":"x"') == 40  # it was not made anew


def test_it_is_off_if_tallystick_toml_says_so(home):
    (home / "m").mkdir()
    (home / "m" / "tallystick.toml").write_text("[audit]\nfollow = false\n")
    with Memory(home / "m") as memory:
        memory.remember("one")
        assert not (home / "m" / "audit.jsonl").exists()
        assert [act.action for act in memory.audit()] == ["begin", "remember"]


def test_no_write_waits_long_or_fails_because_of_it_and_a_reader_makes_no_file(memory, file):
    memory.remember("one")
    with open(file) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        memory.remember("two")
        assert len(lines(memory)) == 2
    memory.remember("three")
    assert lines(memory) == of_the_ledger(memory)
    file.unlink()
    with Memory(read_only=True) as reader:
        assert len(list(reader.audit())) == 4
    assert not file.exists()


def test_a_place_that_cannot_be_written_is_told_once_and_the_write_stands(home):
    told = []
    Memory(home / "m").close()
    (home / "m" / "audit.jsonl").unlink(missing_ok=True)
    (home / "m" / "audit.jsonl").mkdir()
    with Memory(home / "m", notify=told.append) as memory:
        memory.remember("one")
        memory.remember("two")
        assert len(memory.beliefs) == 2
    [why] = [each for each in told if "audit.jsonl" in each]
    assert "Is a directory" in why
    assert "`tallystick rebuild-index`" in why


# -- check -------------------------------------------------------------------------------------------------------------


def test_check_notices_a_line_that_the_ledger_does_not_give_or_gives_elsewhere_once(memory, file):
    memory.remember("one")
    memory.remember("two")
    whole = first, second, third = file.read_bytes().splitlines(keepends=True)
    for old, new in ((b"remember", b"forget"), (b"applied", b"refused"), (b"python:local", b"python:x"), (b"{", b"")):
        file.write_bytes(first + second.replace(old, new) + third)
        (finding,) = check(memory.folder)
        assert (finding.code, finding.severity, finding.place) == ("audit-differs", "note", "audit.jsonl, line 2")
        assert finding.remedy == "tallystick rebuild-index"
    for order in ((0, 2), (0, 2, 1), (0, 1, 1, 2)):
        file.write_bytes(b"".join(whole[number] for number in order))
        assert [finding.code for finding in check(memory.folder)] == ["audit-differs"]


def test_odd_names_can_begin_no_line_and_hide_nothing(memory, file):
    for user in ("a\nb", "\u202eana", "\x7f\x1b[31m", "ü"):
        memory.remember("thing", user=user)
    raw = file.read_bytes()
    assert raw.isascii()
    assert not set(raw) & {0x1B, 0x7F}
    assert [line["user"] for line in lines(memory)][1:] == ["a\nb", "\u202eana", "\x7f\x1b[31m", "ü"]


def test_events_that_do_not_act_leave_no_line_and_cost_no_rereading(memory, monkeypatch):
    memory.remember("one")
    memory._folder.ledger.append([Draft("receipt.put/1", {"receipts": []})])
    memory.remember("two")
    monkeypatch.setattr(AuditFile, "_catch_up", lambda *_: pytest.fail("it was read again"))
    memory.remember("three")
    assert len(list(islice(memory.audit(), 10))) == 4
