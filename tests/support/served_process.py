"""`driftopt serve` in a process of its own, and clients that go on when it is killed."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

from driftopt.study import BudgetSpent, NothingToAsk, Study
from driftopt.study import http as service_client
from support.study_worlds import bowl


@contextmanager
def served(url, token, port=0, *options):
    """A server: (its address, the process). It is stopped at the end, if it lives."""
    command = [sys.executable, "-m", "driftopt", "serve", url, "--port", str(port), *options]
    environment = {**os.environ, "DRIFTOPT_TOKEN": token}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            found = None
            while found is None and (line := process.stdout.readline()):
                found = re.search(r"(https?://\S+)/docs", line)
            assert found, f"the server did not start: {process.stderr.read()}"
            yield found[1], process
        finally:
            if process.poll() is None:
                process.terminate()
            process.communicate()


class Clients:
    """Threads that ask and tell until the budget is spent, each as a holder of its own."""

    def __init__(self, address, name, count):
        self.told, self.errors = {}, []
        self._address, self._name = address, name
        self._news = threading.Condition()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(count)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def join(self):
        for thread in self._threads:
            thread.join()

    @property
    def alive(self):
        return any(thread.is_alive() for thread in self._threads)

    def wait_for(self, more):
        """Until so many more answers are acknowledged, or nobody is left."""
        with self._news:
            wanted = len(self.told) + more
            while len(self.told) < wanted and self.alive:
                self._news.wait(0.1)

    def _run(self, number):
        try:
            self._work(Study.open(self._address, self._name), f"client {number}")
        except Exception as error:
            self.errors.append(repr(error))

    def _work(self, study, holder):
        while True:
            try:
                trial = study.ask(holder=holder)
            except BudgetSpent:
                return
            except NothingToAsk:
                with self._news:
                    self._news.wait(0.05)  # the others hold what is left of the iteration
                continue
            value = bowl(trial)
            study.tell(trial.id, value)
            with self._news:
                self.told[trial.id] = value
                self._news.notify_all()


def kill_under_load(url, token, name, kills, clients, seed=0):
    """Kill a server of a study so many times while clients work; returns what was acknowledged and errors."""
    rng = random.Random(seed)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # A server that is killed as soon as it is there may be missed for long.
    service_client.GIVE_UP_AFTER, usual = 3600.0, service_client.GIVE_UP_AFTER
    crowd, killed = Clients(f"http://127.0.0.1:{port}", name, clients), 0
    crowd.start()
    while crowd.alive:
        with served(url, token, port) as (_, process):
            if killed < kills:
                crowd.wait_for(rng.randrange(1, 12))
                process.send_signal(signal.SIGKILL)
                killed += 1
            else:
                crowd.join()
    service_client.GIVE_UP_AFTER = usual
    return crowd.told, crowd.errors, killed
