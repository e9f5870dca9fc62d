"""`driftopt serve`: studies over HTTP, without Python."""

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

    By default the server makes a token when it starts and prints it in a link. --token-file or the
    environment variable DRIFTOPT_TOKEN sets tokens of your own. /docs describes the interface.

    Args:
        host: the address to listen on; by default only this machine.
        port: the port; 0 takes a free one.
        token_file: one secret, or TOML with a [[token]] for each: name, secret, role (read, operate, admin)
            and, for a token of a single study, study.
        certfile: a TLS certificate, with its chain.
        keyfile: its key, if it is not in the same file.
        behind_proxy: a proxy in front of the server handles TLS and forwards the client's address.
        proxy_address: the proxy's address, by default 127.0.0.1; repeat it for several.
        allow_host: a host name of the server, in addition to this machine's own; repeat it for several.
        allow_origin: another site whose pages may use the server, such as https://shop.example; repeatable.
        log_requests: print a line for each request on standard error, without tokens.
    """
    from driftopt.packages import package

    for name in ("fastapi", "uvicorn", "fastapi_swagger", "prometheus_client"):
        package(name, "serve", "driftopt serve")
    from driftopt.service import access, server
    from driftopt.service.settings import Settings, allowed_hosts, checked_origins

    if keyfile is not None and certfile is None:
        raise ValueError("--keyfile needs --certfile")
    if proxy_address and not behind_proxy:
        raise ValueError("--proxy-address needs --behind-proxy")
    server.check_exposure(host, certfile, behind_proxy, allow_host or ())
    server.check_folder(database)
    known, secret = access.from_environment() if token_file is None else access.from_file(token_file), None
    if known is None:
        known, secret = access.new_token()
    settings = Settings(
        url=database,
        tokens=known,
        hosts=allowed_hosts(host, allow_host or ()),
        origins=checked_origins(allow_origin or ()),
        tls=certfile is not None,
        log_requests=log_requests,
    )
    proxies = (proxy_address or ["127.0.0.1"]) if behind_proxy else []
    ready = server.build(settings, certfile=certfile, keyfile=keyfile, proxies=proxies)
    with server.listen(host, port) as listening:
        server.run(ready, listening, secret)
