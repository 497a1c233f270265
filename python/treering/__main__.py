"""`python -m treering`: the command `treering` of the package."""

import sys
from pathlib import Path

from ._treering import run_program

run_program(Path(sys.executable).with_name("treering"), sys.argv[1:])
