"""The page: a person's own memory in a browser, made of templates on the server."""
