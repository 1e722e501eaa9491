"""Starts the program tlnmf that a wheel carries. A module of its own, so that it does not import numpy."""
import importlib.util
import os
import sys


def main() -> None:
    """Replaces this process by the program, which finds its libraries next to itself."""
    package = importlib.util.find_spec("tlnmf")
    if package is None or package.origin is None:
        sys.exit("tlnmf: the package tlnmf is not installed")
    folder = os.path.join(os.path.dirname(package.origin), "_lib")
    others = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = f"{folder}:{others}" if others else folder
    program = os.path.join(folder, "tlnmf")
    try:
        os.execv(program, ["tlnmf", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"tlnmf: cannot start {program}: {error.strerror}")


if __name__ == "__main__":
    main()
