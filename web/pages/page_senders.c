/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page /senders: the programs that push profiles to this instance, and why
 * profiles of theirs were not stored.
 */
#include <inttypes.h>

#include "base/xml.h"
#include "web/pages/page.h"

/* Write a cell of the table. */
static void page_senders_cell(struct buf *b, const char *text)
{
	buf_str(b, "<td>");
	xml_escape_text(b, str_of(*text ? text : "–"));
}

/* Callback for each sender: write it as a row of the table. */
static void page_senders_row(void *arg, const struct web_push_sender *s)
{
	struct buf *b = arg;

	buf_str(b, "<tr>");
	page_senders_cell(b, s->service);
	page_senders_cell(b, s->agent);
	page_senders_cell(b, s->address);
	page_senders_cell(b, s->user);
	page_senders_cell(b, s->protocol);
	buf_printf(b,
		   "<td class=n>%" PRIu64 "<td class=n>%" PRIu64
		   "<td class=n>%" PRIu64 "<td class=n>%" PRIu64,
		   s->stored, s->delayed, s->refused, s->dropped);
	buf_str(b, "<td>");
	page_time(b, s->last_ms);
	buf_str(b, *s->why ? "<td class=down>" : "<td>");
	if (s->why_ms) {
		page_time(b, s->why_ms);
		buf_str(b, ": ");
		xml_escape_text(b, str_of(s->why));
	}
}

void page_senders(void *ctx, struct request *r, struct answer *a)
{
	const struct web *w = ctx;
	const struct web_pusher *p = &w->o.pusher;
	struct buf rows = { 0 };

	if (p->each)
		p->each(p->ctx, page_senders_row, &rows);
	page_begin(a, r);
	buf_str(&a->body, "<h2>Senders</h2>");
	if (rows.len) {
		buf_str(&a->body,
			"<p class=note>The programs that have pushed profiles since the start, the latest first. Delayed ones were not stored, and the client may send them again."
			"<table><tr><th>Service<th>Client<th>Address<th>User<th>Protocol"
			"<th>Stored<th>Delayed<th>Refused<th>Dropped<th>Last<th>Last profile that was not stored");
		buf_add(&a->body, rows.ptr, rows.len);
		buf_str(&a->body, "</table>");
	} else {
		buf_str(&a->body,
			p->enabled ?
				"<p class=note>No program has pushed a profile since the start. The address of this instance is all that an SDK of Pyroscope needs." :
			w->o.grpc_address ?
				"<p class=note>No program has pushed a profile since the start. This instance takes profiles of OpenTelemetry over gRPC; for those that are pushed over HTTP, start it with <code>--web.enable-push-receiver</code>, too." :
				"<p class=note>This instance does not take profiles that programs push: start it with <code>--web.enable-push-receiver</code>, or with <code>--otlp.grpc.listen-address</code> for OpenTelemetry over gRPC.");
	}
	page_end(a);
	buf_fini(&rows);
}
