"""A small text-adventure engine."""
from .engine import Engine
from .errors import LanternError
from .storage import load_game, save_game
from .world import load_world

__version__ = "0.4.0"
__all__ = ["Engine", "LanternError", "load_game", "load_world", "save_game"]
