/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page /remote_write: the receivers that this instance sends to, and what
 * this instance has received itself.
 */
#include <inttypes.h>

#include "base/xml.h"
#include "web/pages/page.h"

/* Callback for each receiver: write it as a row of the table. */
static void receiver_row(void *arg, const struct web_queue *q)
{
	struct buf *b = arg;

	buf_str(b, "<tr><td>");
	xml_escape_text(b, str_of(q->name));
	buf_str(b, "<td><code>");
	xml_escape_text(b, str_of(q->url));
	buf_printf(b,
		   "</code><td class=n>%u<td class=n>%" PRIu64
		   "<td class=n>%.1f MB",
		   q->shards, q->pending, (double)q->backlog_bytes / 1e6);
	buf_str(b, "<td>");
	page_time(b, q->sent_ms);
	buf_str(b, "<td>");
	page_time(b, q->answer_ms);
	buf_str(b, *q->last_error ? "<td class=down>" : "<td>");
	xml_escape_text(b, str_of(q->last_error));
}

/* Write what this instance has received. */
static void put_received(struct buf *b, const struct web_writer *w)
{
	struct web_writer_counts c = { 0 };

	buf_str(b, "<h2>Received</h2>");
	if (!w->enabled) {
		buf_str(b,
			"<p class=note>This instance does not receive profiles: start it with <code>--web.enable-remote-write-receiver</code>.");
		return;
	}
	if (w->counts)
		c = w->counts(w->ctx);
	buf_printf(
		b,
		"<p>%" PRIu64 " profiles stored since the start, %" PRIu64
		" refused, %" PRIu64
		" of these because another profile has the same series and time.",
		c.stored, c.refused, c.conflicts);
}

void page_remote_write(void *ctx, struct request *r, struct answer *a)
{
	const struct web *w = ctx;
	struct buf rows = { 0 };

	if (w->o.sender.each)
		w->o.sender.each(w->o.sender.ctx, receiver_row, &rows);
	page_begin(a, r);
	buf_str(&a->body, "<h2>Receivers</h2>");
	if (rows.len) {
		buf_str(&a->body,
			"<table><tr><th>Name<th>URL<th>Shards<th>In flight<th>Waiting in the WAL"
			"<th>Newest profile sent<th>Last success<th>Last error");
		buf_add(&a->body, rows.ptr, rows.len);
		buf_str(&a->body, "</table>");
	} else {
		buf_str(&a->body,
			"<p class=note>This instance sends to no receiver: see <code>remote_write</code> in the configuration.");
	}
	put_received(&a->body, &w->o.writer);
	page_end(a);
	buf_fini(&rows);
}
