"""Any interleaving of ask, tell, fail, expire and crash keeps the invariants."""

import math

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from driftopt.study import BudgetSpent, Conflict, NothingToAsk, Study
from driftopt.study.log.rows import Happened
from driftopt.study.trial import STATES
from driftopt.study.verbs import Local
from support.study_worlds import PLAIN, bowl

RESERVE, LEASE = 2, 100.0


class Interleavings(RuleBasedStateMachine):
    """Two processes' views of one study in a shared database, either of which may crash at any time."""

    asked = Bundle("asked")

    @initialize(budget=st.integers(6, 14))
    def create(self, budget):
        """Small budgets, so that many a run comes to its end, and some to it in the midst of misfortune."""
        self.now, self.budget = 0.0, budget
        arguments = {
            "budget": budget,
            "lease": LEASE,
            "max_failures": 2,
            "control_every": 7,
            "reserve": RESERVE,
        }
        first = Study.create("sqlite://", "a", clock=self.clock, **arguments, **PLAIN)
        self.log = first.transport.log
        self.views = [first, self.fresh(first)]
        self.told = {}  # what was acknowledged: id -> value, or None for a failure
        self.points = {}
        self.begun = set()

    def clock(self):
        return self.now

    def fresh(self, old):
        """What a new process sees: the same database, nothing remembered."""
        return Study(Local(self.log, "a", old.spec, self.clock))

    @rule(target=asked, who=st.integers(0, 1), purpose=st.sampled_from(["method", "confirm"]))
    def ask_for_one(self, who, purpose):
        return self.ask(who, purpose)

    def ask(self, who, purpose):
        try:
            trial = self.views[who].ask(purpose)
        except BudgetSpent:
            return multiple()
        except NothingToAsk as refusal:
            self.refused(refusal)
            return multiple()
        assert trial.id not in self.points
        self.points[trial.id] = trial
        self.paid(trial)
        return trial.id

    def paid(self, trial):
        """The method never touches the reserve, and begins no iteration that it cannot pay to the end."""
        left = self.budget - len(self.points)
        assert left >= 0
        if trial.kind in ("method", "control"):
            assert left >= RESERVE
            place = trial.iteration
            if trial.kind == "method" and place not in self.begun:
                self.begun.add(place)
                assert left - RESERVE >= self.views[0].spec.size - 1

    def refused(self, refusal):
        assert refusal.holdings
        assert all(h.expires_at > self.now for h in refusal.holdings)

    @rule(id=asked, who=st.integers(0, 1))
    def tell(self, id, who):
        self.answer(id, bowl(self.points[id]), lambda value: self.views[who].tell(id, value))

    @rule(id=asked, who=st.integers(0, 1))
    def tell_otherwise(self, id, who):
        self.answer(id, 77.0, lambda value: self.views[who].tell(id, value))

    @rule(id=asked, who=st.integers(0, 1), how=st.sampled_from(["fail", "nan", "elsewhere"]))
    def fail(self, id, who, how):
        study, x = self.views[who], self.points[id].x
        if how == "fail":
            self.nothing_came(id, who)
        elif how == "nan":
            self.answer(id, None, lambda _: study.tell(id, math.nan))
        elif id not in self.told:
            assert study.tell(id, 1.0, x_deployed=x + 1.0) == "failed"
            self.told[id] = None

    def answer(self, id, value, say):
        """The first answer stands, the same again is nothing, another is refused and changes nothing."""
        if id in self.told and self.told[id] != value:
            before = self.rows()
            try:
                say(value)
            except Conflict:
                assert self.rows() == before
                return
            raise AssertionError("a second, different answer was taken")
        again = id in self.told
        before = self.rows()
        state = say(value)
        assert state == ("failed" if value is None else "complete")
        assert not again or self.rows() == before
        self.told[id] = value

    def rows(self):
        rows, _ = self.log.read(lambda log: log.since(self.log.begin))
        return len([row for row in rows if isinstance(row, Happened)])

    @rule(target=asked, who=st.integers(0, 1), lapse=st.booleans())
    def ask_for_all(self, who, lapse):
        """Everything that is to be had, perhaps after the leases ran out."""
        self.now += LEASE if lapse else 0.0
        taken = []
        while isinstance(id := self.ask(who, "method"), int):
            taken.append(id)
        return multiple(*taken)

    @rule(
        target=asked,
        who=st.integers(0, 1),
        weeks=st.lists(st.sampled_from(["tell", "nothing_came", "overslept"]), min_size=1, max_size=8),
    )
    def weeks_go_by(self, who, weeks):
        """Ask for all there is, and let all that is out end one way; a few of these spend any budget."""
        taken = []
        for end in weeks:
            while isinstance(id := self.ask(who, "method"), int):
                taken.append(id)
            for trial in self.views[who].trials(state="pending"):
                getattr(self, end)(trial.id, who)
        return multiple(*taken)

    def nothing_came(self, id, who):
        self.answer(id, None, lambda _: self.views[who].fail(id, "down"))

    def overslept(self, id, who):
        self.now += LEASE

    @rule()
    def expire(self):
        self.now += LEASE

    @rule(who=st.integers(0, 1))
    def crash(self, who):
        self.views[who] = self.fresh(self.views[who])

    @invariant()
    def nothing_is_lost_and_nothing_is_overspent(self):
        trials = self.views[0].trials()
        assert len(trials) <= self.budget
        assert [t.id for t in trials] == sorted(self.points)
        for trial in trials:
            assert trial.state in STATES
            assert trial.x.tobytes() == self.points[trial.id].x.tobytes()
            if trial.id in self.told:
                value = self.told[trial.id]
                assert (trial.state == "failed") == (value is None)
                assert value is None or trial.value == value
            else:
                assert trial.state in ("pending", "expired")
        # One deployment out at most for each place of an iteration.
        spots = [(t.kind, t.iteration, t.point, t.sample) for t in trials if t.state == "pending"]
        spots = [spot for spot in spots if spot[0] != "control"]
        assert len(spots) == len(set(spots))

    @invariant()
    def both_views_agree(self):
        one, other = (view.recommend() for view in self.views)
        assert one.x.tobytes() == other.x.tobytes()
        assert (one.results, one.spent) == (other.results, other.spent)

    @invariant()
    def who_reads_the_log_at_once_knows_what_a_watcher_knows(self):
        """So every process decides alike: what failed, what is out, what is spent, when control is due."""
        views = (*self.views, self.fresh(self.views[0]))
        every = [view.transport.read(lambda one=view.transport: one.state) for view in views]
        known = [
            (one.spent, one.since_control, one.opened, [repr(vars(e)) for e in one.entries.values()])
            for one in every
        ]
        assert known[0] == known[1] == known[2]

    def teardown(self):
        """The state is the replay of what stands; what failed too often is passed over."""
        from driftopt import methods
        from driftopt.drivers.host import Host

        rounds = {}
        for trial in self.views[0].trials(kind="method"):
            tries = rounds.setdefault(trial.iteration, {}).setdefault(trial.point, [])
            tries.append(trial)
        spec = self.views[0].spec
        host = Host(methods.get(spec.method, **spec.params), spec.start, spec.seed)
        for iteration, points in sorted(rounds.items()):
            told = [next((t.value for t in points.get(p, []) if t.state == "complete"), None) for p in (0, 1)]
            lost = any(
                all(t.state in ("failed", "expired") for t in tries) and len(tries) >= spec.max_failures
                for tries in points.values()
            )
            if None not in told:
                host.tell(np.array(told))
            elif lost or iteration + 1 in rounds:
                host.tell(np.full(2, np.nan))
        assert host.recommend().tobytes() == self.views[0].recommend().x.tobytes()


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
