"""Files of the web are in the executable whole, each as long as it is in the sources.

usage: embedded.py EXECUTABLE
"""

import collections
import pathlib
import re
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "Sources"
EMBED = re.compile(r'char (\w+)\[\] = \{\n#embed "([^"]+)"')


def wanted():
    """How many arrays of each name and length there are to be."""
    found = collections.Counter()
    for file in sorted(SOURCES.glob("*/*.c")):
        for name, path in EMBED.findall(file.read_text()):
            found[name, (file.parent / path).stat().st_size] += 1
    return found


def embedded(executable, names):
    said = subprocess.run(
        ["nm", "-S", executable], stdout=subprocess.PIPE, check=True, text=True).stdout
    found = collections.Counter()
    for line in said.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[3] in names:
            found[fields[3], int(fields[1], 16)] += 1
    return found


def main(executable):
    files = wanted()
    assert len(files) > 40, files
    found = embedded(executable, {name for name, _ in files})
    wrong = [f"{name}: {size} bytes of a file are not in it" for name, size in files - found]
    wrong += [f"{name}: {size} bytes in it are no file's" for name, size in found - files]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{sum(files.values())} files of the web are in it, each whole")


if __name__ == "__main__":
    main(sys.argv[1])
