/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database for tests of queries, whose profiles are written as text:
 * "f=10,4 main>f@k:v=3,1" is a profile with two stacks, the second of them main
 * calling f, with the label k, and two values each. What a query returns is compared as text of
 * the same form.
 */
#ifndef TESTS_QUERY_STORE_H
#define TESTS_QUERY_STORE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "model/types.h"
#include "pprof/columns/columns.h"
#include "pprof/profile/profile.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/profile.h"
#include "tsdb/open/tsdb.h"
#include "tsdb/query/querier.h"

#define STORE_NOW   1700003600000LL
#define STORE_NAMES 32 /* functions and types of one profile */

struct store {
	struct tempdir dir;
	struct metrics *metrics;
	struct clock clock;
	struct tsdb_options o;
	struct tsdb *db;
};

/* One profile to be stored. */
struct made {
	int64_t ms;
	const char *stacks;
	int64_t duration_ns;
	bool damaged;      /* its hash is wrong */
	const char *types; /* separated by spaces; NULL: those of the test */
	const char *build; /* build ID of its binary; NULL: it has no mapping */
};

/*
 * ROW is a profile with a time. The profile of LASTING has a duration, that of
 * BAD is damaged, that of TYPED has its own types, and that of BUILT is of a
 * build.
 */
#define ROW(when, text)                        \
	{                                      \
		.ms = (when), .stacks = (text) \
	}
#define LASTING(when, text)                                      \
	{                                                        \
		.ms = (when), .stacks = (text), .duration_ns = 9 \
	}
#define BAD(when, text)                                         \
	{                                                       \
		.ms = (when), .stacks = (text), .damaged = true \
	}
#define TYPED(when, text, type)                                 \
	{                                                       \
		.ms = (when), .stacks = (text), .types = (type) \
	}

#define BUILT(when, text, id)                                     \
	{                                                         \
		.ms = (when), .stacks = (text), .duration_ns = 9, \
		.build = (id)                                     \
	}

static inline void store_reopen(struct store *s)
{
	struct err err = { .msg = "" };

	tsdb_close(s->db);
	s->db = NULL;
	cr_assert(!tsdb_open(&s->o, &s->db, &err), "%s", err.msg);
}

static inline struct store *store_open(void)
{
	struct store *s = mem_new(struct store);

	s->dir = tempdir_make();
	s->metrics = metrics_new();
	clock_set(&s->clock, STORE_NOW);
	s->o = (struct tsdb_options){ .path = s->dir.path,
				      .metrics = s->metrics,
				      .clock = &s->clock,
				      .columns = &codec_columns,
				      .sync_ms = 3600000,
				      .maintain_ms = -1,
				      .wal_budget = 64 * MIB };
	store_reopen(s);
	return s;
}

static inline void store_close(struct store *s)
{
	tsdb_close(s->db);
	metrics_free(s->metrics);
	tempdir_fini(&s->dir);
	mem_free(s);
}

/*
 * Returns the time of a minute. Minute 0 is an hour before STORE_NOW, because
 * small numbers are easier to read.
 */
static inline int64_t store_at(int64_t minute)
{
	return STORE_NOW - 3600000 + minute * 60000;
}

/* The texts of a profile, each with its number in the string table. */
struct store_texts {
	struct str v[STORE_NAMES];
	size_t count;
};

static inline unsigned store_text(struct store_texts *t, struct str s)
{
	for (size_t i = 0; i < t->count; i++) {
		if (str_eq(t->v[i], s))
			return (unsigned)i;
	}
	cr_assert(t->count < STORE_NAMES);
	t->v[t->count] = s;
	return (unsigned)t->count++;
}

/* Write the label "k:v" of a sample. */
static inline void store_label(struct buf *sample, struct store_texts *t,
			       struct str text)
{
	struct buf label = { 0 };
	struct str value;
	struct str key = str_cut(text, ':', &value);

	profile_number(&label, 1, store_text(t, key));
	profile_number(&label, 2, store_text(t, value));
	profile_bytes(sample, 3, &label);
	buf_fini(&label);
}

