"""The MCP server: tools, resources and prompts for a model, over a pipe or over HTTP.

A tool is a table row: its description, its arguments, its answer, and one call of `Memory`. Only the modules of this
folder know the protocol, and `serve/app`, which carries it over HTTP; `tools` and `profiles` know the memory alone.
"""
