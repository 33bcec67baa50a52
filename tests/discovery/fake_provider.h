/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider of a service discovery, without a manager: a test opens it for an
 * entry, and reads what it has found as text.
 *
 * Ownership: fake_provider_close() frees everything.
 * Threads: one thread.
 */
#ifndef TESTS_DISCOVERY_FAKE_PROVIDER_H
#define TESTS_DISCOVERY_FAKE_PROVIDER_H

#include "base/metrics.h"
#include "discovery/core/entry.h"
#include "discovery/core/provider.h"
#include "tests/support/fake_http.h"

struct fake_provider {
	struct provider p;
	struct log log;
	struct metrics *metrics;
	struct yaml y;
	struct buf text;
};

/* Decode an entry, and prepare a provider that is not open yet. */
static void fake_provider_init(struct fake_provider *f,
			       const struct provider_kind *kind,
			       const char *entry)
{
	*f = (struct fake_provider){ .log = { .level = LOG_ERROR + 1 } };
	f->metrics = metrics_new();
	f->p.kind = kind;
	f->p.log = &f->log;
	f->p.failures = metrics_counter(f->metrics, "failures", "", NULL);
	yaml_parse(&f->y, "test", bytes_of(str_of(entry)));
	f->p.config = discovery_entry_decode(&f->y, f->y.root, kind);
	cr_assert(!f->y.error_count, "%.*s", STR_ARG(yaml_first_error(&f->y)));
}

/* Open a provider for an entry without mistakes. */
static inline void fake_provider_open(struct fake_provider *f,
				      const struct provider_kind *kind,
				      const char *entry)
{
	fake_provider_init(f, kind, entry);
	f->p.data = kind->open(&f->p);
}

/* Free what fake_provider_init() has made. */
static void fake_provider_fini(struct fake_provider *f)
{
	target_groups_list_fini(&f->p.found);
	metrics_free(f->metrics);
	yaml_fini(&f->y);
	buf_fini(&f->text);
	fake_http_end();
}

static inline void fake_provider_close(struct fake_provider *f)
{
	f->p.kind->close(&f->p);
	fake_provider_fini(f);
}

static void fake_provider_put(struct buf *out, const struct label_list *l)
{
	for (; l; l = l->rest) {
		for (size_t i = 0; i < l->count; i++)
			buf_printf(out, " %.*s=%.*s", STR_ARG(l->v[i].name),
				   STR_ARG(l->v[i].value));
	}
}

/* Write target groups: for each target a line with its labels. */
static void fake_provider_write(struct buf *out, const struct target_groups *g)
{
	for (size_t k = 0; k < g->count; k++) {
		for (size_t t = 0; t < g->v[k].target_count; t++) {
			if (out->len)
				buf_byte(out, '\n');
			buf_byte(out, '>');
			fake_provider_put(out, &g->v[k].targets[t]);
			fake_provider_put(out, &g->v[k].labels);
		}
	}
}

/* Return what was found last: a line for each target. */
static inline struct str fake_provider_found(struct fake_provider *f)
{
	buf_reset(&f->text);
	for (size_t i = 0; i < f->p.found.count; i++)
		fake_provider_write(&f->text, f->p.found.v[i]);
	return str_from(buf_bytes(&f->text));
}

/* Return why the last refresh failed; "": it did not. */
static inline const char *fake_provider_error(const struct fake_provider *f)
{
	return *f->p.failure.source ? f->p.failure.err.msg : "";
}

#endif
