"""Reminders by webhook: what waits for someone, signed, and posted again until it was received.

Run it from cron. What was received is kept in a file, so that each thing is posted once; once more if a run
died between the post and the file. The signature is that of Standard Webhooks (standardwebhooks.com).
"""

import base64
import hashlib
import hmac
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from driftopt import checks
from driftopt.runtime.files import write_whole
from driftopt.study import words
from driftopt.study.errors import StudyError
from driftopt.study.study import Study

TRIES = 4  # of one run
SHORTEST = 20  # characters of a secret


class NotReceived(StudyError):
    """The receiver of reminders did not answer as it should; the next run posts them again."""


def waiting(study: Study, hours: float = 24.0) -> dict[str, str]:
    """A sentence for each thing that waits for someone, by a key that stays the same as long as it waits.

    Args:
        study: the study.
        hours: how long a deployment may be without a result before someone is reminded of it.
    """
    summary, now = study.summary(), study.transport.clock()
    found = {
        f"held {one.id}": f"the result of trial {one.id} is held: accept or correct it"
        for one in summary.held
    }
    if summary.halted is not None:
        found["halted"] = f"the study is halted: {summary.halted}"
    for one in summary.out:
        asked = study.trial(one.id).asked_at
        if one.expires_at is not None and one.expires_at <= now:
            found[f"late {one.id}"] = (
                f"trial {one.id} by {one.holder} is overdue, asked {words.ago(asked, now)}"
            )
        elif now - asked >= 3600 * hours:
            found[f"waits {one.id}"] = (
                f"trial {one.id} by {one.holder} has no result, asked {words.ago(asked, now)}"
            )
    return found | {f"warning {one}": one for one in summary.warnings}


def remind(
    study: Study,
    url: str,
    secret: str,
    kept: str | os.PathLike[str],
    hours: float = 24.0,
    wait: Callable[[float], None] = time.sleep,
) -> list[str]:
    """The sentences that were posted: what waits for someone, and was not received before.

    Args:
        study: the study.
        url: the receiver; https, or http on this machine.
        secret: the key of the signature, of at least 20 characters.
        kept: the file of what was received.
        hours: how long a deployment may be without a result.
        wait: called with seconds between two tries.

    Raises:
        NotReceived: the receiver did not answer, or not with success; nothing is kept.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and (parts.scheme, parts.hostname) not in (
        ("http", "localhost"),
        ("http", "127.0.0.1"),
    ):
        raise ValueError(
            f"url must begin with https://, or with http:// on this machine; got {checks.brief(url)}"
        )
    if len(secret) < SHORTEST:
        raise ValueError(f"the secret must have at least {SHORTEST} characters")
    path, now = Path(kept), waiting(study, hours)
    before: set[str] = set(json.loads(path.read_text())) if path.exists() else set()
    new = {key: sentence for key, sentence in now.items() if key not in before}
    if new:
        said = {"study": study.name, "url": study.url, "reminders": list(new.values())}
        _post(url, secret, json.dumps(said, ensure_ascii=False).encode(), wait)
    if set(now) != before:
        write_whole(path, json.dumps(sorted(now)).encode())
    return list(new.values())


def _post(url: str, secret: str, body: bytes, wait: Callable[[float], None]) -> None:
    """Post until it is received; the id is that of the content, so that a receiver knows it again."""
    id, why = hashlib.sha256(body).hexdigest()[:32], ""
    for number in range(TRIES):
        if number:
            wait(2.0**number)
        moment = str(int(time.time()))
        digest = hmac.new(secret.encode(), f"{id}.{moment}.".encode() + body, hashlib.sha256).digest()
        headers = {"Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": moment}
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=10):
                return
        except urllib.error.HTTPError as error:
            why = f"it answered {error.code}"
            error.close()
            if error.code == 410:  # gone: it wants no more
                break
        except OSError as error:
            why = str(error)
    raise NotReceived(f"the reminder was not received by {urlsplit(url).hostname}: {why}")
