"""`driftopt serve`: studies over HTTP, for those who do not write Python."""

from pathlib import Path

from driftopt.cli.arguments import Flag, Repeated, Url


def serve(
    database: Url,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: Path | None = None,
    certfile: Path | None = None,
    keyfile: Path | None = None,
    behind_proxy: Flag = False,
    proxy_address: Repeated = None,
    allow_host: Repeated = None,
    allow_origin: Repeated = None,
    log_requests: Flag = False,
) -> None:
    """Serve the studies of a database over HTTP.

    ```text
    driftopt serve shop.db
    driftopt serve postgresql://shop@db/studies --token-file tokens.toml
    driftopt serve shop.db --host 0.0.0.0 --certfile cert.pem --keyfile key.pem --allow-host shop.example
    ```

    A token is made at the start and printed in a link, unless --token-file or the environment's
    DRIFTOPT_TOKEN gives one. /docs describes the interface.

    Args:
        host: the address to listen on: this machine alone, unless told otherwise.
        port: the port; 0 takes one that is free.
        token_file: one secret, or TOML with a [[token]] for each: name, secret, role (read, operate, admin)
            and, if it is for one study alone, study.
        certfile: a TLS certificate, with its chain.
        keyfile: its key, if it is not in the same file.
        behind_proxy: a proxy that speaks TLS stands before the server, and says who the client is.
        proxy_address: the proxy's address, 127.0.0.1 unless given; once for each.
        allow_host: a name by which the server is called, once for each; this machine's own are known.
        allow_origin: a page elsewhere that may use the server, such as https://shop.example; once for each.
        log_requests: a line for each request on standard error, without tokens.
    """
    from driftopt.packages import package

    for name in ("fastapi", "uvicorn", "fastapi_swagger"):
        package(name, "serve", "driftopt serve")
    from driftopt.service import hosts, server, tokens
    from driftopt.service.settings import Settings

    if keyfile is not None and certfile is None:
        raise ValueError("--keyfile needs --certfile")
    if proxy_address and not behind_proxy:
        raise ValueError("--proxy-address needs --behind-proxy")
    server.check_exposure(host, certfile, behind_proxy, allow_host or ())
    server.check_folder(database)
    known, secret = tokens.from_environment() if token_file is None else tokens.from_file(token_file), None
    if known is None:
        known, secret = tokens.new_token()
    settings = Settings(
        url=database,
        tokens=known,
        hosts=hosts.allowed_hosts(host, allow_host or ()),
        origins=hosts.checked_origins(allow_origin or ()),
        tls=certfile is not None,
        log_requests=log_requests,
    )
    proxies = (proxy_address or ["127.0.0.1"]) if behind_proxy else []
    ready = server.build(settings, certfile=certfile, keyfile=keyfile, proxies=proxies)
    with server.listen(host, port) as listening:
        server.run(ready, listening, secret)
