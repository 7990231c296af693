"""Runs `python3 -m dtrain keep PATTERN... -- COMMAND...` where the client is installed."""

from .trial import main

main()
