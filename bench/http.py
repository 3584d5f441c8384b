"""What the API and the page cost: recall over HTTP, against the same recall in one's own process, in one run.

    python bench/http.py [--blocks 10000] [--clients 50] [--requests 20000] [--folder FOLDER]

What is measured, and how, stands in `bench/serve_http.py`. Files of this folder find one another because it comes first
where Python looks for modules, and this one is called like a module of Python's own; whoever imports `http` gets that.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

if __name__ == "__main__":
    from serve import run
    from serve_http import measured

    run(__doc__, measured)
else:
    elsewhere = [place for place in sys.path if Path(place).resolve() != Path(__file__).resolve().parent]
    meant = PathFinder.find_spec(__name__, elsewhere)
    assert meant
    assert meant.loader
    sys.modules[__name__] = module_from_spec(meant)
    meant.loader.exec_module(sys.modules[__name__])
