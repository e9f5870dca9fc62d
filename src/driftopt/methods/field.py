"""The methods of others that a comparison needs, as lines of the registry.

A builder checks the numbers of its method, and describes those that have a meaning of their own there.
"""

from collections.abc import Mapping

from driftopt.methods.entry import Entry
from driftopt.methods.field_descent import DESCENT
from driftopt.methods.field_models import MODELS
from driftopt.methods.field_scheduled import SCHEDULED

FIELD: Mapping[str, Entry] = {**SCHEDULED, **DESCENT, **MODELS}
