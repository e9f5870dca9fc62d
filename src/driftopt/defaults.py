"""Numbers that follow from the budget when the user gives none: one home for every driver."""


def block_length(iterations: int) -> int:
    """M = max(1, round(T^(2/3))) for T iterations.

    The paper's balance: T/M blocks, each with regret ∝ √M, so longer runs take longer blocks and a finer
    reach D = δ/M.

    >>> [block_length(t) for t in (1, 10, 100, 1000)]
    [1, 5, 22, 100]
    """
    return max(1, round(iterations ** (2 / 3)))
