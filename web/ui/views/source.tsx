// SPDX-License-Identifier: Apache-2.0
// The source lines of one function, with their weights.
import type { SourceAnswer } from '../api/answer.ts';
import { formatScaled, formatShare } from '../model/unit.ts';
import type { Context } from '../state/context.ts';

/** How heavy a line is among those of its function, as a class. */
function heatOf(value: number, most: number): string {
  return value && most ? `heat${Math.min(4, Math.max(1, Math.ceil(4 * Math.abs(value / most))))}` : '';
}

export function Source({ data }: Context & { data: SourceAnswer }) {
  return (
    <div class="source">
      {data.functions.map(f => (
        <section key={f.name + f.file}>
          <h2>
            {f.name} <span class="dim">{f.file}</span>
          </h2>
          {!f.found && (
            <p class="dim">
              The text of this file is not on the server: only line numbers are shown. Start everprof with
              --query.source-path=FOLDER to see it.
            </p>
          )}
          <table class="lines">
            <thead>
              <tr>
                <th class="number">Self</th>
                <th class="number">Total</th>
                <th class="number">Share</th>
                <th class="number">Line</th>
                <th>Source</th>
              </tr>
            </thead>
            <tbody>
              {f.lines.map(l => (
                <tr key={l.line} class={heatOf(l.cum, f.cum)}>
                  <td class="number">{l.flat ? formatScaled(l.flat, data) : ''}</td>
                  <td class="number">{l.cum ? formatScaled(l.cum, data) : ''}</td>
                  <td class="number">{l.cum ? formatShare(l.cum, data.total) : ''}</td>
                  <td class="number dim">{l.line}</td>
                  <td>
                    <code>{l.text}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
      {data.more > 0 && <p class="dim">{data.more} more functions match.</p>}
    </div>
  );
}
