// SPDX-License-Identifier: Apache-2.0
// Explore: what the fleet did over time, and what the profiles of a range say.
import type { ProfileType } from '../api/answer.ts';
import { Upper } from '../charts/upper.tsx';
import { Clock } from '../parts/clock.tsx';
import { Frame } from '../parts/notice.tsx';
import { Query, useFirstType } from '../parts/query.tsx';
import type { Context } from '../state/context.ts';
import { Views } from '../views/views.tsx';

/** The smallest configuration that collects something. */
const smallest = `scrape_configs:
- job_name: app
  static_configs: [{targets: ['localhost:6060']}]
ebpf: {enabled: true}`;

/** What the page shows if nothing is stored. */
function Empty(context: Context) {
  return (
    <Frame<ProfileType[]> {...context} of="types">
      {types =>
        !types.length && (
          <div class="empty">
            <p>
              Nothing is stored yet. The page <a href="targets">Targets</a> shows what is scraped, and what went wrong.
            </p>
            <p>
              A configuration that profiles a program with Go's pprof endpoints on port 6060, and all programs of this
              machine:
            </p>
            <pre>{smallest}</pre>
            <p>
              To use a changed file, send the server the signal HUP: <code>kill -HUP PID</code>. The command{' '}
              <code>everprof check config FILE</code> says before that what is wrong. Profiles that exist already are
              read by <code>everprof tsdb import</code>.
            </p>
          </div>
        )
      }
    </Frame>
  );
}

export function Explore(context: Context) {
  useFirstType(context);
  return (
    <div class="explore">
      <div class="bar">
        <Query {...context} />
        <Clock {...context} />
      </div>
      <Empty {...context} />
      {context.state.query && <Upper {...context} />}
      {context.state.query && <Views {...context} />}
    </div>
  );
}
