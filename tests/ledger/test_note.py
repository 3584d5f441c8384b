"""A checkpoint that opens was signed; whatever was meddled with does not open. Other people's notes count too."""

import subprocess
import sys
from base64 import b64decode, b64encode
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import assume, given, settings, strategies as st

from tallystick.ledger.merkle import EMPTY_ROOT, Range, inclusion_proof, leaf_hash
from tallystick.ledger.signed_note import Checkpoint, InclusionNote, NoteError, Signer, Verifier, key_id

SEED = bytes(range(32))
HEAD = "ab" * 32
CHECKPOINT = Checkpoint("tallystick.example/anna", 42, bytes(32), HEAD)
SIGNER = Signer("tallystick.example/anna", SEED)
VERIFIER = Verifier(SIGNER.verifier_key)
NOTE = SIGNER.sign(CHECKPOINT)

# The key of Go's checksum database, and one of its checkpoints with the signatures of two witnesses.
GO_KEY = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
GO_TEXT = "go.sum database tree\n15081221\nBoMMe1wd25Tco0mYGROkyqxHZWx+hcSCtMV315Lu6Lg=\n"
GO_NOTE = (
    f"{GO_TEXT}\n"
    "— sum.golang.org Az3grilD7vQqTrv66jRgKM84Y80KTprrSt4bKmiOPxgmS5ZVBTeCl6dUvjYnN13R+C8j0jGY1WnUADGMkok3U0m2Zgo=\n"
    "— test.example.com qTGhC3917mAr6hGh+T55tNjxaej/D/GQivJZRIj7XGdAcQOTqfMWIPgp/v/904LEduN/h2sSRtHUJXUL4b9Gm7Bz4Qc=\n"
    "— test.example.com "
    "/Pa7Y/dUvWMAAAAAQVwkQVi81ArPV7BIaQYrMIxyzY0m8a4BdeeBhSKd3PviPK4/3Sd+NKSc5N7PDTCfAkUSVniN+R2oKIggA4iiDQ==\n"
)

# The example of Go's note package, with its secret key.
PETER_SECRET = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETER_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER_NOTE = (
    f"{PETER_TEXT}\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)

printable = st.characters(exclude_categories=["Cs"], min_codepoint=32)
origins = st.text(printable, min_size=1, max_size=40)
names = st.text(printable, min_size=1, max_size=20).filter(lambda name: not any(c.isspace() or c == "+" for c in name))
hashes = st.binary(min_size=32, max_size=32)
checkpoints = st.builds(Checkpoint, origins, st.integers(0, 2**63 - 1), hashes, hashes.map(bytes.hex))
signers = st.builds(Signer, names, hashes)


# Checkpoints


@given(checkpoints)
def test_a_checkpoint_reads_back_as_it_was_written(checkpoint):
    assert Checkpoint.parse(checkpoint.body()) == checkpoint


def test_a_checkpoint_is_the_three_lines_of_the_format_and_our_head():
    assert CHECKPOINT.body() == f"tallystick.example/anna\n42\n{'A' * 43}=\nhead {HEAD}\n"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n\n\n\n",
        CHECKPOINT.body()[:-1],
        CHECKPOINT.body() + "\n",
        CHECKPOINT.body() + "another extension\n",
        CHECKPOINT.body().replace("tallystick.example/anna", ""),
        CHECKPOINT.body().replace("anna", "an\tna"),
        CHECKPOINT.body().replace("anna", "an\ud800na"),
        *(CHECKPOINT.body().replace("42", size) for size in ("", "042", "-1", "+42", "4_2", " 42", "٤٢", "4e1")),
        *(CHECKPOINT.body().replace("42", size) for size in ("9" * 19, "9" * 20, "9" * 5000)),
        CHECKPOINT.body().replace("AAA=", "AAB="),
        CHECKPOINT.body().replace("AAA=", "AAA"),
        CHECKPOINT.body().replace("AAA=", "AAAé"),
        CHECKPOINT.body().replace("AAAA", "", 1),
        CHECKPOINT.body().replace("AAAA", "AA AA", 1),
        CHECKPOINT.body().replace("head ", ""),
        CHECKPOINT.body().replace("head ", "head  "),
        CHECKPOINT.body().replace(HEAD, HEAD.upper()),
        CHECKPOINT.body().replace(HEAD, HEAD[:-1]),
        CHECKPOINT.body().replace("\n", "\r\n"),
    ],
)
def test_a_body_that_is_not_exactly_a_checkpoint_is_refused(body):
    with pytest.raises(NoteError):
        Checkpoint.parse(body)


