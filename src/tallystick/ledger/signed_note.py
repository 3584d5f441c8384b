"""Signed checkpoints and notes of inclusion.

A checkpoint is the statement "at this size the ledger had this root and this head", written and signed according to
c2sp.org/tlog-checkpoint and c2sp.org/signed-note, so that other tools can read it. The proof that one line is in the
ledger (c2sp.org/tlog-proof) is a text that can be checked with nothing but the key.

What `Verifier.open` returns was signed, byte for byte, by that key. Text from outside is read strictly and refused with
a `NoteError`, never with anything else.

What a signature cannot show: that no newer checkpoint exists, that the same key did not sign another history, and which
ledger the reader meant. Compare with the pin, and compare the origin.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from tallystick.ledger.merkle import HEX_HASH, is_hash, is_number, leaf_hash, verify_inclusion

if TYPE_CHECKING:  # heavy, and not needed to check a proof
    pass

MOST_SIGNATURES = 100  # the format asks for at least sixteen, and for a limit
MOST_SIBLINGS = 63  # as high as a tree can be

_ED25519 = b"\x01"
_KEY_BYTES = 32
_PROOF_FORMAT = "c2sp.org/tlog-proof@v1"

# No control characters, and no lone surrogates, which are not UTF-8.
_FORBIDDEN_IN_NOTE = re.compile(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]")
_FORBIDDEN_IN_LINE = re.compile(r"[\x00-\x1f\ud800-\udfff]")
_NAME = re.compile(r"[^\s+\x00-\x1f\ud800-\udfff]+")
_SIGNATURE_LINE = re.compile(rf"— ({_NAME.pattern}) (\S+)")
_VERIFIER_KEY = re.compile(rf"({_NAME.pattern})\+([0-9a-f]{{8}})\+(\S+)")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


class NoteError(ValueError):
    """A text that proves nothing. The message is one line and says why."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The ledger at one moment."""

    origin: str  # which ledger
    size: int
    root: bytes
    head: str  # the last line's hash in the chain: an extension line, for other tools to skip

    def __post_init__(self) -> None:
        if not self.origin or _FORBIDDEN_IN_LINE.search(self.origin):
            raise NoteError("a checkpoint's origin is one line of text")
        _expect_number(self.size, "size")
        _expect_hash(self.root)
        if not HEX_HASH.fullmatch(self.head):
            raise NoteError("a checkpoint's head is 64 hex digits")

    def body(self) -> str:
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\nhead {self.head}\n"

    @classmethod
    def parse(cls, body: str) -> Checkpoint:
        """The checkpoint whose body this is: these four lines and no others."""
        lines = body.split("\n")
        if len(lines) != 5 or lines[4] or not lines[3].startswith("head "):
            raise NoteError("a checkpoint has four lines: origin, size, root and head")
        origin, size, root, head = lines[:4]
        return cls(origin, _number(size), _unbase64(root), head.removeprefix("head "))


@dataclass(frozen=True, slots=True)
class Signer:
    """A name and the secret key that signs for it. Whoever has the seed is the signer."""

    name: str
    seed: bytes = field(repr=False)  # kept out of logs and tracebacks

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise NoteError("a key's name has no spaces, no plus and at least one character")
        if len(self.seed) != _KEY_BYTES:
            raise NoteError("a key's seed is 32 bytes")

    @classmethod
    def generate(cls, name: str) -> Signer:
        """A new key, known to nobody else."""
        return cls(name, os.urandom(_KEY_BYTES))

    @property
    def public(self) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()

    @property
    def verifier_key(self) -> str:
        """The public key with which others check this signer's notes."""
        public = self.public
        return f"{self.name}+{key_id(self.name, public).hex()}+{_base64(_ED25519 + public)}"

    def sign(self, checkpoint: Checkpoint) -> str:
        """The checkpoint as a signed note. Signing twice gives the same text."""
        return self.sign_text(checkpoint.body())

    def sign_text(self, text: str) -> str:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if not text.endswith("\n") or _FORBIDDEN_IN_NOTE.search(text):
            raise NoteError("a note's text ends with a newline and has no control characters")
        signature = Ed25519PrivateKey.from_private_bytes(self.seed).sign(text.encode())
        return f"{text}\n— {self.name} {_base64(key_id(self.name, self.public) + signature)}\n"


@dataclass(frozen=True, slots=True)
class Verifier:
    """A trusted key, as `Signer.verifier_key` wrote it."""

    key: str

    def __post_init__(self) -> None:
        _, identity, public = _key_parts(self.key)
        if identity != key_id(self.name, public):
            raise NoteError(f"the verifier key of {self.name} does not have the id it names")

    @property
    def name(self) -> str:
        return self.key.partition("+")[0]

    def open(self, note: str) -> Checkpoint:
        """The checkpoint in a note that this key signed, of the key's own ledger; NoteError otherwise."""
        checkpoint = Checkpoint.parse(self.open_text(note))
        if checkpoint.origin != self.name:
            raise NoteError(f"the checkpoint is of {checkpoint.origin}, but the key is that of {self.name}")
        return checkpoint

    def open_text(self, note: str) -> str:
        """The text of a note that this key signed.

        Signatures of other keys are ignored. There must be one of this key, and each of them must be valid: a bad one
        next to a good one means that the note was tampered with.
        """
        text, signatures = _note_parts(note)
        name, identity, public = _key_parts(self.key)
        ours = [signature for by, which, signature in signatures if (by, which) == (name, identity)]
        if not ours:
            raise NoteError(f"no signature by {name}+{identity.hex()}")
        if not all(_is_signed(text, signature, public) for signature in ours):
            raise NoteError(f"bad signature by {name}+{identity.hex()}")
        return text


