"""Every command there is, and the line that introduces it. The help pages are made from this table alone.

The names are frozen in the design: a new verb is added there first.
"""

from __future__ import annotations

from typing import NamedTuple

PACKAGE = "tallystick.surfaces.cli"


class Entry(NamedTuple):
    """One command. `line` is the first line of its own help, word for word."""

    name: str
    line: str


DAILY = (
    Entry("remember", "Hold something true"),
    Entry("observe", "Record something that was said or happened"),
    Entry("recall", "Find what was remembered, the best answer first"),
    Entry("revise", "Replace a belief by a better one; its history stays"),
    Entry("forget", "Put beliefs out of sight; they stay in history"),
    Entry("erase", "Destroy the words of beliefs or episodes; the proof stays"),
)
LOOK = (
    Entry("status", "Look at a memory as a whole"),
    Entry("show", "Show what is held, or one belief"),
    Entry("log", "List the events, oldest first"),
    Entry("pages", "List the pages, read one, or search them"),
)
DECIDE = (
    Entry("review", "Answer what waits for a person's yes"),
    Entry("trust", "List the sources, and say which of them recall leaves out"),
)
MOVE = (
    Entry("import", "Bring in conversations and notes of other systems"),
    Entry("export", "Write down everything, to read it elsewhere or to leave"),
    Entry("sync", "Take in what was edited on pages, and bring them up to date"),
)
CARE = (
    Entry("check", "Look for damage, and change nothing"),
    Entry("repair", "Mend what `check` found, and keep the original"),
    Entry("backup", "Make a checked copy"),
    Entry("restore", "Go back to a copy; what is left behind is kept"),
    Entry("tidy", "Propose what may leave sight; nothing goes by itself"),
)
CONNECT = Entry("connect", "Let a client of the Model Context Protocol start tallystick")
SERVE = (
    Entry("mcp", "Serve the memory to a client of the Model Context Protocol"),
    Entry("serve", "Serve the memory as a page, over HTTP and over MCP"),
    CONNECT,
)
RELATE = Entry("relate", "Say how two memories are related")
PATHS_GROUP = Entry("paths", "Draw the paths of a conversation, branch them, and bring them together")
GRAPH_GROUP = Entry("graph", "Look at entities and how they are related, bring a graph in or take it along")
STORE_GROUP = Entry("store", "Keep a graph and its events in a folder of their own, without a memory")
SPECIALIST = (
    Entry("init", "Make a memory in a folder of your choice"),
    Entry("ledger", "Verify, witness, prove, compact and prune the ledger"),
    Entry("migrate", "Take in the JSON files of specsmith"),
    Entry("rebuild-index", "Make the index and the pages' tables anew"),
    Entry("test", "Put questions whose answers are known, to see that recall still finds them"),
    Entry("consolidate", "Make facts of what was observed, by rules"),
    Entry("clean", "Put all that is held out of sight, and its pages with it"),
    RELATE,
    PATHS_GROUP,
    GRAPH_GROUP,
    STORE_GROUP,
)
LEDGER = (
    Entry("verify", "Read every event and check that none was changed"),
    Entry("checkpoint", "Sign what the ledger holds now, and keep a witness outside it"),
    Entry("prove", "Prove that an event is in the ledger, or check such a proof"),
    Entry("compact", "Begin a new file; the old one is sealed, nothing is lost"),
    Entry("prune", "Move sealed files to another place"),
)
STORE = (
    Entry("create", "Make an empty workspace"),
    Entry("import", "Take in profiles, graphs and events, all or nothing"),
    Entry("append", "Record events, and let the graph follow"),
    Entry("inspect", "Show what is in a workspace: counts, paths, the last events"),
    Entry("export", "Write the whole graph as one envelope, the same bytes each time"),
    Entry("replay", "Work the graph out of its events, and compare"),
    Entry("approve", "Say yes to one action, as it stands"),
    Entry("apply", "Carry out a lifecycle action, if it has the yes it needs"),
    Entry("diagnose", "Look for what is wrong, and change nothing"),
)

GRAPH = (
    Entry("show", "Show an entity and what it is related to"),
    Entry("export", "Write the graph as one envelope, the same bytes each time"),
    Entry("import", "Take in a graph, all of it or nothing"),
    Entry("same", "List what may be the same thing, and what waits for a person's word"),
    Entry("merge", "Make one node part of another; it can be taken back"),
    Entry("unmerge", "Take a merge back"),
)

PATHS = (
    Entry("branch", "Begin a path that sees what another one sees"),
    Entry("merge", "Bring what was said on a path over to the one above it"),
    Entry("abandon", "Give a path up, with all below it; it stays in history"),
    Entry("compact", "Close a path; what is held there stays"),
    Entry("show", "Show what a path holds of its own, and its events"),
    Entry("reopen", "Undo that a path was abandoned or compacted"),
)

FIRST_PAGE = (("Daily", DAILY), ("Look", LOOK), ("Decide", DECIDE), ("Move", MOVE), ("Care", CARE), ("Serve", SERVE))
SECOND_PAGE = (("Specialist", SPECIALIST),)
