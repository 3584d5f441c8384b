"""A graph of memories that stands alone: what it can do, two places to keep it, walking in it, merging, diagnosing."""

from __future__ import annotations

from keepsake.stores.phase.graph.diagnostics import Diagnostic, diagnose
from keepsake.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
from keepsake.stores.phase.graph.in_memory import InMemoryMemoryGraphStore
from keepsake.stores.phase.graph.protocol import MemoryGraphStore

__all__ = ["Diagnostic", "FileBackedMemoryGraphStore", "InMemoryMemoryGraphStore", "MemoryGraphStore", "diagnose"]
