/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the service discoveries that ask an HTTP API. The first byte chooses
 * the entry below; the rest are the answers to the requests, with a byte 0xff
 * between them. Nothing goes over a network.
 */
#include "base/mem.h"
#include "discovery/kind/kinds.h"
#include "discovery/provider/entry.h"
#include "tests/fuzz/sd_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUESTS_MAX 50

static const struct {
	const struct provider_kind *kind;
	const char *text;
} entries[] = {
	{ &provider_digitalocean, "{endpoint: 'http://h'}" },
	{ &provider_digitalocean, "{endpoint: 'http://h', role: databases}" },
	{ &provider_docker, "{host: 'unix:///s'}" },
	{ &provider_docker, "{host: 'tcp://h', match_first_network: false}" },
	{ &provider_dockerswarm, "{host: 'tcp://h', role: services}" },
	{ &provider_dockerswarm, "{host: 'tcp://h', role: tasks}" },
	{ &provider_dockerswarm, "{host: 'tcp://h', role: nodes}" },
	{ &provider_eureka, "{server: 'http://h'}" },
	{ &provider_hetzner, "{role: hcloud}" },
	{ &provider_hetzner, "{role: robot}" },
	{ &provider_linode, "{region: r}" },
	{ &provider_marathon, "{servers: ['http://h']}" },
	{ &provider_nomad, "{}" },
	{ &provider_puppetdb,
	  "{url: 'http://h', query: q, include_parameters: true}" },
};

/* The request that waits for its answer. */
static struct {
	http_done_fn done;
	void *ctx;
	int count;
} waiting;

void http_start(struct http_client *c UNUSED, const struct http_request *r)
{
	waiting.done = r->done;
	waiting.ctx = r->ctx;
	waiting.count++;
}

void http_cancel(struct http_client *c UNUSED, const void *ctx UNUSED)
{
	waiting.done = NULL;
}

/* Answers the request that waits. */
static void answer(struct bytes text)
{
	struct http_response r = { .status = 200,
				   .content_type = "",
				   .location = "" };
	http_done_fn done = waiting.done;

	buf_add(&r.body, text.ptr, text.len);
	waiting.done = NULL;
	done(waiting.ctx, &r);
	buf_fini(&r.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct log log = { .level = LOG_ERROR + 1 };
	struct bytes input = { data + 1, size - 1 };
	struct provider p = { .log = &log };
	struct metrics *metrics;
	struct yaml y;

	if (size < 2 || data[0] >= ARRAY_SIZE(entries))
		return 0;
	metrics = metrics_new();
	p.kind = entries[data[0]].kind;
	p.failures = metrics_counter(metrics, "failures", "", NULL);
	yaml_parse(&y, "fuzz", bytes_of(str_of(entries[data[0]].text)));
	p.config = sd_entry_decode(&y, y.root, p.kind);
	if (y.error_count)
		__builtin_trap();
	waiting.count = 0;
	p.data = p.kind->open(&p);
	p.kind->refresh(&p);
	while (waiting.done && waiting.count < REQUESTS_MAX && input.len)
		answer(take_answer(&input));
	check_found(&p);
	p.kind->close(&p);
	target_groups_list_fini(&p.found);
	metrics_free(metrics);
	yaml_fini(&y);
	return 0;
}
