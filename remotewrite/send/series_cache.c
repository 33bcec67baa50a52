/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/series_cache.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"
#include "remotewrite/wire/write_builder.h"

/*
 * Number of series at which the cache is cleared. The texts of a series take
 * some 500 bytes.
 */
#define SERIES_MAX 20000

/* One series. */
struct entry {
	uint64_t key;    /* hash of the labels in the log */
	struct str from; /* the labels in the log, encoded */
	struct sent_series to;
};

struct series_cache {
	struct arena arena; /* texts of the entries */
	VEC(struct entry) entries;
	struct table index; /* finds an entry by `from` */
};

struct series_cache *series_cache_new(void)
{
	return mem_new(struct series_cache);
}

void series_cache_clear(struct series_cache *c)
{
	arena_fini(&c->arena);
	table_fini(&c->index);
	vec_fini(&c->entries);
}

void series_cache_free(struct series_cache *c)
{
	if (!c)
		return;
	series_cache_clear(c);
	mem_free(c);
}

/* Callback of the table: whether the entry `number` has the labels `key`. */
static bool series_cache_same(const void *ctx, uint32_t number, const void *key)
{
	const struct series_cache *c = ctx;
	const struct str *from = key;

	return str_eq(c->entries.v[number].from, *from);
}

/*
 * Copy `labels`, add the external labels that are missing in the copy, then
 * apply the rules to the copy. Sets *out to the resulting labels, or to NULL if
 * a rule drops the series.
 */
static int series_cache_relabel(struct labels *labels,
				const struct series_rules *rules,
				struct labels **out, struct err *err)
{
	struct labels_builder b = { 0 };
	int rc;

	*out = NULL;
	labels_set_all(&b, labels);
	for (size_t i = 0; i < rules->external_count; i++) {
		const struct label *l = &rules->external[i];

		if (!labels_builder_get(&b, l->name).len)
			labels_set(&b, l->name, l->value);
	}
	rc = relabel_run(rules->relabel, NULL, &b, NULL, err);
	if (rc == RELABEL_KEPT)
		rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}

/* Fill `e` for the series with the encoded labels `encoded`. */
static int series_cache_make(struct series_cache *c, struct bytes encoded,
			     const struct series_rules *rules, struct entry *e,
			     struct err *err)
{
	struct labels *from = NULL;
	struct labels *to = NULL;
	struct buf text = { 0 };
	int rc = labels_decode(encoded, &from, err);

	if (!rc)
		rc = series_cache_relabel(from, rules, &to, err);
	if (!rc && to) {
		write_labels_encode(to, &text);
		e->to.labels = bytes_of(
			arena_str(&c->arena, str_from(buf_bytes(&text))));
		e->to.hash = to->hash;
	}
	if (!rc)
		e->from = arena_str(&c->arena, str_from(encoded));
	buf_fini(&text);
	labels_unref(from);
	labels_unref(to);
	return rc;
}

int series_cache_find(struct series_cache *c, struct bytes labels,
		      const struct series_rules *rules, struct sent_series *out,
		      struct err *err)
{
	struct str from = str_from(labels);
	uint64_t key = hash_key(labels);
	struct entry e = { .key = key };
	uint32_t n = table_find(&c->index, key, series_cache_same, c, &from);
	int rc;

	if (n != TABLE_NONE) {
		*out = c->entries.v[n].to;
		return 0;
	}
	if (c->entries.count >= SERIES_MAX)
		series_cache_clear(c);
	rc = series_cache_make(c, labels, rules, &e, err);
	if (rc)
		return rc;
	table_add(&c->index, key, (uint32_t)c->entries.count);
	*vec_add(&c->entries) = e;
	*out = e.to;
	return 0;
}
