"""The paper's own figures as data: means and standard deviations over its held-out runs, as printed.

Strategic classification: splits 101–104, 20 runs a cell. Pricing: the weeks 202610–202613, 10 runs a cell;
those weeks are not public, so their figures cannot be compared with ours number by number.
"""

from collections.abc import Mapping
from typing import NamedTuple

RUNS = 20  # behind each cell of strategic classification


class Figure(NamedTuple):
    """One cell of a table."""

    mean: float
    deviation: float


METHODS = ("zo-co", "zo-sph", "zo-ga", "zo-og", "zo-o2nc-2pt", "zo-o2nc-1pt")

# The cells of a line are in the order of METHODS.
_STRATEGIC = """
101 train_loss 0.6711±0.0482 0.6555±0.0618 0.6669±0.0379 0.7074±0.0687 0.6422±0.0807 0.6727±0.0843
101 test_accuracy 0.7705±0.0128 0.7665±0.0196 0.7643±0.0231 0.7552±0.0336 0.7634±0.0205 0.7675±0.0260
101 test_loss 0.6717±0.0482 0.6615±0.0596 0.6683±0.0348 0.7172±0.0747 0.6448±0.0758 0.6824±0.0823
101 test_auc 0.6725±0.0248 0.6724±0.0198 0.6761±0.0163 0.6763±0.0439 0.6761±0.0276 0.6860±0.0270
102 train_loss 0.7152±0.0946 0.6881±0.0245 0.6848±0.0274 0.6869±0.0643 0.6181±0.0296 0.6584±0.0527
102 test_accuracy 0.7638±0.0247 0.7625±0.0151 0.7613±0.0203 0.7747±0.0204 0.7838±0.0077 0.7756±0.0122
102 test_loss 0.6838±0.0994 0.6820±0.0227 0.6795±0.0245 0.6697±0.0692 0.6115±0.0298 0.6496±0.0535
102 test_auc 0.6941±0.0479 0.6796±0.0172 0.6809±0.0158 0.7090±0.0252 0.7138±0.0233 0.7001±0.0302
103 train_loss 0.7078±0.0757 0.6664±0.0652 0.6761±0.0346 0.7467±0.0547 0.6570±0.0440 0.6886±0.0685
103 test_accuracy 0.7585±0.0190 0.7663±0.0201 0.7691±0.0218 0.7708±0.0258 0.7776±0.0127 0.7707±0.0136
103 test_loss 0.7306±0.0873 0.6803±0.0821 0.6892±0.0462 0.7470±0.0560 0.6453±0.0488 0.6829±0.0818
103 test_auc 0.6499±0.0341 0.6660±0.0492 0.6691±0.0308 0.6875±0.0286 0.7083±0.0208 0.6873±0.0443
104 train_loss 0.6952±0.0539 0.6681±0.0526 0.6764±0.0367 0.7272±0.0490 0.6266±0.0375 0.6909±0.0806
104 test_accuracy 0.7617±0.0208 0.7719±0.0181 0.7749±0.0107 0.7745±0.0163 0.7823±0.0104 0.7717±0.0202
104 test_loss 0.7025±0.0516 0.6738±0.0509 0.6836±0.0345 0.7373±0.0548 0.6374±0.0456 0.6997±0.0810
104 test_auc 0.6592±0.0238 0.6731±0.0273 0.6762±0.0165 0.6878±0.0233 0.6991±0.0246 0.6778±0.0416
"""
_PRICING = """
202610 -33.9138±0.3724 -35.1343±0.1417 -35.0369±0.1188 -29.5875±1.4826 -35.4249±0.0880 -35.1458±0.1819
202611 -22.2947±0.3391 -22.3252±0.2732 -22.3862±0.1218 -21.9161±0.4503 -22.8352±0.1006 -22.8308±0.1065
202612 -21.2159±0.3512 -21.5353±0.1885 -21.4584±0.1547 -20.8643±0.2986 -21.8371±0.1387 -21.6164±0.0867
202613 -18.3799±0.3636 -18.5372±0.2821 -18.5938±0.2408 -17.8047±0.4510 -18.8398±0.2717 -18.4587±0.3218
"""


def _cells(words: list[str]) -> dict[str, Figure]:
    """Cells `mean±deviation` by method."""
    return {m: Figure(*map(float, word.split("±"))) for m, word in zip(METHODS, words, strict=True)}


Figures = Mapping[str, Mapping[str, Mapping[str, Figure]]]  # instance → metric's column → method

STRATEGIC: dict[str, dict[str, dict[str, Figure]]] = {}
for _split, _metric, *_words in map(str.split, _STRATEGIC.strip().splitlines()):
    STRATEGIC.setdefault(_split, {})[_metric] = _cells(_words)

PRICING: Figures = {
    week: {"objective": _cells(words)} for week, *words in map(str.split, _PRICING.strip().splitlines())
}
