"""Import and export: other programs' conversations, other memories' exports, files and pages."""
