#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""200 slow readers of exports, 200 merges of a 25 MB profile, 100 flame graphs
of one with 10 million locations, all at once for two minutes."""
import os

from harness import Suite
from load import attack, finish

suite = Suite()
SECONDS = float(os.environ.get('EVERPROF_SECONDS', '120'))


@suite.test
def heavy_load_stays_within_limits(d):
    limits = 256 + 128
    e, load, small, peak = attack(d, SECONDS, 200, 200, 100, 25 << 20, 10000000, [])
    took = finish(e, load)
    print(
        f'RssAnon at most {peak:.0f} MB, {peak / limits:.2f} times the limits; '
        f'{small.count} small requests, the slowest {small.slowest:.2f} s; '
        f'SIGTERM took {took:.1f} s; {load.answers}'
    )
    assert peak <= 1.5 * limits, peak
    assert small.slowest <= 1, small.slowest
    assert not load.wrong, load.wrong[:3]
    assert took <= 16, took


suite.main()
