"""Folders of our own among the platform's."""

from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """Our own folder among the platform's caches, where XDG_CACHE_HOME says. It may not exist yet."""
    return platformdirs.user_cache_path("driftopt", appauthor=False)
