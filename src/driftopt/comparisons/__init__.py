"""The parts of `driftopt.compare`: statistics, Python functions as problems, TOML files, outputs."""
