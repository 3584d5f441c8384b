"""Shared by all servers: listening, HTTP framing, access, and one worker that owns the memory."""
