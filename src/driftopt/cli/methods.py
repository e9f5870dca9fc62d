"""`driftopt methods`: every method, its parameters and what it is."""


def methods() -> None:
    """List the methods: name, parameters and what each one is."""
    from rich.console import Console
    from rich.table import Table

    from driftopt import methods as registry

    table = Table("name", "parameters", "what it is")
    for name in registry.names():
        line = registry.entry(name)
        table.add_row(name, ", ".join(line.parameters), line.summary)
    Console().print(table)
