/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/discovery_endpoint.h"

/* A callback of the web server, and its argument. */
struct each_discovery {
	void (*fn)(void *arg, const struct web_discovery *d);
	void *arg;
};

/* Pass the state of an entry to the web server. */
static void discovery_endpoint_show(void *ctx, const struct discovery_status *s)
{
	const struct each_discovery *e = ctx;
	const struct web_discovery d = { .job = s->job,
					 .name = s->name,
					 .line = s->line,
					 .targets = s->targets,
					 .is_waiting = s->is_waiting,
					 .source = s->source,
					 .error = s->error,
					 .failed_ms = s->failed_ms };

	e->fn(e->arg, &d);
}

/* Implement web_discoveries.each. */
static void discovery_endpoint_each(void *ctx,
				    void (*fn)(void *arg,
					       const struct web_discovery *d),
				    void *arg)
{
	struct each_discovery e = { .fn = fn, .arg = arg };

	discovery_visit(ctx, discovery_endpoint_show, &e);
}

struct web_discoveries discovery_endpoint(struct discovery *d)
{
	return (struct web_discoveries){ .ctx = d,
					 .each = discovery_endpoint_each };
}
