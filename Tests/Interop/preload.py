"""Functions of the system's library that behave as a test wants it, for one server."""

import shutil
import subprocess


def preload(agent, source):
    """Compiles the functions and has the server start with them instead of the system's own."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    assert compiler, "there is no C compiler"
    code, library = agent.folder / "shim.c", agent.folder / "shim.so"
    code.write_text(source)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, code, "-ldl"],
                   check=True, capture_output=True)
    agent.environment["LD_PRELOAD"] = str(library)
