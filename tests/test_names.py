"""The words of the code are those that any engineer would search for: the names that went do not come back."""

import ast
import re
from pathlib import Path

from tallystick.records import errors

TESTS = Path(__file__).parent
SRC = TESTS.parent / "src" / "tallystick"

OLD_CLASSES = """
    Adopter Asks Began Book Bringing Brings Desk Door Folding Folds Framed Gated Glance Governs Graphs Held Holder
    Join Keeps Kin Learns Level Listed Looks Meaning Nearly On Opened Plain Recalled Resting Said Seen Shelf Shown
    Speaker Standing States Stretch Taking Tends Told Undoable Walks Wire
"""
OLD_MODULES = """
    aio asked asks begin being belief_page bent book bringing brings brought care choose claim compared desk door
    ending endpoint fits folding framed fulltext gated glance governs graph_at graphs held holder judged keeps kin
    learns leaves level links listening looking looks meaning mend notebook opened overseeing page_adopt page_fold
    page_rest pages_at paging parts patience phase_follows phase_turn phrases plant prepared recalled relating said
    saying sayings secrets_stated seen sentence shelf sight speaker standing states stretches strict_json surgery
    survey taken taken_in taken_join taken_plain takeover taking tends trusts uses using verdict walks weigh
    wire withheld withhold
"""
OLD_CALLS = """
    beside bring fade foldings mark take_in trust_again unembedded what_rests_on what_would_go what_would_happen
"""


def test_no_class_and_no_module_has_a_name_that_went():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SRC.rglob("*.py")}
    classes = {node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    assert classes & set(OLD_CLASSES.split()) == set()
    assert {path.stem for path in trees} & set(OLD_MODULES.split()) == set()


def test_no_public_call_of_a_memory_has_a_name_that_went():
    public = [SRC / "memory" / "memory.py", SRC / "memory" / "services.py", *(SRC / "memory").glob("*/store.py")]
    public += (SRC / "memory" / "verbs").glob("*.py")
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in public]
    methods = {
        node.name for tree in trees for owner in ast.walk(tree) if isinstance(owner, ast.ClassDef)
        for node in owner.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }  # fmt: skip

    assert {"remember", "recall", "import_from"} <= methods
    assert methods & set(OLD_CALLS.split()) == set()


def test_a_class_name_means_one_thing_in_its_package():
    seen = dict[tuple[str, str], str]()
    for path in sorted(SRC.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name in (node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"):
            key = str(path.parent), name
            assert key not in seen, f"{name} is in {path} and in {seen[key]}"
            seen[key] = str(path)


def test_no_test_knows_an_error_by_its_sentence():
    """By its class, its code and what it names. Only tables of wrong input hold some words to tell rows apart."""
    ours = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    sentences = []
    for path in TESTS.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.raises":
                kinds = {each.id for each in ast.walk(call.args[0]) if isinstance(each, ast.Name)}
                said = [ast.unparse(each.value) for each in call.keywords if each.arg == "match"]
                if kinds & ours and any(re.search("[a-z]{2,},? [a-z]{2,} [a-z]{2,}", each) for each in said):
                    sentences.append(f"{path.relative_to(TESTS)}:{call.lineno}: {said[0]}")
    assert sentences == []
