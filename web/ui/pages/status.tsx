// SPDX-License-Identifier: Apache-2.0
// Status: build, storage, cardinality, running queries, flags, configuration.
import type { ComponentChildren } from 'preact';
import type { Count, Runtime, RunningQuery, Tsdb } from '../api/answer.ts';
import { formatTime } from '../model/time.ts';
import { formatValue } from '../model/unit.ts';
import { Frame } from '../parts/notice.tsx';
import type { Context } from '../state/context.ts';

/** What the sizes of the storage are of; a size with another name is shown by this name. */
const sizes: Record<string, string> = {
  blocks: 'blocks on disk',
  wal: 'write-ahead log on disk',
  ballast: 'ballast on disk: reserved, and given up when the disk is full',
  values: 'values of head blocks on disk',
  groups: 'chunk metadata of head blocks on disk',
};

/** Flags that are numbers of bytes. */
const ofBytes = /memory|size|budget|rate$/;

/** The value of a flag; a large number of bytes also in the unit that suits it. */
function flagText(name: string, value: string): string {
  return ofBytes.test(name) && /^\d{4,}$/.test(value) ? `${value} (${formatValue(Number(value), 'bytes')})` : value;
}

function Section<T>(props: Context & { name: string; title: string; children: (data: T) => ComponentChildren }) {
  return (
    <section>
      <h2>{props.title}</h2>
      <Frame<T> {...props} of={props.name} />
    </section>
  );
}

function Pairs({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <table class="pairs">
      <tbody>
        {rows.map(([k, v]) => (
          <tr key={k}>
            <th scope="row">{k}</th>
            <td>{v}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Counts({ title, rows }: { title: string; rows: Count[] }) {
  return (
    <div>
      <h3>{title}</h3>
      <Pairs rows={rows.map(c => [c.name, c.value])} />
    </div>
  );
}

function Server(context: Context) {
  const utc = context.state.tz === 'utc';

  return (
    <Section<Runtime> {...context} name="runtimeinfo" title="Server">
      {d => (
        <>
          {d.reloadConfigError && (
            <div class="notice bad" role="alert">
              The last reload of the configuration failed; the one before is in use. {d.reloadConfigError}
            </div>
          )}
          <Pairs
            rows={[
              ['started', formatTime(Date.parse(d.startTime), utc)],
              ['configuration of', formatTime(Date.parse(d.lastConfigTime), utc)],
              ['time of the server', formatTime(Date.parse(d.serverTime), utc)],
              ['working directory', d.CWD],
              ['retention', d.storageRetention === '0s' ? 'no limit by time' : d.storageRetention],
            ]}
          />
        </>
      )}
    </Section>
  );
}

export function StatusPage(context: Context) {
  const utc = context.state.tz === 'utc';

  return (
    <div class="status">
      <div class="columns">
        <Section<Record<string, string>> {...context} name="buildinfo" title="Build">
          {d => <Pairs rows={Object.entries(d)} />}
        </Section>
        <Server {...context} />
      </div>
      <Section<Tsdb> {...context} name="tsdb" title="Storage">
        {d => (
          <>
            <Pairs
              rows={[
                ['series in head blocks', d.headStats.numSeries],
                ['profiles not yet flushed', d.headStats.numUnflushedProfiles],
                ['blocks', d.blockStats.numBlocks],
                ['profiles in blocks', d.blockStats.numSamples],
                ...Object.entries(d.bytes).map(([k, v]): [string, string] => [sizes[k] ?? k, formatValue(v, 'bytes')]),
              ]}
            />
            <div class="columns">
              <Counts title="Series by profile type" rows={d.seriesCountByMetricName} />
              <Counts title="Values by label" rows={d.labelValueCountByLabelName} />
              <Counts title="Series by label and value" rows={d.seriesCountByLabelValuePair} />
            </div>
          </>
        )}
      </Section>
      <Section<RunningQuery[]> {...context} name="queries" title="Running queries">
        {d =>
          d.length === 0 ? (
            <p class="empty">None.</p>
          ) : (
            <table>
              <thead>
                <tr>
                  <th>Path</th>
                  <th>Selector</th>
                  <th>User</th>
                  <th>Started</th>
                  <th class="number">Profiles</th>
                  <th class="number">Memory</th>
                </tr>
              </thead>
              <tbody>
                {d.map(q => (
                  <tr key={q.id}>
                    <td>{q.path}</td>
                    <td>{q.query}</td>
                    <td>{q.user}</td>
                    <td>{formatTime(q.started, utc)}</td>
                    <td class="number">
                      {q.done} of {q.profiles}
                    </td>
                    <td class="number">{formatValue(q.bytes, 'bytes')}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Section>
      <Section<Record<string, string>> {...context} name="flags" title="Flags">
        {d => (
          <div class="flags">
            <Pairs rows={Object.entries(d).map(([k, v]) => [k, flagText(k, v)])} />
          </div>
        )}
      </Section>
      <Section<{ yaml: string }> {...context} name="config" title="Configuration">
        {d => <pre tabIndex={0}>{d.yaml}</pre>}
      </Section>
      <p>
        Other pages of the server: <a href="senders">Senders</a> (programs that push profiles),{' '}
        <a href="remote_write">Remote write</a>, <a href="metrics">Metrics</a>
      </p>
    </div>
  );
}