@pytest.mark.parametrize(
    ("origin", "size", "root", "head"),
    [
        ("", 1, bytes(32), HEAD),
        ("two\nlines", 1, bytes(32), HEAD),
        ("here", -1, bytes(32), HEAD),
        ("here", True, bytes(32), HEAD),
        ("here", 2**63, bytes(32), HEAD),
        ("here", 1, bytes(31), HEAD),
        ("here", 1, bytes(32), HEAD + "\n"),
    ],
)
def test_a_checkpoint_that_could_not_be_read_back_cannot_be_made(origin, size, root, head):
    with pytest.raises(NoteError):
        Checkpoint(origin, size, root, head)


# Keys


def test_the_key_id_of_the_go_checksum_database_is_the_one_it_publishes():
    name, published, key = GO_KEY.split("+", 2)

    assert key_id(name, b64decode(key)[1:]).hex() == published == "033de0ae"
    assert Verifier(GO_KEY).name == "sum.golang.org"


def test_a_checkpoint_of_the_go_checksum_database_opens_as_text_whoever_else_signed_it():
    assert Verifier(GO_KEY).open_text(GO_NOTE) == GO_TEXT
    with pytest.raises(NoteError, match="four lines"):
        Verifier(GO_KEY).open(GO_NOTE)


def test_we_sign_what_go_signs_byte_for_byte():
    peter = Signer("PeterNeumann", b64decode(PETER_SECRET)[1:])

    assert peter.verifier_key == PETER_KEY
    assert peter.sign_text(PETER_TEXT) == PETER_NOTE
    assert Verifier(PETER_KEY).open_text(PETER_NOTE) == PETER_TEXT


def test_a_new_key_is_new_each_time_and_does_not_show_its_secret():
    one, another = Signer.generate("anna"), Signer.generate("anna")

    assert one.seed != another.seed
    assert repr(one) == "Signer(name='anna')"
    assert Signer("anna", one.seed).verifier_key == one.verifier_key


def test_a_name_or_a_seed_that_no_key_can_have_is_refused():
    for name in ("", "an na", "an+na", "an\u00a0na", "an\nna", "an\x01na", "an\ud800na"):
        with pytest.raises(NoteError, match="name"):
            Signer(name, SEED)
    for seed in (b"", SEED[:-1], SEED + b"x"):
        with pytest.raises(NoteError, match="32 bytes"):
            Signer("anna", seed)


def test_a_verifier_key_with_anything_changed_or_of_another_kind_is_refused():
    for at, good in enumerate(PETER_KEY):
        for instead in ("+" if good != "+" else "x", ""):
            with pytest.raises(NoteError):
                Verifier(PETER_KEY[:at] + instead + PETER_KEY[at + 1 :])
    other_kind = b64encode(b"\x04" + b64decode(PETER_KEY.rpartition("+")[2])[1:]).decode()
    with pytest.raises(NoteError, match="not for Ed25519"):
        Verifier(f"PeterNeumann+c74f20a3+{other_kind}")


# Signed notes


@given(signers, checkpoints)
def test_what_was_signed_opens_and_says_the_same_if_it_is_about_the_ledger_of_the_key(signer, checkpoint):
    with pytest.raises(NoteError, match=r"(?s)the checkpoint is of"):
        Verifier(signer.verifier_key).open(signer.sign(replace(checkpoint, origin=signer.name + "!")))
    checkpoint = replace(checkpoint, origin=signer.name)
    note = signer.sign(checkpoint)

    assert Verifier(signer.verifier_key).open(note) == checkpoint
    assert signer.sign(checkpoint) == note


