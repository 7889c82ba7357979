"""Counts checks, and says of each whether it held."""
import sys


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def that(self, what, good, detail=""):
        """Say whether a check held, and go on."""
        self.passed += bool(good)
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'}  {what}{f': {detail}' if detail != '' else ''}", flush=True)

    def equal(self, what, got, want):
        self.that(what, got == want, got if got == want else f"got {got!r}, want {want!r}")

    def end(self):
        """Leave the program: exit code 1 where a check failed."""
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)
