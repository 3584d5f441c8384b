"""A graph of memories that stands alone: what it can do, two places to keep it, walking in it, merging, diagnosing."""

from __future__ import annotations

from keepsake.stores.graph.diagnose import Diagnostic, diagnose
from keepsake.stores.graph.file_backed import FileBackedMemoryGraphStore
from keepsake.stores.graph.in_memory import InMemoryMemoryGraphStore
from keepsake.stores.graph.protocols import MemoryGraphStore

__all__ = ["Diagnostic", "FileBackedMemoryGraphStore", "InMemoryMemoryGraphStore", "MemoryGraphStore", "diagnose"]
