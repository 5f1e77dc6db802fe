"""Where `tminus` and `python -m tminus` begin, so that an interrupt finds somebody from the first import on."""

import sys


def start() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        from tminus.cli.main import main  # noqa: PLC0415 - an interrupt while it loads must not show a traceback.

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(start())
