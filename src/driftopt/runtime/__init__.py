"""The machine: JAX's settings, folders, files, kept programs, fingerprints."""
