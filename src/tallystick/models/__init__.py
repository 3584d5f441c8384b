"""Embedders and extractors: all that uses a model. None is required: a memory without one recalls by words."""
