"""Studies over HTTP, for `driftopt serve`: routes, tokens and limits around `Study`.

Needs the extra `serve`.
"""
