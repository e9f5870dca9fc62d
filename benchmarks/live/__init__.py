"""The benchmark of the live default: `python -m benchmarks.live`."""