@given(st.integers(0, len(NOTE.encode()) - 1), st.integers(0, 7))
def test_one_changed_bit_anywhere_in_a_note_is_noticed(at, bit):
    raw = bytearray(NOTE.encode())
    raw[at] ^= 1 << bit

    with pytest.raises(NoteError):
        VERIFIER.open(raw.decode("utf-8", "surrogateescape"))


@given(st.integers(0, len(NOTE)), st.integers(0, len(NOTE)), st.text(max_size=3))
def test_a_note_with_anything_cut_out_or_put_in_is_refused(start, end, instead):
    changed = NOTE[:start] + instead + NOTE[max(start, end) :]
    assume(changed != NOTE)

    with pytest.raises(NoteError):
        VERIFIER.open(changed)


@given(checkpoints, checkpoints)
def test_a_signature_is_good_for_one_checkpoint_only(one, another):
    assume(one != another)
    signature = SIGNER.sign(one).rpartition("\n\n")[2]

    with pytest.raises(NoteError, match="bad signature by tallystick.example/anna"):
        VERIFIER.open(f"{another.body()}\n{signature}")


def test_another_signature_under_our_name_and_ours_under_another_name_are_refused():
    stranger = Signer("tallystick.example/anna", bytes(32))
    for note in (stranger.sign(CHECKPOINT), NOTE.replace("— tallystick.example/anna", "— tallystick.example/otto")):
        with pytest.raises(NoteError, match="no signature by tallystick.example/anna"):
            VERIFIER.open(note)


def test_what_others_signed_too_is_left_aside_good_or_bad():
    witness = Signer("witness.example", bytes(32)).sign(CHECKPOINT).rpartition("\n\n")[2]
    same_name = Signer(SIGNER.name, bytes(32)).sign(CHECKPOINT).rpartition("\n\n")[2]
    forged = f"— witness.example {b64encode(bytes(2420)).decode()}\n"

    assert VERIFIER.open(NOTE + witness + same_name + forged) == CHECKPOINT


@pytest.mark.parametrize("length", [1, 63, 64, 65])
def test_a_bad_signature_under_our_key_fails_even_beside_a_good_one(length):
    _, identity, _ = SIGNER.verifier_key.split("+", 2)
    bad = f"— {SIGNER.name} {b64encode(bytes.fromhex(identity) + bytes(length)).decode()}\n"

    with pytest.raises(NoteError, match="bad signature"):
        VERIFIER.open(NOTE + bad)
    with pytest.raises(NoteError, match="bad signature"):
        VERIFIER.open(NOTE.replace("\n\n", f"\n\n{bad}"))


def test_a_hundred_signatures_are_read_and_one_more_is_refused():
    witness = Signer("witness.example", bytes(32)).sign(CHECKPOINT).rpartition("\n\n")[2]

    assert VERIFIER.open(NOTE + witness * 99) == CHECKPOINT
    with pytest.raises(NoteError, match="more than 100"):
        VERIFIER.open(NOTE + witness * 100)


@pytest.mark.parametrize(
    "line",
    ["", "x", "- witness.example AAAAAAA=", "— witness.example", "— wit+ness AAAAAAA=", "— w AAAA", "— w  AAAAAAA="],
)
def test_a_malformed_signature_line_spoils_the_note(line):
    with pytest.raises(NoteError):
        VERIFIER.open(f"{NOTE}{line}\n")


def test_a_text_may_have_empty_lines_for_the_signatures_come_after_the_last_one():
    text = "\nfirst\n\n\nsecond\n\n"

    assert VERIFIER.open_text(SIGNER.sign_text(text)) == text


def test_a_note_must_have_a_text_and_end_after_a_signature_line():
    only_signatures = SIGNER.sign_text("\n").removeprefix("\n\n")
    for note in (only_signatures, CHECKPOINT.body() + "\n", NOTE[:-1], NOTE + "— witness.example AAAAAAA="):
        with pytest.raises(NoteError, match="does not end with signature lines"):
            VERIFIER.open_text(note)


