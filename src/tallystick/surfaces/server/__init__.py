"""What every server shares: listening, HTTP framing, access, and one worker that owns the memory."""
