"""Command line, MCP, HTTP API, web page: thin layers over `Memory`; wording they share is in `present`."""
