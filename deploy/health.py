"""Ends with 0 where the server's database answers: what a container's HEALTHCHECK runs, with or without TLS.

python health.py [port]
"""

import ssl
import sys
import urllib.error
import urllib.request


def ready(port: int) -> bool:
    """Whether /readyz answers on this machine; a certificate is made for another name than 127.0.0.1."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unchecked)
    )
    for scheme in ("http", "https"):
        try:
            with opener.open(f"{scheme}://127.0.0.1:{port}/readyz", timeout=4) as answer:
                return answer.status == 200
        except urllib.error.HTTPError:
            return False
        except OSError:
            continue  # http where the server speaks TLS
        except Exception:
            continue  # its first bytes were no answer
    return False


if __name__ == "__main__":
    sys.exit(0 if ready(int(sys.argv[1]) if len(sys.argv) > 1 else 8000) else 1)