/* Write one sample, "main>f@k:v=10,4", and add its values to the totals. */
static inline void store_sample(struct buf *out, struct store_texts *t,
				unsigned first, struct str text,
				int64_t *totals)
{
	struct str values;
	struct str labels;
	struct str path = str_cut(str_cut(text, '=', &values), '@', &labels);
	struct str frames[STORE_NAMES];
	size_t depth = 0;
	struct buf sample = { 0 };
	struct buf part = { 0 };

	while (path.len)
		frames[depth++] = str_cut(path, '>', &path);
	/* Ids are given in the order in which they are needed, leaf first. */
	while (depth)
		enc_uvarint(&part, store_text(t, frames[--depth]) - first + 1);
	profile_bytes(&sample, 1, &part);
	while (values.len) {
		int64_t v = strtoll(values.ptr, NULL, 10);

		enc_uvarint(&part, (uint64_t)v);
		*totals++ += v;
		(void)str_cut(values, ',', &values);
	}
	profile_bytes(&sample, 2, &part);
	while (labels.len)
		store_label(&sample, t, str_cut(labels, '@', &labels));
	profile_bytes(out, 2, &sample);
	buf_fini(&sample);
	buf_fini(&part);
}

/*
 * Writes a location and a function for each name, in the order of the names,
 * and the string table.
 */
static inline void store_tables(struct buf *out, const struct store_texts *t,
				unsigned first)
{
	struct buf m = { 0 };
	struct buf line = { 0 };

	for (unsigned i = first; i < t->count; i++) {
		profile_number(&m, 1, i - first + 1);
		profile_number(&line, 1, i - first + 1);
		profile_bytes(&m, 4, &line);
		profile_bytes(out, 4, &m);
	}
	for (unsigned i = first; i < t->count; i++) {
		profile_number(&m, 1, i - first + 1);
		profile_number(&m, 2, i);
		profile_bytes(out, 5, &m);
	}
	for (size_t i = 0; i < t->count; i++) {
		buf_byte(out, 6 << 3 | 2);
		enc_str(out, t->v[i]);
	}
	buf_fini(&m);
	buf_fini(&line);
}

/* Writes the mapping of the binary of a build. */
static inline void store_mapping(struct buf *out, struct store_texts *t,
				 const char *build)
{
	struct buf m = { 0 };

	profile_number(&m, 1, 1);
	profile_number(&m, 6, store_text(t, str_of(build)));
	profile_bytes(out, 3, &m);
	buf_fini(&m);
}

/* Encode a profile and its type set; totals has room for all types. */
static inline void store_encode(const char *types, const struct made *p,
				struct buf *out, struct buf *typeset,
				int64_t *totals)
{
	struct typeset *set = mem_new(struct typeset);
	struct store_texts t = { .count = 0 };
	struct str rest = str_of(types);
	struct buf m = { 0 };
	unsigned first;

	(void)store_text(&t, str_of(""));
	while (rest.len) {
		struct str type = str_cut(rest, ' ', &rest);

		set->types[set->count++] =
			(struct value_type){ type, str_of("bytes") };
		profile_number(&m, 1, store_text(&t, type));
		profile_number(&m, 2, store_text(&t, str_of("bytes")));
		profile_bytes(out, 1, &m);
	}
	if (p->build)
		store_mapping(out, &t, p->build);
	first = (unsigned)t.count;
	rest = str_of(p->stacks);
	while (rest.len)
		store_sample(out, &t, first, str_cut(rest, ' ', &rest), totals);
	store_tables(out, &t, first);
	typeset_encode(set, typeset);
	mem_free(set);
	buf_fini(&m);
}

/* Makes a label set from a text such as "heap job=app pod=a". */
static inline struct labels *store_labels(const char *text)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	struct str rest = str_of(text);
	struct err err = { .msg = "" };

	labels_set(&b, str_of("__name__"), str_cut(rest, ' ', &rest));
	while (rest.len) {
		struct str value;
		struct str label = str_cut(rest, ' ', &rest);
		struct str name = str_cut(label, '=', &value);

		labels_set(&b, name, value);
	}
	cr_assert(!labels_build(&b, &ls, &err), "%s", err.msg);
	labels_builder_fini(&b);
	return ls;
}

