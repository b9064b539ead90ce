#!/usr/bin/env bash
# The reading commands against the JDK's jfr and against damaged and foreign files: read_tools.py.
#
#   O=build/release PYTHON=python3 tests/e2e/read_tools.sh
#
# Out: a line per test, then `N passed, N failed, N skipped`.
exec "${PYTHON:-/usr/bin/python3}" tests/e2e/read_tools.py
