"""A checkpoint says what the ledger was, the pin remembers it, and nothing is signed that has forgotten it."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from tallystick.ledger import checkpoint
from tallystick.ledger.checkpoint import Keyring, origin, take
from tallystick.ledger.lock import Witness
from tallystick.ledger.signed_note import Checkpoint
from tallystick.records.errors import Damaged, NotFound, RolledBack
from tallystick.repair.verify import checkpoints_of
from tests.crash.folder import fill
from tests.ledger.books import put
from tests.ledger.forge import copy_of, keyring, lines, opened, rewrite
from tests.refusals import refuses


@pytest.fixture
def root(tmp_path):
    fill(tmp_path / "memory", 5)
    return tmp_path / "memory"


@pytest.fixture
def ring(tmp_path):
    return keyring(tmp_path)


def taken(root, ring):
    """Take a checkpoint; return the id of the ledger."""
    with opened(root) as ledger:
        take(ledger, root, ring)
        return ledger.standing.ledger


# Keys


def test_a_key_is_made_on_first_use_and_stays_and_only_its_owner_can_read_it(ring, root, tmp_path):
    with opened(root) as ledger:
        name = ledger.standing.ledger

    assert ring.verifier(name) is None
    first = ring.signer(name)
    assert ring.signer(name) == first
    assert first.name == origin(name) == f"tallystick/{name}"
    assert ring.verifier(name).key == first.verifier_key
    [path] = (tmp_path / "keys").glob("*.key")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    path.write_text("nonsense")
    with pytest.raises(Damaged, match=rf"{name}\.key"):
        ring.signer(name)


def test_what_several_do_at_once_with_a_keyring_is_one_key_and_all_erasures(ring):
    name = "ab" * 16
    with ThreadPoolExecutor(8) as pool:
        keys = {signer.verifier_key for signer in pool.map(lambda _: ring.signer(name), range(32))}
        list(pool.map(lambda number: ring.add_erased(name, [f"line-{number}", "line-0"]), range(32)))

    assert len(keys) == 1
    assert ring.erased(name) == {f"line-{number}" for number in range(32)}


@pytest.mark.parametrize("name", ["", "../../etc/x", "a" * 31, "A" * 32, "ab" * 16 + "\n", "ab" * 17, ".", "a/b", "\0"])
def test_a_folder_cannot_choose_which_files_outside_it_are_touched(ring, tmp_path, name):
    for touch in (ring.signer, ring.pin_path, ring.erased, lambda name: ring.add_erased(name, ["x"])):
        with refuses("name", repr(name), "events.wal"):
            touch(name)
    assert ring.verifier(name) is None
    assert ring.pin(name) is None
    assert [path.name for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"] == []


# Taking


def test_a_checkpoint_says_size_head_and_root_and_is_kept_twice(root, ring):
    assert checkpoints_of(root, ring) == []
    with opened(root) as ledger:
        note = take(ledger, root, ring)
        assert take(ledger, root, ring) == note
        name, end, tree = ledger.standing.ledger, ledger.head, ledger.tree().root()

    signed = ring.verifier(name).open(note)
    assert (signed.origin, signed.size, signed.head, signed.root) == (origin(name), end.seq + 1, end.hash, tree)
    assert (root / "checkpoint").read_text() == note
    assert ring.pin_path(name).read_text() == note
    assert ring.pin(name) == signed
    assert not ring.pin_path(name).is_relative_to(root)
    pin, inside = checkpoints_of(root, ring)
    seen = Witness(end.seq, end.hash, name="the pin outside the folder")
    assert pin[:6] == (seen, tree, True, "", name, ring.pin_path(name))
    beside = seen._replace(name="the checkpoint in the folder")
    assert inside[:6] == (beside, tree, False, "", name, root / "checkpoint")
    assert ring.pin(name) == signed
    assert checkpoint.witnesses(root, name, ring) == [seen]


def test_the_root_is_the_same_where_the_first_lines_were_moved_away(root, ring):
    with opened(root) as ledger:
        ledger.compact()
        ledger.append([put("later")])
        ledger.prune(root.parent / "away")
        note = take(ledger, root, ring)
    with opened(root) as ledger:
        assert take(ledger, root, ring) == note


def test_it_covers_what_another_wrote_meanwhile(root, ring):
    with opened(root) as ledger:
        with opened(root) as other:
            other.append([put("by another")])
            end = other.head
        assert ring.verifier(ledger.standing.ledger) is None
        take(ledger, root, ring)

        assert ring.pin(ledger.standing.ledger).head == end.hash


def test_a_ledger_cut_short_is_not_signed_unless_that_is_intended(root, ring):
    old = copy_of(root, root.parent / "old")
    with opened(root) as ledger:
        ledger.append([put("acknowledged")])
        take(ledger, root, ring)
        pinned = ring.pin(ledger.standing.ledger)

    with opened(old) as ledger:
        with pytest.raises(RolledBack, match="event 5"):
            take(ledger, root, ring)
        assert not (old / "checkpoint").exists()
        assert ring.pin(ledger.standing.ledger) == pinned
        take(ledger, root, ring, repin=True)
        assert ring.pin(ledger.standing.ledger).size == 6


def test_a_ledger_rewritten_is_not_signed(root, ring):
    taken(root, ring)
    rewrite(root, lambda line, body: body | {"words": "forged"} if line.seq == 2 else body)
    (root / "lock").unlink()

    with opened(root) as ledger:
        ledger.append([put("after the forgery")])
        with pytest.raises(RolledBack, match="event 5"):
            take(ledger, root, ring)


def test_a_damaged_ledger_is_not_signed(root, ring):
    wal = root / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b'"words"', b'"wards"', 1))

    with opened(root) as ledger, pytest.raises(Damaged):
        take(ledger, root, ring)
    assert not (root / "checkpoint").exists()


def test_a_ledger_that_may_only_be_read_is_pinned(root, ring):
    with opened(root, read_only=True) as ledger:
        take(ledger, root, ring)
        assert ring.pin(ledger.standing.ledger).size == 6
    assert not (root / "checkpoint").exists()


# The pin


def test_the_pin_never_goes_back(root, ring):
    with opened(root) as ledger:
        old = take(ledger, root, ring)
        ledger.append([put("more")])
        new = take(ledger, root, ring)
        name = ledger.standing.ledger
    ring.set_pin(name, old, root)

    assert ring.pin_path(name).read_text() == new
    ring.set_pin(name, old, root, repin=True)
    assert ring.pin_path(name).read_text() == old


def test_a_pin_that_was_tampered_with_is_said_to_be(root, ring):
    with opened(root) as ledger:
        note = take(ledger, root, ring)
        path = ring.pin_path(ledger.standing.ledger)
        for content in (note.replace("\n6\n", "\n5\n").encode(), b"", b"\xff", note.encode()[:-10]):
            path.write_bytes(content)
            with pytest.raises(Damaged, match=f"{path} .*trusted"):
                ring.pin(ledger.standing.ledger)
            [seen, _] = checkpoints_of(root, ring)
            assert (seen.root, seen.witness.seq, seen.outside) == (None, -1, True)
            assert "cannot be trusted" in seen.doubt


def test_a_note_about_another_ledger_is_not_believed_whoever_signed_it(root, ring):
    name = taken(root, ring)
    said = ring.pin(name)
    other = Checkpoint(origin("cd" * 16), said.size, said.root, said.head)
    ring.pin_path(name).write_text(ring.signer(name).sign(other))

    with pytest.raises(Damaged, match=f"{ring.pin_path(name)} .*{other.origin}"):
        ring.pin(name)


def test_a_ledger_opened_with_its_pin_notices_that_it_was_cut(root, ring):
    taken(root, ring)
    wal = root / "events.wal"
    wal.write_bytes(b"".join(lines(wal)[:-1]))
    (root / "lock").unlink()

    with opened(root) as unaware:
        assert unaware.trouble is None
    (root / "lock").unlink()
    with opened(root, pins=lambda name: checkpoint.witnesses(root, name, ring)) as aware:
        assert isinstance(aware.trouble, RolledBack)


def test_another_ledger_in_its_place_is_noticed(root, ring, tmp_path):
    name = taken(root, ring)
    fill(tmp_path / "other", 20)
    (root / "events.wal").write_bytes((tmp_path / "other" / "events.wal").read_bytes())
    for left in ("lock", "checkpoint"):
        (root / left).unlink()

    assert ring.ledger_at(root) == name
    [seen] = checkpoints_of(root, ring)
    assert seen.ledger == name
    with opened(root, pins=lambda here: checkpoint.witnesses(root, here, ring)) as ledger:
        assert isinstance(ledger.trouble, RolledBack)


def test_without_the_key_nothing_is_believed(root, ring, tmp_path):
    name = taken(root, ring)
    elsewhere = Keyring(keys=tmp_path / "none", pins=tmp_path / "none")

    assert checkpoints_of(root, elsewhere) == []
    with pytest.raises(NotFound, match="--key"):
        checkpoint.verifier_of(name, elsewhere)
    assert not (tmp_path / "none").exists()


def test_a_folder_whose_ledger_cannot_be_named_is_looked_at_all_the_same(root, ring):
    taken(root, ring)
    (root / "events.wal").write_bytes(b"nonsense\n")

    assert [seen.witness.name for seen in checkpoints_of(root, ring)] == ["the pin outside the folder"]
