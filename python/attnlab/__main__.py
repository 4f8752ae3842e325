"""`python -m attnlab`: the command line of attnlab."""

import sys

from ._attnlab import command

sys.exit(command(sys.argv[1:]))
