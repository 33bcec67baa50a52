/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes Kubernetes discovery. The first byte chooses the entry below; the rest
 * are the answers to the requests, with a byte 0xff between them. Nothing goes
 * over a network.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "discovery/core/entry.h"
#include "discovery/core/kinds.h"
#include "tests/fuzz/sd_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ATTACH                                                   \
	"api_server: 'http://h', attach_metadata: {node: true, " \
	"namespace: true, deployment: true, job: true, cronjob: true}}"

static const char *const entries[] = {
	"{role: node, api_server: 'http://h'}",
	"{role: pod, api_server: 'http://h'}",
	"{role: pod, " ATTACH,
	"{role: service, " ATTACH,
	"{role: endpoints, api_server: 'http://h'}",
	"{role: endpoints, " ATTACH,
	"{role: endpointslice, " ATTACH,
	"{role: ingress, " ATTACH,
};

/* The requests that wait for their answers. */
static struct {
	VEC(struct http_request) v;
	size_t next;
} waiting;

void transfer_start(struct http_client *c UNUSED, const struct http_request *r)
{
	*vec_add(&waiting.v) = *r;
}

void http_cancel(struct http_client *c UNUSED, const void *ctx UNUSED)
{
}

void http_watch(struct http_client *c UNUSED, int fd UNUSED,
		unsigned events UNUSED, http_watch_fn fn UNUSED,
		void *ctx UNUSED)
{
}

void http_unwatch(struct http_client *c UNUSED, int fd UNUSED)
{
}

struct str http_response_header(const struct http_response *r UNUSED,
				const char *name UNUSED)
{
	return str_of("");
}

/* Answers the request that has waited longest, in two parts. */
static void answer(struct bytes text)
{
	struct http_request q = waiting.v.v[waiting.next++];
	struct http_response r = { .status = 200,
				   .content_type = "",
				   .location = "" };
	size_t half = text.len / 2;

	if (!q.sink(q.sink_ctx, (struct bytes){ text.ptr, half }) ||
	    !q.sink(q.sink_ctx,
		    (struct bytes){ text.ptr + half, text.len - half }))
		r.code = err_set(&r.err, ERR_IO, "aborted");
	q.done(q.ctx, &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct log log = { .level = LOG_ERROR + 1 };
	struct bytes input = { data + 1, size - 1 };
	struct provider p = { .kind = &provider_kubernetes, .log = &log };
	struct metrics *metrics;
	struct yaml y;

	if (size < 2 || data[0] >= ARRAY_SIZE(entries))
		return 0;
	metrics = metrics_new();
	p.failures = metrics_counter(metrics, "failures", "", NULL);
	yaml_parse(&y, "fuzz", bytes_of(str_of(entries[data[0]])));
	p.config = discovery_entry_decode(&y, y.root, p.kind);
	if (y.error_count)
		__builtin_trap();
	waiting.v.count = 0;
	waiting.next = 0;
	p.data = p.kind->open(&p);
	p.kind->refresh(&p);
	do {
		p.kind->call(&p);
		if (input.len && waiting.next < waiting.v.count)
			answer(take_answer(&input));
		else
			break;
	} while (true);
	check_found(&p);
	p.kind->close(&p);
	target_groups_list_fini(&p.found);
	metrics_free(metrics);
	yaml_fini(&y);
	return 0;
}
