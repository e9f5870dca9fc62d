"""`python -m driftopt` is the command `driftopt`."""

from driftopt.cli import main

if __name__ == "__main__":
    main()