@dataclass(frozen=True, slots=True)
class InclusionNote:
    """One line of the ledger, and the proof that a checkpoint covers it.

    The line is in `extra`, which nobody signed: it is worth nothing before `verify`.
    """

    index: int
    proof: tuple[bytes, ...]
    note: str
    line: bytes  # the hashed slice, as in the ledger

    def __post_init__(self) -> None:
        _expect_number(self.index, "index")
        if len(self.proof) > MOST_SIBLINGS:
            raise NoteError(f"no proof has {len(self.proof)} hashes")
        for sibling in self.proof:
            _expect_hash(sibling)
        if not self.line:
            raise NoteError("the proof does not carry the line it is about")
        _note_parts(self.note)

    def text(self) -> str:
        head = [_PROOF_FORMAT, f"extra {_base64(self.line)}", f"index {self.index}", *map(_base64, self.proof)]
        return "\n".join(head) + "\n\n" + self.note

    @classmethod
    def parse(cls, text: str) -> InclusionNote:
        """The proof whose text this is. `extra` is optional in the format, but not here."""
        head, _, note = text.partition("\n\n")
        first, *lines = head.split("\n")
        if first != _PROOF_FORMAT:
            raise NoteError(f"a proof begins with {_PROOF_FORMAT}")
        if len(lines) < 2 or not lines[0].startswith("extra ") or not lines[1].startswith("index "):
            raise NoteError("a proof goes on with an extra line, which holds the ledger's line, and an index line")
        line, index = _unbase64(lines[0].removeprefix("extra ")), _number(lines[1].removeprefix("index "))
        return cls(index, tuple(map(_unbase64, lines[2:])), note, line)

    def verify(self, verifier: Verifier) -> Checkpoint:
        """The signed checkpoint that covers the line; NoteError if none does."""
        checkpoint = verifier.open(self.note)
        leaf = leaf_hash(self.line)
        if not verify_inclusion(leaf, self.index, checkpoint.size, self.proof, checkpoint.root):
            raise NoteError(f"this is not line {self.index} of the {checkpoint.size} in the checkpoint")
        return checkpoint


def key_id(name: str, public: bytes) -> bytes:
    """The four bytes that distinguish keys of one name. Easy to forge: they find the key and prove nothing."""
    return sha256(name.encode() + b"\n" + _ED25519 + public).digest()[:4]


def _key_parts(key: str) -> tuple[str, bytes, bytes]:
    """Name, id and public key."""
    found = _VERIFIER_KEY.fullmatch(key)
    if not found:
        raise NoteError("a verifier key is written name+id+key")
    name, identity, typed = found[1], bytes.fromhex(found[2]), _unbase64(found[3])
    if typed[:1] != _ED25519 or len(typed) != 1 + _KEY_BYTES:
        raise NoteError(f"the verifier key of {name} is not for Ed25519")
    return name, identity, typed[1:]


def _note_parts(note: str) -> tuple[str, list[tuple[str, bytes, bytes]]]:
    """The text, and the name, key id and signature of each signer."""
    if _FORBIDDEN_IN_NOTE.search(note):
        raise NoteError("the note has control characters in it")
    text, gap, signed = note.rpartition("\n\n")
    *lines, rest = signed.split("\n")
    if not gap or rest or not lines:
        raise NoteError("the note does not end with signature lines after an empty one")
    if len(lines) > MOST_SIGNATURES:
        raise NoteError(f"the note has more than {MOST_SIGNATURES} signatures")
    signatures = []
    for line in lines:
        found = _SIGNATURE_LINE.fullmatch(line)
        identified = _unbase64(found[2]) if found else b""
        if not found or len(identified) < 5:
            raise NoteError("the note has a malformed signature line")
        signatures.append((found[1], identified[:4], identified[4:]))
    return text + "\n", signatures


def _is_signed(text: str, signature: bytes, public: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text.encode())
    except (InvalidSignature, ValueError):  # ValueError: some back ends check the key first
        return False
    return True


def _base64(raw: bytes) -> str:
    return b64encode(raw).decode()


def _unbase64(text: str) -> bytes:
    """Only what `_base64` writes: otherwise one signature could be written in several ways."""
    try:
        raw = b64decode(text)
    except ValueError:
        raise NoteError("malformed base64") from None
    if _base64(raw) != text:
        raise NoteError("malformed base64")
    return raw


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise NoteError("a number is written in decimal digits, without leading zeros")
    return int(text)


def _expect_number(value: object, what: str) -> None:
    if not is_number(value):
        raise NoteError(f"no {what} can be {value!r}")


def _expect_hash(value: object) -> None:
    if not is_hash(value):
        raise NoteError("a hash is 32 bytes")
