"""A proof convinces someone who has a checkpoint and a key, and nobody who was given another line, place or ledger."""

import json
import subprocess
import sys

import pytest

from tallystick.ledger import format as fmt, proof as prove
from tallystick.ledger.checkpoint import take
from tallystick.ledger.signed_note import Checkpoint, InclusionNote, Signer, Verifier
from tallystick.records.errors import NotFound, Refused
from tests.ledger.books import put
from tests.ledger.forge import keyring, opened
from tests.refusals import refuses


@pytest.fixture
def folder(tmp_path):
    """An open ledger of two stretches, its notes as it grew, and the key to check them."""
    ring = keyring(tmp_path)
    with opened(tmp_path / "memory") as ledger:
        notes = []
        for number in range(9):
            ledger.append([put(f"n{number}", "secret words")])
            notes.append(take(ledger, ledger.folder.root, ring))
            if number == 4:
                ledger.compact()
        yield ledger, notes, ring.verifier(ledger.standing.ledger)


def test_every_event_can_be_proved_against_every_later_checkpoint(folder):
    ledger, notes, key = folder
    chain = {line.seq: line for line in ledger.chain().lines()}
    for note in notes:
        signed = key.open(note)
        for seq in range(signed.size):
            text, line = prove.inclusion(ledger, seq, note, key), chain[seq]
            proof, found = InclusionNote.parse(text), prove.check_inclusion(text, key)
            assert (proof.index, proof.line, proof.text()) == (seq, line.slice, text)
            assert {name: getattr(line, name) for name in ("seq", "ts", "op", "id", "by", "prev", "hash")}.items() <= (
                found["event"].items()
            )
            assert (found["size"], found["root"], found["head"]) == (signed.size, signed.root.hex(), signed.head)


def test_an_event_younger_than_the_checkpoint_is_not_proved(folder):
    ledger, notes, key = folder
    size = key.open(notes[3]).size

    for seq in (size, size + 1, -1, 10**9):
        with pytest.raises(NotFound):
            prove.inclusion(ledger, seq, notes[3], key)


def test_it_is_checked_with_nothing_but_the_text_and_the_key(folder, tmp_path):
    ledger, notes, key = folder
    (tmp_path / "proof").write_text(prove.inclusion(ledger, 3, notes[-1], key))
    code = (
        "import sys, json; from pathlib import Path; from tallystick.ledger.signed_note import Verifier;"
        "from tallystick.ledger import proof as prove;"
        "print(json.dumps(prove.check_inclusion(Path(sys.argv[1]).read_text(), Verifier(sys.argv[2]))))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "proof"), key.key]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=True)

    assert json.loads(done.stdout)["event"]["seq"] == 3


def test_a_proof_that_was_meddled_with_proves_nothing(folder):
    ledger, notes, key = folder
    text = prove.inclusion(ledger, 3, notes[-1], key)
    proof = InclusionNote.parse(text)
    other = InclusionNote.parse(prove.inclusion(ledger, 4, notes[-1], key))
    stranger = Verifier(Signer.generate(key.name).verifier_key)
    meddled = [
        InclusionNote(4, proof.proof, proof.note, proof.line),
        InclusionNote(99, proof.proof, proof.note, proof.line),
        InclusionNote(3, other.proof, proof.note, proof.line),
        InclusionNote(3, proof.proof[:-1], proof.note, proof.line),
        InclusionNote(3, (*proof.proof, bytes(32)), proof.note, proof.line),
        InclusionNote(3, proof.proof, proof.note, other.line),
        InclusionNote(3, proof.proof, proof.note, proof.line.replace(b'"seq":3', b'"seq":4')),
        InclusionNote(3, proof.proof, notes[0], proof.line),
        InclusionNote(3, proof.proof, notes[-2], proof.line),
    ]

    assert prove.check_inclusion(text, key)
    for each in [*(note.text() for note in meddled), "", "c2sp.org/tlog-proof@v1", "old 1\nA==\n\n"]:
        with refuses("proof"):
            prove.check_inclusion(each, key)
    with refuses("proof", "no signature", "+".join(stranger.key.split("+")[:2])):
        prove.check_inclusion(text, stranger)


def test_a_leaf_that_is_no_event_or_stands_elsewhere_proves_nothing():
    signer = Signer("tallystick/" + "ab" * 16, bytes(32))
    key = Verifier(signer.verifier_key)
    head = fmt.encode(7, "2026-01-02T03:04:05.000000Z", "tally.put/1", "0" * 26, "a:b", 7, 0, fmt.ZERO, b"{}")[1]
    for line, why in ((b"anything", "not the header"), (head, "not its place"), (head + b' ', "not the header")):
        root = prove.merkle.leaf_hash(line)
        note = signer.sign(Checkpoint(signer.name, 1, root, fmt.ZERO))
        with pytest.raises(Refused, match=why):
            prove.check_inclusion(InclusionNote(0, (), note, line).text(), key)


def test_a_checkpoint_of_another_ledger_under_the_same_key_proves_nothing(folder):
    ledger, notes, key = folder
    signed, ring = key.open(notes[-1]), keyring(ledger.folder.root.parent)
    signer = ring.signer(ledger.standing.ledger)
    false = signer.sign(Checkpoint("tallystick/" + "cd" * 16, signed.size, signed.root, signed.head))

    with refuses("proof", "tallystick/" + "cd" * 16, f"tallystick/{ledger.standing.ledger}"):
        prove.inclusion(ledger, 3, false, key)
    proof = InclusionNote.parse(prove.inclusion(ledger, 3, notes[-1], key))
    with refuses("proof", "tallystick/" + "cd" * 16, f"tallystick/{ledger.standing.ledger}"):
        prove.check_inclusion(InclusionNote(3, proof.proof, false, proof.line).text(), key)
