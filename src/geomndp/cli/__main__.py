"""`python -m geomndp.cli` is `geomndp`."""

import sys

from geomndp.cli.main import main

sys.exit(main())
