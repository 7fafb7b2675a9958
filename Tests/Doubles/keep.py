"""Runs a program until standard input ends: whoever started it cannot leave it behind.

usage: keep.py PROGRAM [ARGUMENTS…]
"""

import subprocess
import sys

program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
try:
    sys.stdin.read()
finally:
    program.kill()
    program.wait()
