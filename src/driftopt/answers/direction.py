"""A method minimises; where large values are wanted it is told their negatives."""

from typing import Any

from driftopt.answers.step import Step, Told


class Maximize(Step):
    def take(self, memory: Any, told: Told) -> tuple[Any, Told]:
        return memory, told._replace(values=-told.values)
