"""The doors through which people and programs speak to a memory. Each is a skin over `Memory`."""
