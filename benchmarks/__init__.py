"""Ratios against named alternatives, measured side by side in one run: `make bench`."""
