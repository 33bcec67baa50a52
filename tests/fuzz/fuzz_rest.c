/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the service discoveries that ask an HTTP API. The first byte chooses
 * the entry below; the rest are the answers to the requests of two refreshes,
 * with a byte 0xff between them. An answer that begins with a byte 0xfe has the
 * status that the byte after it chooses. Nothing goes over a network.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "discovery/core/entry.h"
#include "discovery/core/kinds.h"
#include "tests/fuzz/sd_input.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
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
	{ &provider_ec2,
	  "{region: r, access_key: a, secret_key: s, role_arn: x}" },
	{ &provider_ec2, "{}" },
	{ &provider_gce, "{project: p, zone: z}" },
	{ &provider_azure,
	  "{subscription_id: s, authentication_method: ManagedIdentity}" },
	{ &provider_openstack,
	  "{identity_endpoint: 'http://h', userid: u, password: p,"
	  " region: RegionOne, role: hypervisor}" },
	{ &provider_openstack,
	  "{identity_endpoint: 'http://h', userid: u, password: p,"
	  " region: RegionOne, role: instance}" },
	{ &provider_openstack,
	  "{identity_endpoint: 'http://h', userid: u, password: p,"
	  " region: RegionOne, role: loadbalancer}" },
	{ &provider_consul, "{server: 'h:1', tags: [a], tag_separator: ';'}" },
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

/* Only a provider that is closed cancels its requests. */
void http_cancel(struct http_client *c UNUSED, const void *ctx UNUSED)
{
}

struct str http_response_header(const struct http_response *r UNUSED,
				const char *name)
{
	return str_of(strcmp(name, "X-Consul-Index") ? "text" : "7");
}

/* Answers the request that has waited longest. */
static void answer(struct bytes text)
{
	static const long statuses[] = { 201, 401, 403, 404, 500 };
	struct http_request q = waiting.v.v[waiting.next++];
	struct http_response r = { .status = 200,
				   .content_type = "",
				   .location = "" };

	if (text.len >= 2 && text.ptr[0] == 0xfe) {
		r.status = statuses[text.ptr[1] % ARRAY_SIZE(statuses)];
		text.ptr += 2;
		text.len -= 2;
	}
	buf_add(&r.body, text.ptr, text.len);
	q.done(q.ctx, &r);
	buf_fini(&r.body);
}

/* Refreshes a provider, and answers its requests. */
static void refresh(struct provider *p, struct bytes *input)
{
	p->kind->refresh(p);
	while (waiting.next < waiting.v.count && waiting.next < REQUESTS_MAX &&
	       input->len) {
		answer(take_answer(input));
		if (p->kind->call)
			p->kind->call(p);
	}
	check_found(p);
}

/* Credentials of this machine must not be found. */
int LLVMFuzzerInitialize(int *argc UNUSED, char ***argv UNUSED)
{
	clearenv();
	return 0;
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
	p.config = discovery_entry_decode(&y, y.root, p.kind);
	if (y.error_count)
		__builtin_trap();
	waiting.v.count = 0;
	waiting.next = 0;
	p.data = p.kind->open(&p);
	refresh(&p, &input);
	refresh(&p, &input);
	p.kind->close(&p);
	target_groups_list_fini(&p.found);
	metrics_free(metrics);
	yaml_fini(&y);
	return 0;
}
