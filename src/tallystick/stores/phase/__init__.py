"""phase-memory: a workspace of files, its event log, graph, paths, actions, approvals and audit."""
