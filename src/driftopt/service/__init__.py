"""Studies over HTTP: `driftopt serve`. Everything of a study is done by `Study`; here are doors and locks.

Loaded by `driftopt serve` alone: it needs the extra `serve`.
"""
