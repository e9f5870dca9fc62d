"""`driftopt methods`: every method, what it sees and finds, its parameters and which package brings it."""


def methods() -> None:
    """List the methods: what each sees of a query, what it finds, its parameters, what it is, its package."""
    from rich.console import Console
    from rich.table import Table

    from driftopt import methods as registry

    table = Table("name", "sees", "finds", "parameters", "what it is", "package")
    for whole in (table.columns[0], table.columns[-1]):
        whole.no_wrap = True  # a name cut in two is none
    for name in registry.names():
        line = registry.entry(name)
        parameters = ", ".join(line.parameters)
        table.add_row(name, line.sees.words, line.finds, parameters, line.summary, line.provider)
    Console().print(table)