static inline void store_put(struct store *s, const char *labels,
			     const char *types, const struct made *p)
{
	struct appender *a = tsdb_appender(s->db);
	int64_t totals[STORE_NAMES] = { 0 };
	struct buf body = { 0 };
	struct buf typeset = { 0 };
	struct sample sample = { .labels = store_labels(labels),
				 .ms = p->ms,
				 .totals = totals,
				 .duration_ns = p->duration_ns };
	struct err err = { .msg = "" };
	uint64_t lsn;

	store_encode(p->types ? p->types : types, p, &body, &typeset, totals);
	sample.body = buf_bytes(&body);
	sample.raw_len = (uint32_t)body.len;
	sample.hash = hash_bytes(sample.body) ^ p->damaged;
	sample.typeset = buf_bytes(&typeset);
	cr_assert(!a->append(a, &sample, &lsn, &err), "%s", err.msg);
	labels_unref(sample.labels);
	buf_fini(&body);
	buf_fini(&typeset);
}

/* Writes a sample as text: the stack, its labels in braces, and its values. */
static inline void store_tell_sample(const struct pprof *p, size_t i,
				     struct buf *out)
{
	const struct pprof_run *stack = pprof_stack(p, i);
	const struct pprof_run *set = &p->label_sets.v[p->samples.v[i].labels];

	for (size_t k = stack->count; k--;) {
		const struct pprof_location *l =
			&p->locations.v[p->frames.v[stack->first + k]];
		const struct pprof_line *line = &p->lines.v[l->lines.first];

		buf_printf(out, "%.*s%s",
			   STR_ARG(pprof_str(
				   p, p->functions.v[line->function].name)),
			   k ? ">" : "");
	}
	for (size_t k = 0; k < set->count; k++) {
		const struct pprof_label *l = &p->labels.v[set->first + k];

		buf_printf(out, "{%.*s:%.*s}", STR_ARG(pprof_str(p, l->key)),
			   STR_ARG(pprof_str(p, l->str)));
	}
	for (size_t k = 0; k < p->types.count; k++)
		buf_printf(out, "%c%lld", k ? ',' : '=',
			   (long long)pprof_values(p, i)[k]);
}

static inline int store_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Returns a profile as text, with its samples sorted by their texts. The caller
 * frees the result.
 */
static inline char *store_tell(const struct pprof *p)
{
	char *v[STORE_NAMES];
	struct buf out = { 0 };
	char *text;

	cr_assert(p->samples.count <= STORE_NAMES);
	for (size_t i = 0; i < p->samples.count; i++) {
		struct buf one = { 0 };

		store_tell_sample(p, i, &one);
		v[i] = mem_strdup(buf_cstr(&one));
		buf_fini(&one);
	}
	if (p->samples.count)
		qsort(v, p->samples.count, sizeof(*v), store_by_text);
	for (size_t i = 0; i < p->samples.count; i++) {
		buf_printf(&out, "%s%s", i ? " " : "", v[i]);
		mem_free(v[i]);
	}
	text = mem_strdup(out.len ? buf_cstr(&out) : "");
	buf_fini(&out);
	return text;
}

static char store_chunks_file[300];

static inline int store_find_chunks(const char *path,
				    const struct stat *st UNUSED,
				    int type UNUSED, struct FTW *ftw UNUSED)
{
	if (strstr(path, "/chunks/000001"))
		snprintf(store_chunks_file, sizeof(store_chunks_file), "%s",
			 path);
	return 0;
}

/* Overwrite the metadata of all chunks of the only block. */
static inline void store_damage_chunks(const struct store *s)
{
	struct stat st;
	int fd;

	nftw(s->dir.path, store_find_chunks, 8, 0);
	fd = open(store_chunks_file, O_RDWR);
	cr_assert(fd >= 0);
	cr_assert(!fstat(fd, &st));
	for (off_t at = 32; at < st.st_size; at++)
		cr_assert(pwrite(fd, "\xa5", 1, at) == 1);
	close(fd);
}

#endif
