# SPDX-License-Identifier: Apache-2.0
"""The arguments of a script, or its usage if they are not what it takes."""
import sys


def arguments(doc, least, most):
    given = sys.argv[1:]
    if not least <= len(given) <= most or any(a.startswith('-') for a in given):
        raise SystemExit(doc)
    return given
