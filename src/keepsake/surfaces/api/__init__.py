"""The API over HTTP, and the server that carries it, the page and MCP."""
