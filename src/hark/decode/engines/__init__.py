"""Engines: each kind of device has its own."""
