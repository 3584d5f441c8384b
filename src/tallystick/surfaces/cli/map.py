"""Every command, the line that introduces it, and other words for it. The help pages are made from this table alone.

The names are frozen in the design: a new verb is added there first.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Entry(NamedTuple):
    """One command. `line` is the first line of its own help, word for word."""

    name: str
    line: str
    module: str = ""  # that has its function; empty: one of the same name


DAILY = (
    Entry("remember", "Remember a statement", "write"),
    Entry("observe", "Record something that was said or happened", "write"),
    Entry("recall", "Find what was remembered, best answer first"),
    Entry("revise", "Replace a belief with a better version; history stays", "write"),
    Entry("forget", "Hide beliefs from recall; history stays", "write"),
    Entry("undo", "Undo the last change, or a named one; history stays", "changes"),
    Entry("erase", "Destroy the words of beliefs or episodes; the proof stays", "write"),
)
LOOK = (
    Entry("status", "Show the state of a memory", "look"),
    Entry("show", "List current beliefs, or show one", "look"),
    Entry("log", "List events, oldest first", "look"),
    Entry("diff", "Show what changed between two moments", "changes"),
    Entry("pages", "List, read or search pages"),
)
DECIDE = (
    Entry("review", "Approve or reject pending changes"),
    Entry("trust", "List sources, and exclude some from recall", "review"),
)
MOVE = (
    Entry("import", "Import conversations and notes from other systems", "exchange"),
    Entry("export", "Export everything, to read it elsewhere or to leave", "exchange"),
    Entry("sync", "Import edits made on pages, and update the pages", "pages"),
    Entry("move", "Move a memory from a folder to a database, or back", "database"),
)
CARE = (
    Entry("check", "Look for damage; changes nothing", "maintenance"),
    Entry("repair", "Fix what `check` found; the original is kept", "maintenance"),
    Entry("backup", "Make a verified copy", "maintenance"),
    Entry("restore", "Go back to a backup; what it replaces is kept", "maintenance"),
    Entry("tidy", "Propose what to forget or merge; applies nothing by itself", "consolidate"),
)
SERVE = (
    Entry("mcp", "Serve the memory to an MCP client", "serve"),
    Entry("serve", "Serve the memory as a web page, over HTTP and over MCP"),
    Entry("connect", "Set up an MCP client to use this memory", "serve"),
)
SPECIALIST = (
    Entry("init", "Create a memory in a folder or a database of your choice", "maintenance"),
    Entry("settings", "Show or replace the settings and the policy", "database"),
    Entry("sweep", "Destroy erased words in the files of a database", "database"),
    Entry("ledger", "Verify, checkpoint, prove, compact and prune the ledger"),
    Entry("migrate", "Import the JSON files of specsmith", "exchange"),
    Entry("rebuild-index", "Rebuild the index and the tables of the pages", "pages"),
    Entry("test", "Check that recall still finds known answers", "recall"),
    Entry("consolidate", "Turn observations into facts, by rules"),
    Entry("clean", "Hide all beliefs and pages; history stays", "write"),
    Entry("relate", "Record how two memories are related", "write"),
    Entry("paths", "Show, branch and merge the paths of a conversation"),
    Entry("graph", "Show entities and their relations; merge, split, import and export them"),
    Entry("store", "Manage a stand-alone graph workspace, without a memory"),
)
LEDGER = (
    Entry("verify", "Read every event and check that none was changed"),
    Entry("checkpoint", "Sign the current state of the ledger, and pin it outside the folder"),
    Entry("prove", "Prove that an event is in the ledger, or check such a proof"),
    Entry("compact", "Start a new ledger file; the old one is sealed, nothing is lost"),
    Entry("prune", "Move sealed files elsewhere"),
)
STORE = (
    Entry("create", "Create an empty workspace"),
    Entry("import", "Import profiles, graphs and events, all or nothing"),
    Entry("append", "Record events and update the graph"),
    Entry("inspect", "Show what is in a workspace: counts, paths, the last events"),
    Entry("export", "Export the whole graph as one envelope, the same bytes each time"),
    Entry("replay", "Rebuild the graph from its events, and compare"),
    Entry("approve", "Approve one action"),
    Entry("apply", "Carry out a lifecycle action, if it has the approval it needs"),
    Entry("diagnose", "Look for problems; changes nothing"),
)
GRAPH = (
    Entry("show", "Show an entity and its relations"),
    Entry("export", "Export the graph as one envelope, the same bytes each time"),
    Entry("import", "Import a graph, all or nothing"),
    Entry("same", "Find likely duplicates, and ask whether they are one"),
    Entry("merge", "Make one entity part of another; it can be undone"),
    Entry("unmerge", "Undo a merge"),
    Entry("split", "Move beliefs about one entity to another or a new one"),
    Entry("refile", "File old statements by today's rules; it can be undone"),
)
PATHS = (
    Entry("branch", "Start a path from another one"),
    Entry("merge", "Merge a path into the one above it"),
    Entry("abandon", "Abandon a path and everything below it; history stays"),
    Entry("compact", "Close a path; its beliefs stay"),
    Entry("show", "Show a path's own beliefs and events"),
    Entry("reopen", "Reopen an abandoned or closed path"),
)

FIRST_PAGE = (("Daily", DAILY), ("Look", LOOK), ("Decide", DECIDE), ("Move", MOVE), ("Care", CARE), ("Serve", SERVE))
SECOND_PAGE = (("Specialist", SPECIALIST),)
GROUPS = {"ledger": LEDGER, "paths": PATHS, "graph": GRAPH, "store": STORE}

_SIMILAR = 0.7  # how alike two words are before one is taken for the other; `frame` is not a mistyped `erase`

_OTHER_WORDS = {  # what people who know other programs type first, by what it is called here
    "remember": "add save note", "recall": "search find query ask", "show": "get list ls cat",
    "forget": "delete remove rm", "undo": "revert rollback redo", "diff": "changes compare",
    "revise": "edit update change", "recall --frame": "frame",
    "show NAME --history": "history", "log": "timeline", "serve": "server web", "connect": "install setup",
    "ledger verify": "verify", "ledger checkpoint": "checkpoint", "ledger prove": "prove", "pages": "page",
    "check": "doctor", "--help": "help", "--version": "version", "--help-all": "completion",
}
OTHER_WORDS = {word: f"tallystick {command}" for command, words in _OTHER_WORDS.items() for word in words.split()}


def entry_of(typed: str) -> Entry:
    """The entry of a command as it is typed: `remember`, `ledger verify`."""
    group, _, name = typed.rpartition(" ")
    entries = GROUPS[group] if group else [entry for _, page in (*FIRST_PAGE, *SECOND_PAGE) for entry in page]
    return next(entry for entry in entries if entry.name == name)


def suggestion(name: str, commands: Sequence[str], *, inside: bool = False) -> str:
    """The command that was probably meant, as the end of a line; `inside` a command's own commands."""
    from difflib import get_close_matches

    if near := get_close_matches(name, commands, n=1, cutoff=_SIMILAR):
        return f"; did you mean {near[0]!r}?"
    other = "" if inside else OTHER_WORDS.get(name.lower(), "")
    return f"; did you mean `{other}`?" if other else ""
