"""Every system of the comparison behind one protocol, listed in one registry.

>>> import numpy as np
>>> from grande_gnn.baselines import SYSTEMS
>>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
>>> SYSTEMS["opf"].make().fit(X, ["low", "", "high", ""]).transduction_.tolist()
['low', 'low', 'high', 'high']
"""

from grande_gnn.baselines.systems import SYSTEMS, SystemEntry, find_system, register_system

__all__ = ["SYSTEMS", "SystemEntry", "find_system", "register_system"]
