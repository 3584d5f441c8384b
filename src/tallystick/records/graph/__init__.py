"""Nodes, edges, profiles, memory events and the envelope that carries a whole graph."""
