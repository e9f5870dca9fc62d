"""`driftopt mcp`: studies as tools for agents."""

from typing import Literal

from driftopt.cli.arguments import Url


def mcp(
    url: Url,
    /,
    *,
    study: str | None = None,
    agent: str = "agent",
    role: Literal["read", "operate", "admin"] = "operate",
) -> None:
    """Offer studies to an agent by the Model Context Protocol, on standard input and output.

    ```text
    driftopt mcp shop.db --agent pricing-bot
    driftopt mcp https://shop.example --study prices
    ```

    Each verb is a tool: ask, tell, summary, recommend, forecast and so on. What the agent does is in the log
    under its name. With the address of a server, DRIFTOPT_TOKEN is its token, and the server's roles and
    limits hold.

    Args:
        study: the only study that it may use; by default the agent names one.
        agent: the name of the agent in the log.
        role: what it may do with a database: look, also ask and report, or also extend and stop.
    """
    from driftopt.packages import package

    package("mcp", "mcp", "driftopt mcp")
    from driftopt.service import mcp as served

    served.run(served.Tools(url, agent, role, study))
