"""The ``iclayout`` program: records, transcripts, suites and decks outside pytest. A module a verb."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from pytest_iclayout import __version__
from pytest_iclayout.cli import doctor, drc, replay, results, rules, suite
from pytest_iclayout.cli.verbs import EXIT_INTERRUPTED, EXIT_USAGE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns 0, 1 when something that was asked about does not hold, 2 for bad input."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name that the terminal cannot show must not cost the result
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, say) has seen enough; Python flushes once more at exit and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("iclayout: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except OSError as error:  # of input each verb tells itself
        print(f"iclayout: {error.filename or 'the output cannot be written'}: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_USAGE
    except ValueError as error:  # every error of ours about a user's input is one
        sys.stdout.flush()  # what could be shown comes before what could not, also through a pipe
        print(f"iclayout: {error}", file=sys.stderr)
        return EXIT_USAGE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="iclayout",
        description="Look at trial records and transcripts of pytest-iclayout, check suites, run DRC decks. Trials "
        "themselves are run by pytest: pytest --pyargs iclayout_tasks --agent=mock -k tier1",
    )
    parser.add_argument("--version", action="version", version=f"pytest-iclayout {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for module in (results, replay, suite, rules, drc, doctor):
        module.add_verb(verbs)
    return parser
