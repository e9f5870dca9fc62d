"""`driftopt methods`: every method, its parameters, what it is and which package brings it."""


def methods() -> None:
    """List the methods: name, parameters, what each one is and the package that brings it."""
    from rich.console import Console
    from rich.table import Table

    from driftopt import methods as registry

    table = Table("name", "parameters", "what it is", "package")
    for name in registry.names():
        line = registry.entry(name)
        table.add_row(name, ", ".join(line.parameters), line.summary, line.provider)
    Console().print(table)
