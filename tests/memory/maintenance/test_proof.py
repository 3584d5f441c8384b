"""A proof without signing: what it leads to, what it is worth, and what it never writes."""

from dataclasses import replace
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.ledger import merkle
from tallystick.ledger.proof import Tree
from tallystick.memory.maintenance.ledger import check_proof
from tallystick.records.errors import Missing, NotFound, RolledBack, TallystickError


@pytest.fixture
def said(memory: Memory) -> Memory:
    for number in range(5):
        memory.remember(f"fact {number}")
    return memory


def files(home: Path) -> set[Path]:
    return {path for path in home.rglob("*") if path.is_file()}


def test_a_proof_leads_to_the_tree_as_it_is_signs_nothing_and_is_for_others_as_far_as_a_checkpoint_goes(said, home):
    before = files(home)
    proofs = [said.ledger.proof(seq) for seq in range(said.ledger.size)]
    assert all(proof.holds and not proof.is_signed and not proof.text for proof in proofs)
    assert {proof.size for proof in proofs} == {6}
    assert [proof.event["seq"] for proof in proofs] == [*range(6)]
    assert [event.hash for event in said.log()] == [proof.event["hash"] for proof in proofs]
    assert said.ledger.checkpoints() == []
    assert files(home) == before

    said.ledger.checkpoint()
    later = said.remember("and another")
    before = files(home)
    old, new = said.ledger.proof(2), said.ledger.proof(said.ledger.size - 1)
    assert (old.is_signed, old.holds, old.size) == (True, True, 6)
    assert check_proof(old.text, old.key)["event"] == old.event
    assert (new.is_signed, new.holds, new.size) == (False, True, 7)
    assert said.show(later.key).text == "and another"
    assert files(home) == before
    assert [(kept.outside, kept.size, kept.trouble) for kept in said.ledger.checkpoints()] == [
        (True, 6, ""), (False, 6, ""),
    ]  # fmt: skip


def test_a_proof_of_anything_else_does_not_hold(said):
    proof = said.ledger.proof(3)

    assert proof.holds
    for wrong in (
        replace(proof, line=proof.line.replace('"seq":3', '"seq":2')), replace(proof, root="0" * 64),
        replace(proof, size=3), replace(proof, steps=proof.steps[::-1]),
        replace(proof, event={**proof.event, "seq": 2}), replace(proof, steps=()),
    ):  # fmt: skip
        assert not wrong.holds


def test_an_erased_event_is_proved_and_its_words_are_in_no_part_of_the_proof(said):
    before = said.ledger.proof(3).event
    said.erase(said.log_page(before=4, limit=1).events[0].body["belief"]["id"])
    said.ledger.checkpoint()
    proof = said.ledger.proof(3)

    assert proof.holds
    assert proof.is_signed
    assert proof.event == before
    assert "fact" not in str(proof.to_dict())


def test_events_that_were_moved_away_and_those_that_never_were_are_not_proved(said, tmp_path):
    said.ledger.compact()
    assert [(each.first, each.last) for each in said.ledger.files()] == [(0, 5), (6, None)]
    with pytest.raises(NotFound):
        said.ledger.proof(10**6)
    said.ledger.prune(tmp_path / "elsewhere")
    with pytest.raises(NotFound):
        said.ledger.proof(2)
    with pytest.raises(Missing, match=r" 0 to 5 .*sealed.*ledger\.prune"):
        said.ledger.proof(6)  # it is here, and what leads from it to the root is not


def test_a_ledger_that_was_written_anew_under_a_checkpoint_proves_nothing(said):
    said.ledger.checkpoint()
    said.close()
    wal = said.folder / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b'"op":"belief.put/1"', b'"op":"belief.puu/1"', 1))
    with Memory(said.folder) as again, pytest.raises(TallystickError):
        again.ledger.proof(0)


def test_a_checkpoint_that_was_tampered_with_is_kept_with_the_reason_and_proves_nothing(said):
    said.ledger.checkpoint()
    pin = said.ledger.pin_path
    pin.write_text(pin.read_text().replace("\n6\n", "\n7\n"))
    spoiled, good = sorted(said.ledger.checkpoints(), key=lambda kept: kept.size)

    assert spoiled.outside
    assert "cannot be trusted" in spoiled.trouble
    assert not spoiled.note
    assert not good.outside
    assert good.size == 6
    assert said.ledger.proof(1).is_signed


# -- the tree ----------------------------------------------------------------------------------------------------------


class Pieces:
    """A ledger of nothing but what is hashed, which counts what is read of it."""

    def __init__(self, number: int) -> None:
        self.all, self.read = [b"line %d" % n for n in range(number)], 0

    @property
    def leaves(self) -> list[bytes]:
        return [merkle.leaf_hash(piece) for piece in self.all]

    def lines(self, *_: int) -> tuple[()]:
        return ()

    def slices(self, start: int, stop: int) -> list[bytes]:
        found = self.all[start:stop]
        self.read += len(found)
        return found


@pytest.mark.parametrize("size", [1, 2, 1023, 1024, 1025, 3 * 1024, 5000])
def test_the_way_through_the_tops_of_batches_is_the_way_through_all_leaves(size):
    ledger = Pieces(size)
    tree, root = Tree(ledger), merkle.root_of(ledger.leaves)
    for seq in {min(at, size - 1) for at in (0, 1, size // 2, size - 1, 1023, 1024)}:
        assert tree.steps(seq, size, root) == merkle.inclusion_proof(ledger.leaves, seq)


def test_a_second_proof_reads_one_batch_and_what_is_new():
    ledger = Pieces(10_000)
    tree, root = Tree(ledger), merkle.root_of(ledger.leaves)
    tree.steps(5, 10_000, root)
    first, ledger.read = ledger.read, 0
    tree.steps(7777, 10_000, root)

    assert first <= 10_000 + 1024
    assert ledger.read <= 2 * 1024


def test_a_ledger_that_took_anothers_place_is_read_anew_and_one_that_does_not_fit_is_named():
    ledger = Pieces(3000)
    tree = Tree(ledger)
    tree.steps(5, 3000, merkle.root_of(ledger.leaves))
    ledger.all = [b"other %d" % n for n in range(3000)]
    leaves, root = ledger.leaves, merkle.root_of(ledger.leaves)

    assert tree.steps(5, 3000, root) == merkle.inclusion_proof(leaves, 5)
    ledger.all[5] = b"another after all"
    for wrong in (root, b"\0" * 32):
        with pytest.raises(RolledBack):
            tree.steps(5, 3000, wrong)
    ledger.all = ledger.all[:2500]
    with pytest.raises(RolledBack):
        tree.steps(5, 3000, root)
