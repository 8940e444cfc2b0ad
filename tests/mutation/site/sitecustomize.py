"""Read by each Python process that a test starts while mutation testing runs.

With a fault named in the environment, it is put in; while the map is made, the lines that the
process runs are written down for the test that started it.
"""

import os
import sys

if os.environ.get("TIERLINE_MUTANT"):
    from mutation.faults import Finder

    name, _, number = os.environ["TIERLINE_MUTANT"].rpartition(":")
    sys.meta_path.insert(0, Finder(name, int(number)))
elif os.environ.get("TIERLINE_MUTATION_CHILDREN") and os.environ.get("PYTEST_CURRENT_TEST"):
    from mutation.children import watch

    watch()
