/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes and seconds that scraping costs, by profile type, so that an operator
 * sees which type to ask for less often (docs/decisions.md, 106).
 */
#include "scrape/run/type_cost.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "scrape/run/scraper.h"

/*
 * Maximum number of types that have counters, including "other". Relabelling
 * and index pages (/debug/pprof/) can name any number of types; all further
 * types are counted as "other".
 */
#define TYPES_SHOWN 32

/* The counters of one profile type. */
struct type_cost {
	char *type;
	struct metric *bytes;
	struct metric *took;
};

static const char seconds_name[] = "everprof_target_scrape_seconds_total";

/* Register the counters of a type, whose name is copied. */
static struct type_cost cost_new(struct metrics *m, struct str type)
{
	char *name = mem_strndup(type);
	const struct metric_labels labels = { { "type" }, { name } };
	struct type_cost c = {
		.type = name,
		.bytes = metrics_counter(
			m, "everprof_target_scraped_bytes_total",
			"Bytes of profiles as received, by profile type.",
			&labels),
		.took = metrics_counter(
			m, seconds_name,
			"Seconds spent in scrapes, by profile type, including the duration of the profile itself.",
			&labels),
	};

	metrics_scale(m, seconds_name, 1e-9);
	return c;
}

/*
 * The counters of a type, or of "other" if too many types have counters; the
 * caller holds costs_mu. "other" is always in the list, so the recursion ends.
 */
static struct type_cost *cost_locked(struct scraper *s, struct str type)
	REQUIRES(s->costs_mu)
{
	for (size_t i = 0; i < s->costs.count; i++) {
		if (str_is(type, s->costs.v[i].type))
			return &s->costs.v[i];
	}
	if (s->costs.count == TYPES_SHOWN)
		return cost_locked(s, str_of("other"));
	*vec_add(&s->costs) = cost_new(s->o.metrics, type);
	return &s->costs.v[s->costs.count - 1];
}

void type_cost_init(struct scraper *s)
{
	mutex_init(&s->costs_mu);
	*vec_add(&s->costs) = cost_new(s->o.metrics, str_of("other"));
}

void type_cost_add(struct scraper *s, const struct target *t, size_t bytes,
		   int64_t took_ns)
{
	struct str type = labels_get(t->spec.labels, str_of(LABEL_NAME));
	struct type_cost c;

	mutex_lock(&s->costs_mu);
	c = *cost_locked(s, t->spec.is_index ? str_of("other") : type);
	mutex_unlock(&s->costs_mu);
	metric_add(c.bytes, (int64_t)bytes);
	metric_add(c.took, took_ns);
}

void type_cost_free(struct scraper *s)
{
	for (size_t i = 0; i < s->costs.count; i++)
		mem_free(s->costs.v[i].type);
	vec_fini(&s->costs);
	mutex_destroy(&s->costs_mu);
}
