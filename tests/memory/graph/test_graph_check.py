"""The graph's rows grow back whatever becomes of their file, nothing is left of erased words, and many may use it."""

import multiprocessing
import shutil
import sqlite3
from functools import partial

import pytest

from tallystick import Memory
from tallystick.ledger.folder.layout import Folder
from tallystick.memory.core.gate import WriteGate
from tallystick.records.errors import Missing, NotFound, NotWritable
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.nodes import Provenance
from tallystick.repair.files import foreign
from tests.memory.conftest import run_all
from tests.memory.graph.test_graph import NOON, arrows, edge, full, ids, node, seqs, tell
from tests.refusals import refuses

WORD = "Zugspitzenrundweg"


def files_with(memory, word=WORD):
    """The files of the folder that have the word in them, in any case and as JSON or SQLite would write it."""
    found = [path for path in memory.folder.rglob("*") if path.is_file()]
    spellings = {each.encode() for each in (word, word.lower(), word.upper(), word.casefold())}
    return sorted(path.name for path in found if any(each in path.read_bytes() for each in spellings))


# -- the file --------------------------------------------------------------------------------------------------------


def run_sql(path, *statements):
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)


SPOILED = {
    "gone": lambda path: path.unlink(),
    "garbage": lambda path: path.write_bytes(b"garbage " * 4000),
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "shape": lambda path: run_sql(path, "UPDATE positions SET shape = shape - 1 WHERE name ="
    " 'graph'", "UPDATE graph_nodes SET line = x'00'"),
    "tables": lambda path: run_sql(path, "DROP TABLE graph_nodes"),
    "others": lambda path: path.unlink() or run_sql(path, "CREATE TABLE bookmark (seq, hash, shape)"),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_file_that_is_missing_or_damaged_grows_back(memory, how):
    full(memory)
    before = memory.graph.export_envelope()
    memory.close()
    for left in memory.folder.glob("state.db-*"):
        left.unlink()
    SPOILED[how](memory.folder / "state.db")
    with Memory(memory.folder) as again:
        assert again.graph.export_envelope() == before
        again.graph.save_node(node("more"))
        assert "more" in ids(again.graph.list_nodes())


def test_a_file_that_goes_while_it_is_open_grows_back_and_writes_go_on(memory):
    full(memory)
    before = memory.graph.export_envelope()
    (memory.folder / "state.db").unlink()
    memory.remember("x", about="topic-x")
    memory.forget(memory.beliefs.all()[-1].id)

    assert [each for each in memory.graph.export_envelope().nodes if each.id != "topic-x"] == list(before.nodes)


def test_an_old_copy_of_the_file_reads_on_and_one_of_another_ledger_is_made_anew(memory, tmp_path):
    tell(memory)
    memory.graph.list_nodes()
    memory.close()
    shutil.copy(memory.folder / "state.db", tmp_path / "old.db")
    with Memory(memory.folder) as again:
        again.graph.save_node(node("more"))
        expected = again.graph.export_envelope()
    with Memory(tmp_path / "other") as other:
        for number in range(9):
            other.remember(f"{number}", about="topic-secret")
        other.graph.list_nodes()
    for source in (tmp_path / "old.db", tmp_path / "other" / "state.db"):
        for left in memory.folder.glob("state.db-*"):
            left.unlink()
        shutil.copy(source, memory.folder / "state.db")
        with Memory(memory.folder) as again:
            assert again.graph.export_envelope() == expected


def test_rebuild_index_makes_the_graph_anew_and_a_backup_leaves_it_out(memory):
    full(memory)
    before = memory.graph.export_envelope()
    assert list(foreign(Folder(memory.folder))) == []
    run_sql(memory.folder / "state.db", "DELETE FROM graph_edges")
    memory.rebuild_index()
    assert memory.graph.export_envelope() == before
    copy = memory.backup()

    assert not list(copy.glob("state.db*"))
    with Memory(copy, read_only=True) as restored:
        assert restored.graph.export_envelope() == before


def test_a_memory_that_may_only_be_read_has_its_graph_without_a_file(memory):
    full(memory)
    before = memory.graph.export_envelope()
    memory.close()
    for left in memory.folder.glob("state.db*"):
        left.unlink()
    with Memory(memory.folder, read_only=True) as reader:
        assert reader.graph.export_envelope() == before
        with pytest.raises(NotWritable, match=str(memory.folder)):
            reader.graph.save_node(node("more"))

    assert not (memory.folder / "state.db").exists()


# -- where the first events were moved away --------------------------------------------------------------------------


def test_where_events_were_moved_away_beliefs_still_tell_and_saved_records_are_asked_for(memory, tmp_path):
    tell(memory)
    memory.ledger.compact()
    memory.ledger.prune(tmp_path / "away")
    memory.graph.save_node(node("n1"))
    assert ids(memory.graph.list_nodes()) == ["n1", "oslo", "person-ana", "person-bob"]
    assert arrows(memory) == ["person-ana -knows-> person-bob", "person-ana -lives_in-> oslo"]

    memory.ledger.compact()
    [moved] = memory.ledger.prune(tmp_path / "further")
    assert "n1" in ids(memory.graph.list_nodes())
    memory.close()
    (memory.folder / "state.db").unlink()
    with Memory(memory.folder) as again, pytest.raises(Missing, match=r"\b8\b.*\b9\b.*sealed/"):
        again.graph.list_nodes()
    shutil.move(moved, memory.folder / "sealed" / moved.name)
    with Memory(memory.folder) as again:
        assert ids(again.graph.list_nodes()) == ["n1", "oslo", "person-ana", "person-bob"]


def test_a_snapshot_knows_how_far_the_graph_has_come(memory):
    memory.graph.save_node(node("a"))
    for number in range(80):
        memory.remember(f"thing {number}", about=f"topic-{number}")
    memory.close()
    with Memory(memory.folder) as again:
        assert again._folder.state.graph.last("me") == again._folder.state.graph.first() > 0
        again.graph.save_node(node("b"))
        assert ids(again.graph.list_nodes("person")) == ["a", "b"]


# -- erasing ---------------------------------------------------------------------------------------------------------


def test_nothing_is_left_of_the_words_of_an_erased_belief(memory):
    memory.graph.list_nodes()
    memory.remember(WORD, key="walk", triple=(WORD, "is", f"long {WORD}"))
    memory.remember(f"Ana likes {WORD}", key="likes", about="person-ana", triple=("Ana", "likes", WORD))
    memory.graph.save_node(node("x", label="Hike"))
    thing = WORD.casefold()
    memory.graph.merge(thing, "x")
    memory.graph.merge(thing, "x", sure=True)
    assert "state.db" in " ".join(files_with(memory))
    memory.erase("walk", "likes")

    assert files_with(memory) == []
    assert ids(memory.graph.list_nodes()) == ["x"]
    assert files_with(memory) == []
    with Memory(memory.folder) as again:
        assert again.reviews.all() == []


def test_a_record_that_names_an_erased_belief_goes_with_it_and_its_neighbours_stay(memory):
    belief = memory.remember("x", key="x", about="person-ana")
    memory.graph.save_nodes([
        node("a", label=WORD, provenance=Provenance(sources=(belief.id,))), node("b", label="Other"),
        node("c", label=WORD * 20_000, provenance=Provenance(sources=("elsewhere", belief.id))),
    ])  # fmt: skip
    memory.graph.save_edges([edge("a", "b", label=WORD, provenance=Provenance(sources=(belief.id,))), edge("b", "c")])
    memory.erase("x")

    assert files_with(memory) == []
    assert ids(memory.graph.list_nodes()) == ["b"]
    assert ids(memory.graph.list_edges()) == ["b-knows-c"]


def test_what_was_saved_can_be_erased_by_name_and_what_stood_beside_it_stays(memory):
    event = MemoryEvent(id="e1", at=NOON, kind="custom")
    given = GraphEnvelope(
        nodes=[node("a", label=WORD), node("b"), node("c"), node("long", label=WORD * 30_000)],
        edges=[edge("a", "b", WORD), edge("b", "c")], events=[event], metadata={"x": 1},
    )  # fmt: skip
    memory.graph.import_envelope(given)
    memory.graph.merge("a", "c", sure=True)
    memory.backup()
    with pytest.raises(NotFound, match="'nobody'"):
        memory.graph.erase("nobody", "a")
    assert "a" in ids(memory.graph.list_nodes(merged=True))
    assert memory.graph.erase("a", "long") > 0

    assert files_with(memory) == []
    assert ids(memory.graph.list_nodes(merged=True)) == ["b", "c"]
    assert ids(memory.graph.list_edges()) == ["b-knows-c"]
    assert (memory.graph.list_events(), memory.graph.export_envelope().metadata) == ([event], {"x": 1})
    assert memory.ledger.verify().ok


def test_what_beliefs_say_is_not_erased_by_its_node(memory):
    tell(memory)
    with pytest.raises(NotFound, match="'person-ana'"):
        memory.graph.erase("person-ana")

    assert "person-ana" in ids(memory.graph.list_nodes())


def test_another_who_has_the_graph_open_sees_nothing_of_what_was_erased(memory):
    tell(memory)
    with Memory(memory.folder) as other:
        assert "person-bob" in ids(other.graph.list_nodes())
        memory.erase("tea", "knows")

        assert ids(other.graph.list_nodes()) == ["oslo", "person-ana"]


# -- many at once ----------------------------------------------------------------------------------------------------


def test_two_who_have_it_open_see_what_the_other_saved(memory):
    with Memory(memory.folder) as other:
        for number in range(5):
            memory.graph.save_node(node(f"a{number}"))
            other.graph.save_node(node(f"b{number}"))
            assert ids(memory.graph.list_nodes()) == ids(other.graph.list_nodes())

    assert len(memory.graph.list_nodes()) == 10


def test_who_decided_on_what_was_known_before_another_wrote_decides_again(memory, monkeypatch):
    with Memory(memory.folder) as other:
        memory.graph.save_nodes([node("a"), node("b"), node("c")])
        act_on = WriteGate.act_on

        def late(gate, *given, **how):
            monkeypatch.undo()
            other.graph.merge("b", "c", sure=True)
            return act_on(gate, *given, **how)

        monkeypatch.setattr(WriteGate, "act_on", late)
        with refuses("state", "'c'"):
            memory.graph.merge("b", "a", sure=True)

        assert other.graph.resolve("b").id == "c"


def _save(folder, name, count):
    with Memory(folder) as memory:
        for number in range(count):
            memory.graph.save_nodes([node(f"{name}{number}"), node("shared", label=f"{name}{number}")])
            memory.remember(f"{name} {number}", about=f"topic-{name}", triple=(name, "is", "shared"))


def test_processes_that_write_at_once_lose_nothing(memory):
    memory.close()
    ways = multiprocessing.get_context("fork")
    at_work = [ways.Process(target=_save, args=(memory.folder, name, 8)) for name in ("p", "q")]
    for each in at_work:
        each.start()
    for each in at_work:
        each.join(60)
        assert each.exitcode == 0
    with Memory(memory.folder) as again:
        followed = again.graph.export_envelope()
        assert len(again.graph.list_nodes("person")) == 17
        again.rebuild_index()
        assert again.graph.export_envelope() == followed


@pytest.mark.parametrize("durability", ["full", "group"])
def test_threads_that_write_at_once_lose_nothing(home, durability):
    with Memory(durability=durability) as memory:

        def work(name):
            for number in range(5):
                memory.graph.save_node(node(f"{name}{number}"))
                memory.remember(f"{name} {number}", about=f"topic-{name}")

        assert run_all(*(partial(work, name) for name in "abcd")) == []
        assert len(memory.graph.list_nodes("person")) == 20
        assert len(memory.graph.list_nodes("topic")) == 4
        assert len(seqs(memory)) == 20


def test_hostile_words_come_back_as_they_were_told(memory):
    deep = current = []
    for _ in range(27):
        current.append([])
        current = current[0]
    words = ["", " ", "\x00", "\u202e", "\u200b", "🎉", "x" * 1_000_000, "'; DROP TABLE graph_nodes;"
        " --", '"}', "{" * 40]
    for number, word in enumerate(words):
        said = word[:100_000]
        memory.remember(f"{number} {said}", about=said, triple=(said, said, said) if said.strip() else ())
        memory.graph.save_node(node(f"n{number}", label=word, aliases=(word,), properties={"w": word, "deep": deep}))
    before = memory.graph.export_envelope()
    memory.rebuild_index()

    assert memory.graph.export_envelope() == before
    assert memory.graph.load_node("n0").properties["deep"] == deep
    assert {memory.graph.load_node(f"n{number}").label for number in range(len(words))} == set(words)
    assert memory.graph.resolve("🎉").id in ("🎉", "n5")
