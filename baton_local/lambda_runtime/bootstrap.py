"""The start of Lambda's Python runtime: it sets the search path and runs the runtime interface client.

Processes that a function starts do not inherit this path: ``PYTHONPATH`` is the runtime's folder alone, as in Lambda.
"""

import os
import sys

SITE_PACKAGES = f"/opt/python/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"

if __name__ == "__main__":
    sys.path[0:1] = [os.environ["LAMBDA_TASK_ROOT"], SITE_PACKAGES, "/opt/python"]
    from awslambdaric.__main__ import main  # type: ignore[import-not-found]  # of Lambda's Python, not of ours

    main(sys.argv)
