"""Settings that cannot be read, or mean nothing: one line that names the file and the key, whatever is in the file."""

import os
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.memory.maintenance.check import check
from tallystick.memory.settings import read_settings
from tallystick.records.errors import Refused

DEEP = "{a = " * 300 + "1" + "}" * 300  # as deep as is read at all
UNREADABLE = {
    "nested lists": ("a = " + "[" * 9000, "it is nested too deeply"),
    "nested tables": ("a = " + "{a = " * 9000, "it is nested too deeply"),
    "a key in many parts": ("a." * 500_000 + "a = 1", "a line has more than 1,000 dots"),
    "too long": ("# " + "x" * 2_000_000, "it has more than 1,048,576 bytes"),
    "a long number": ("floor = " + "9" * 9000, "digits"),
    "no text": (b"\xff\x00\xfe", "utf-8"),
    "no toml": ("[recall", "at end of document"),
}
WRONG = {
    "a section that is a number": ("recall = 5", "[recall] must be a section"),
    "a section that is a list": ("[[pages]]", "[pages] must be a section"),
    "a deep value": (f"recall.floor = {DEEP}", "recall.floor must be a number from 0 to 1"),
    "a long value": (f"ledger.durability = '{'x' * 90_000}'", "ledger.durability must be"),
    "no number": ("recall.floor = nan", "recall.floor must be"),
    "a number that is none": ("recall.floor = true", "recall.floor must be"),
    "a text for a flag": ("recall.receipts = 'yes'", "recall.receipts must be"),
    "a list for a text": ("recall.embedder = []", "recall.embedder must be"),
    "a table for a text": ("consolidate.extractor = {}", "consolidate.extractor must be"),
    "numbers for texts": ("consolidate.several = [1]", "consolidate.several must be"),
    "no place": ("pages.zone = '../../etc/passwd'", "pages.zone must be"),
    "a place with a NUL": ('pages.zone = "\\u0000"', "pages.zone must be"),
    "more days than there are": (f"pages.auto_dormant_days = {10**30}", "pages.auto_dormant_days must be"),
    "no tokens": ("writer.soft_limit_tokens = 0", "writer.soft_limit_tokens must be"),
    "a moment for a number": ("writer.hard_limit_tokens = 2026-05-03", "writer.hard_limit_tokens must be"),
    "less than none": ("policy.corroborate = -1", "policy.corroborate must be"),
    "a text for a count": ("policy.corroborate = 'two'", "policy.corroborate must be"),
    "a part for a count": ("policy.corroborate = 1.5", "policy.corroborate must be"),
    "a flag for a count": ("policy.corroborate = true", "policy.corroborate must be"),
    "a number for secrets": ("policy.keep_secrets = 1", "policy.keep_secrets must be"),
    "a text for secrets": ("policy.keep_secrets = 'yes'", "policy.keep_secrets must be"),
    "numbers for secrets": ("policy.keep_secrets = [1]", "policy.keep_secrets must be"),
    "a number for a switch": ("audit.follow = 0", "audit.follow must be"),
}


def put(folder: Path, content: str | bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "tallystick.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def is_one_line(error: object, path: Path, says: str) -> None:
    assert str(error).startswith(str(path)), error
    assert says in str(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 600


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_file_of_settings_that_cannot_be_read_is_named_with_the_reason(tmp_path, what):
    content, says = UNREADABLE[what]
    Memory(tmp_path / "m").close()
    path = put(tmp_path / "m", content)
    with pytest.raises(Refused) as error:
        Memory(tmp_path / "m")

    is_one_line(error.value, path, says)
    assert says in next(each.text for each in check(tmp_path / "m") if each.code == "settings-unreadable")


@pytest.mark.parametrize("what", WRONG)
def test_a_setting_of_the_wrong_kind_is_named_by_its_key(tmp_path, what):
    content, says = WRONG[what]
    path = put(tmp_path / "m", content)
    with pytest.raises(Refused) as error:
        read_settings(tmp_path / "m")
    is_one_line(error.value, path, says)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (os.mkdir, "is a directory"),
        (os.mkfifo, "it is not a regular file"),
        (lambda path: os.symlink("/dev/zero", path), "it is not a regular file"),
    ],
)
def test_what_is_no_file_is_refused_and_nobody_waits_for_it(tmp_path, make, says):
    (tmp_path / "m").mkdir()
    make(tmp_path / "m" / "tallystick.toml")
    with pytest.raises(Refused) as error:
        Memory(tmp_path / "m")
    is_one_line(error.value, tmp_path / "m" / "tallystick.toml", says)
