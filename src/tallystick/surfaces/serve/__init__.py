"""`tallystick serve`: one server for the API, the web page and MCP, with login, limits and metrics."""
