"""The command line: thin. It parses arguments, calls the engine, and prints."""

from .main import main

__all__ = ["main"]