def test_a_control_character_is_refused_even_when_it_was_signed():
    text = "an escape \x1b sequence\n"
    signature = Ed25519PrivateKey.from_private_bytes(SEED).sign(text.encode())
    line = b64encode(key_id(SIGNER.name, SIGNER.public) + signature).decode()

    with pytest.raises(NoteError, match="control characters"):
        VERIFIER.open_text(f"{text}\n— {SIGNER.name} {line}\n")


@pytest.mark.parametrize("text", ["", "no newline", "a\ttab\n", "a\rreturn\n", "half a character \ud800\n"])
def test_what_could_not_be_opened_is_not_signed(text):
    with pytest.raises(NoteError):
        SIGNER.sign_text(text)


@given(st.text() | st.text("—+ =\nAZaz09/\x00\ud800"))
def test_any_other_text_is_refused_with_one_line_and_no_other_exception(text):
    for read in (VERIFIER.open, Verifier, Checkpoint.parse, InclusionNote.parse):
        with pytest.raises(NoteError) as refusal:
            read(text)
        assert "\n" not in str(refusal.value)


# The proof of one line


LINES = [b'{"seq":%d,"op":"belief.put/1"' % seq for seq in range(11)]


def proof_of(index):
    leaves = [leaf_hash(line) for line in LINES]
    tree = Range()
    tree.extend(leaves)
    note = SIGNER.sign(Checkpoint(SIGNER.name, len(LINES), tree.root(), HEAD))
    return InclusionNote(index, tuple(inclusion_proof(leaves, index)), note, LINES[index]).text()


def test_a_proof_is_written_as_the_format_says():
    note = SIGNER.sign(CHECKPOINT)

    assert InclusionNote(7, (bytes(32), EMPTY_ROOT), note, b"a line").text() == (
        "c2sp.org/tlog-proof@v1\n"
        "extra YSBsaW5l\n"
        "index 7\n"
        f"{'A' * 43}=\n"
        "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
        "\n"
        f"{note}"
    )


@given(st.integers(0, len(LINES) - 1), st.characters(exclude_categories=["Cs"]), st.data())
@settings(max_examples=100)
def test_one_changed_bit_or_character_anywhere_in_a_proof_is_noticed(index, letter, draw):
    text = proof_of(index)
    raw = bytearray(text.encode())
    raw[draw.draw(st.integers(0, len(raw) - 1))] ^= 1 << draw.draw(st.integers(0, 7))
    at = draw.draw(st.integers(0, len(text) - 1))
    for changed in (raw.decode("utf-8", "surrogateescape"), text[:at] + letter + text[at + 1 :]):
        assume(changed != text)
        with pytest.raises(NoteError):
            InclusionNote.parse(changed).verify(VERIFIER)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tlog-proof@v1", "tlog-proof@v2"),
        ("extra ", ""),
        ("index 3", "index 03"),
        ("index 3", "index -3"),
        ("index 3", "index " + "9" * 5000),
        ("index 3\n", "\n"),
        ("index 3\n", "index 3\n" + f"{'A' * 43}=\n" * 64),
        ("index 3\n", "index 3\nAAAA\n"),
        ("\n\n", "\n"),
        ("\n", "\r\n"),
    ],
)
def test_a_malformed_proof_is_refused(old, new):
    with pytest.raises(NoteError):
        InclusionNote.parse(proof_of(3).replace(old, new))


def test_a_proof_without_its_line_or_without_a_note_cannot_be_made():
    with pytest.raises(NoteError, match="does not carry the line"):
        InclusionNote(0, (), NOTE, b"").text()
    with pytest.raises(NoteError, match="signature lines"):
        InclusionNote(0, (), "not a note", b"a line").text()
    with pytest.raises(NoteError, match="32 bytes"):
        InclusionNote(0, (b"short",), NOTE, b"a line").text()
    with pytest.raises(NoteError, match="no index can be -1"):
        InclusionNote(-1, (), NOTE, b"a line").text()


# Start-up


def test_reading_the_module_does_not_load_the_cryptography():
    code = "import sys, tallystick.ledger.signed_note; sys.exit('cryptography' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
