"""Any interleaving of answers with amendments, extend and stop, by two processes, is one study."""

import warnings

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from driftopt.study import Implausible, NothingToAsk, Study
from driftopt.study.session import Session
from driftopt.study.verbs import Local
from support.study_worlds import PLAIN, bowl

WHO, WHICH = st.integers(0, 1), st.integers(0, 40)


class Amendments(RuleBasedStateMachine):
    """Two views of one study in a shared database; either may be a process begun anew at any time."""

    @initialize(settle=st.sampled_from([1, 2]))
    def create(self, settle):
        plan = {"budget": 30, "control_every": 5, "reserve": 4, "max_failures": 2}
        first = Study.create(
            "sqlite://", "a", clock=lambda: 0.0, settle=settle, **plan, **PLAIN | {"outliers": True}
        )
        self.log = first.transport.log
        self.views = [first, Study(Local(self.log, "a", first.spec, lambda: 0.0))]
        self.budget, self.stopped = 30, False
        for _ in range(10):
            self.answer(0, "right")

    def answer(self, who, how):
        try:
            trial = self.views[who].ask()
        except NothingToAsk:
            return
        assert not self.stopped
        study = self.views[1 - who]  # asked by the one, told by the other
        if how == "failed":
            assert study.fail(trial.id) == "failed"
        else:
            assert study.tell(trial.id, 1e6 if how == "typo" else bowl(trial)) in ("complete", "held")

    @rule(who=WHO, how=st.sampled_from(["right", "right", "typo", "failed"]))
    def week(self, who, how):
        self.answer(who, how)

    @rule(who=WHO, which=WHICH, how=st.sampled_from(["correct", "void", "accept", "hold"]))
    def amend(self, who, which, how):
        """What is refused changes nothing; what is not shows in the trial."""
        trials = self.views[who].trials()
        trial, rows = trials[which % len(trials)], self.views[who].status().rows
        try:
            with warnings.catch_warnings(action="ignore", category=Implausible):
                state = getattr(self.views[who], how)(trial.id, *([2.5] if how == "correct" else []))
        except ValueError:
            assert self.views[who].status().rows == rows
            return
        now = self.views[1 - who].trials()[which % len(trials)]
        assert now.state == state == {"void": "voided", "hold": "held"}.get(how, "complete")
        assert now.value == {"correct": 2.5, "void": None}.get(how, trial.value)

    @rule(who=WHO, more=st.integers(1, 3))
    def extend(self, who, more):
        try:
            self.views[who].extend(self.budget + more)
        except ValueError:
            assert self.stopped
            return
        assert not self.stopped
        self.budget += more

    @rule(who=WHO, really=st.integers(0, 4))
    def stop(self, who, really):
        if really == 0:
            self.views[who].stop("enough")
            self.stopped = True

    @rule(who=WHO)
    def crash(self, who):
        self.views[who] = Study(Local(self.log, "a", self.views[who].spec, lambda: 0.0))

    @invariant()
    def everybody_knows_the_same(self):
        """The two that watched, and one that reads the whole log at once."""
        spec = self.views[0].spec
        sessions = [*(view.transport for view in self.views), Session(self.log, "a", spec, lambda: 0.0)]
        states = [session.read(lambda one=session: one.state) for session in sessions]
        known = [
            (repr(vars(s) | {"_last": None}), session.recommendation({})[0].tobytes())
            for s, session in zip(states, sessions, strict=True)
        ]
        assert known[0] == known[1] == known[2]
        assert states[2].budget == self.budget
        assert (states[2].stopped is not None) == self.stopped
        assert states[2].spent <= self.budget


TestAmendments = Amendments.TestCase
TestAmendments.settings = settings(
    max_examples=8,
    stateful_step_count=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
