"""The parts of `driftopt.sweep`: grids, chunks of work, the folder of finished chunks, progress."""
