"""The names of events, as they stand in the ledger: `noun.verb/version`. They are never renamed."""

BELIEF_PUT = "belief.put/1"
BELIEF_SUPERSEDE = "belief.supersede/1"
BELIEF_TOMBSTONE = "belief.tombstone/1"
BELIEF_INVALIDATE = "belief.invalidate/1"
ERASE = "erase/1"

EPISODE_PUT = "episode.put/1"
EPISODE_RETRACT = "episode.retract/1"  # {"ids": […], "user": …, "reason"?: …}: it was not so, or is not to be used
EPISODE_FADE = "episode.fade/1"
EPISODE_RESTORE = "episode.restore/1"  # {"ids": […], "user", "was": retracted or archived, "out"?, "reason"?}

RELATION_PUT = "relation.put/1"

GRAPH = "graph."  # how the operations on the graph begin
GRAPH_PUT = "graph.put/1"
GRAPH_MERGE = "graph.merge/1"
GRAPH_UNMERGE = "graph.unmerge/1"
GRAPH_PROPOSE = "graph.propose/1"
GRAPH_DISMISS = "graph.dismiss/1"

PATH_BRANCH = "path.branch/1"
PATH_MERGE = "path.merge/1"
PATH_ABANDON = "path.abandon/1"
PATH_COMPACT = "path.compact/1"
PATH_REOPEN = "path.reopen/1"

PAGE_PUT = "page.put/1"
PAGE_COMPACT = "page.fold/1"
PAGE_RENAME = "page.rename/1"
PAGE_CLEAN = "page.clean/1"

REVIEW_ASK = "review.ask/1"
REVIEW_ANSWER = "review.answer/1"
REVIEW_GRANT = "review.grant/1"
REVIEW_REFUSE = "review.refuse/1"

RULE_PUT = "rule.put/1"
RULE_DROP = "rule.drop/1"
RULE_RAN = "rule.ran/1"
RULE_FOUND = "rule.found/1"
DELTA_NOOP = "delta.noop/1"

SESSION_START = "session.start/1"
SESSION_END = "session.end/1"
FRAME_PUT = "frame.put/1"
FRAME_DROP = "frame.drop/1"
CONFIG_SET = "config.set/1"

TRUST_SET = "trust.set/1"
TRUST_CORROBORATE = "trust.corroborate/1"

RECEIPT_PUT = "receipt.put/1"
OUTCOME_PUT = "outcome.put/1"

IMPORT_TAKE = "import.take/1"
IMPORT_DONE = "import.done/1"
