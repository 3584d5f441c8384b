"""All that talks to a model. None is required: a memory without one recalls by words."""
