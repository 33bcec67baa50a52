/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label indexes of heads and blocks. What was written is found again, both
 * kinds select what the matchers say, and damage is noticed.
 */
#include "tsdb/index/index.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "model/selector.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"
#include "tsdb/index/index_writer.h"
#include "tsdb/index/memindex.h"

TestSuite(index, .timeout = 60);

#define SERIES_MAX 400

/* Series in label order, and the index of a block that has them. */
struct world {
	struct tempdir dir;
	struct hook hook;
	char path[160];
	struct labels *v[SERIES_MAX];
	size_t count;
	struct str symbols[8 * SERIES_MAX];
	size_t symbol_count;
	struct memindex memory;
	struct mutex mu; /* of `memory` */
	struct index *index;
};

/* For selections that may take as long as they need. */
static const struct limits no_limits;

static int by_labels(const void *a, const void *b)
{
	struct labels *const *x = a;
	struct labels *const *y = b;

	return labels_cmp(*x, *y);
}

static int by_text(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/*
 * Makes labels from alternating names and values. A label with the value "" is
 * not there.
 */
static struct labels *make_labels(const char *const *texts)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;

	for (; *texts; texts += 2)
		labels_set(&b, str_of(texts[0]), str_of(texts[1]));
	cr_assert(!labels_build(&b, &ls, NULL));
	labels_builder_fini(&b);
	return ls;
}

static struct world *world_new(void)
{
	struct world *w = mem_new(struct world);

	mutex_init(&w->mu);
	w->dir = tempdir_make();
	w->hook = hook_make();
	snprintf(w->path, sizeof(w->path), "%s/index", w->dir.path);
	return w;
}

static void world_free(struct world *w)
{
	index_close(w->index);
	memindex_fini(&w->memory);
	mutex_destroy(&w->mu);
	for (size_t i = 0; i < w->count; i++)
		labels_unref(w->v[i]);
	tempdir_fini(&w->dir);
	mem_free(w);
}

/* Collect the distinct texts of all series, sorted. */
static void collect_symbols(struct world *w, uint64_t *bytes)
{
	size_t n = 0;
	struct buf len = { 0 };

	for (size_t i = 0; i < w->count; i++) {
		struct labels_iter it = labels_iter(w->v[i]);
		struct label l;

		while (labels_next(&it, &l)) {
			w->symbols[n++] = l.name;
			w->symbols[n++] = l.value;
		}
	}
	qsort(w->symbols, n, sizeof(*w->symbols), by_text);
	for (size_t i = 0; i < n; i++) {
		if (!i || !str_eq(w->symbols[i], w->symbols[i - 1]))
			w->symbols[w->symbol_count++] = w->symbols[i];
	}
	*bytes = 0;
	/*
	 * All texts are shorter than 128 bytes, so each length takes one byte.
	 */
	for (size_t i = 0; i < w->symbol_count; i++)
		*bytes += 1 + w->symbols[i].len;
	buf_fini(&len);
}

static uint32_t number_of(const struct world *w, struct str text)
{
	const struct str *at = bsearch(&text, w->symbols, w->symbol_count,
				       sizeof(text), by_text);

	return (uint32_t)(at - w->symbols);
}

/*
 * Returns chunk k of series i. The times of chunks touch, overlap, or lie far
 * apart.
 */
static struct index_chunk chunk_of(size_t i, size_t k)
{
	static const int64_t times[][2] = {
		{ INT64_MIN, -5 },
		{ 1700000000000, 1700000000000 },
		{ 1700000000000, 1700000007777 },
		{ 1700000000001, INT64_MAX },
	};

	return (struct index_chunk){ .min = times[k][0] + (int64_t)(i % 5),
				     .max = times[k][1] - (k == 3 ? 1 : 0),
				     .ref = k % 2 ? UINT64_MAX - i : i * 977 };
}

static void write_series(struct world *w, struct index_writer *ix, size_t i)
{
	struct labels_iter it = labels_iter(w->v[i]);
	struct index_chunk chunks[4];
	struct index_pair pairs[8];
	struct label l;
	size_t n = 0;

	while (labels_next(&it, &l))
		pairs[n++] = (struct index_pair){ number_of(w, l.name),
						  number_of(w, l.value) };
	for (size_t k = 0; k < i % 5 && k < 4; k++)
		chunks[k] = chunk_of(i, k);
	index_writer_series(ix, pairs, n, chunks, i % 5);
}

/* Writes the index of a block with all series, and fills that of a head. */
static int write_index(struct world *w)
{
	struct index_writer *ix = NULL;
	struct buf file = { 0 };
	uint64_t bytes;
	uint64_t size = 0;
	uint32_t crc = 0;
	int rc;

	qsort(w->v, w->count, sizeof(struct labels *), by_labels);
	collect_symbols(w, &bytes);
	for (size_t i = 0; i < w->count; i++)
		memindex_add(&w->memory, w->v[i]);
	rc = index_writer_new(&w->hook.fs, w->path, (uint32_t)w->symbol_count,
			      bytes, &ix, NULL);
	if (rc)
		return rc;
	for (size_t i = 0; i < w->symbol_count; i++)
		index_writer_symbol(ix, w->symbols[i]);
	for (size_t i = 0; i < w->count; i++)
		write_series(w, ix, i);
	rc = index_writer_finish(ix, &size, &crc, NULL);
	index_writer_free(ix);
	if (rc)
		return rc;
	cr_assert(!file_slurp(w->path, &file, NULL));
	cr_expect(size == file.len);
	cr_expect(crc == crc32c_extend(0, buf_bytes(&file)));
	buf_fini(&file);
	return 0;
}

static int open_index(struct world *w)
{
	struct blob *blob = NULL;

	cr_assert(!blob_open(&w->hook.fs, w->path, BLOB_MAP, &blob, NULL));
	return index_open(blob, &w->index, NULL);
}

/*
 * Makes a world of series of four labels, some of which are absent. No two
 * series are alike.
 */
static struct world *make_world(size_t count)
{
	static const char *const kinds[] = { "cpu", "heap", "mutex" };
	static const char *const zones[] = { "", "a", "b", "\xc3\xa9" };
	static const char *const jobs[] = { "", "api", "apis", "db", "app-1" };
	struct world *w = world_new();

	for (size_t i = 0; i < count; i++) {
		char pod[32];
		const char *const texts[] = { "__name__", kinds[i % 3],
					      "zone",     zones[i / 3 % 4],
					      "job",      jobs[i / 7 % 5],
					      "pod",      pod,
					      NULL };

		snprintf(pod, sizeof(pod), "p%zu", i);
		w->v[w->count++] = make_labels(texts);
	}
	cr_assert(!write_index(w));
	cr_assert(!open_index(w));
	return w;
}

/* Whether series i of the index is series i of the world. */
static bool is_series(const struct world *w, size_t i)
{
	struct index_series s = { 0 };
	struct labels *ls = NULL;
	uint32_t ref = 0;
	uint32_t found = 0;
	bool same;

	same = !index_ref(w->index, (uint32_t)i, &ref, NULL) &&
	       !index_series(w->index, ref, &s, NULL) &&
	       !index_labels(w->index, &s, &ls, NULL) &&
	       !labels_cmp(ls, w->v[i]) && s.chunk_count == i % 5;
	for (size_t k = 0; same && k < s.chunk_count; k++) {
		struct index_chunk want = chunk_of(i, k);

		same = s.chunks[k].min == want.min &&
		       s.chunks[k].max == want.max &&
		       s.chunks[k].ref == want.ref;
	}
	if (same)
		same = !index_find(w->index, w->v[i], &found, NULL) &&
		       found == ref;
	labels_unref(ls);
	index_series_fini(&s);
	return same;
}

Test(index, series_come_back)
{
	static const size_t counts[] = { 0, 1, 2, 31, 32, 33, 64, 65, 400 };
	static const char *const other[] = { "job", "api", "zone", "x", NULL };

	for (size_t n = 0; n < ARRAY_SIZE(counts); n++) {
		struct world *w = make_world(counts[n]);
		struct labels *ls = make_labels(other);
		uint32_t ref;

		cr_expect(index_series_count(w->index) == counts[n]);
		for (size_t i = 0; i < counts[n]; i++)
			cr_expect(is_series(w, i), "%zu of %zu", i, counts[n]);
		cr_expect(index_find(w->index, ls, &ref, NULL) == ERR_NOTFOUND);
		labels_unref(ls);
		world_free(w);
	}
}

Test(index, symbols_come_back)
{
	static const size_t counts[] = { 0, 1, 27, 28, 29, 60, 130 };

	for (size_t n = 0; n < ARRAY_SIZE(counts); n++) {
		struct world *w = make_world(counts[n]);
		const struct symbols *s = index_symbols(w->index);
		struct symbols_iter it = symbols_iter(s);
		struct buf scratch = { 0 };
		struct str text = { 0 };

		cr_expect(s->count == w->symbol_count);
		for (size_t i = 0; i < w->symbol_count; i++) {
			cr_assert(!symbols_get(s, (uint32_t)i, &scratch, &text,
					       NULL));
			cr_expect(str_eq(text, w->symbols[i]));
			cr_assert(symbols_next(&it, &text, NULL) == 1);
			cr_expect(str_eq(text, w->symbols[i]));
		}
		cr_expect(symbols_next(&it, &text, NULL) == 0);
		cr_expect(symbols_next(&it, &text, NULL) == 0);
		cr_expect(symbols_get(s, (uint32_t)w->symbol_count, &scratch,
				      &text, NULL) == ERR_CORRUPT);
		cr_expect(symbols_get(s, UINT32_MAX, &scratch, &text, NULL) ==
			  ERR_CORRUPT);
		symbols_iter_fini(&it);
		buf_fini(&scratch);
		world_free(w);
	}
}

/*
 * Each selector is tried with its first matcher, which needs a label, and
 * without this matcher.
 */
static const char *const selectors[] = {
	"{pod!=\"\",__name__=\"cpu\"}",
	"{pod!=\"\",__name__=~\".+\"}",
	"{pod!=\"\",__name__=\"cpu\",job=\"api\"}",
	"{pod!=\"\",job=\"\"}",
	"{pod!=\"\",job!=\"\"}",
	"{pod!=\"\",job=~\"api|db\"}",
	"{pod!=\"\",job!~\"api|db\"}",
	"{pod!=\"\",job=~\"api|\"}",
	"{pod!=\"\",job=~\"api.*\",zone=\"a\"}",
	"{pod!=\"\",job!~\"api.*\",zone!=\"a\"}",
	"{pod!=\"\",zone=\"\xc3\xa9\"}",
	"{pod!=\"\",zone=~\"[^a]\"}",
	"{pod!=\"\",pod=\"p7\"}",
	"{pod!=\"\",pod=~\"p1.\"}",
	"{pod!=\"\",pod!=\"p7\",__name__=\"heap\"}",
	"{pod!=\"\",pod=\"none\"}",
	"{pod!=\"\",pod=\"\"}",
	"{pod!=\"\",none=\"\"}",
	"{pod!=\"\",none!=\"\"}",
	"{pod!=\"\",none=~\".*\"}",
	"{pod!=\"\",none!~\".+\",job=\"db\"}",
	"{pod!=\"\",job=\"api\",job=\"db\"}",
	"{pod!=\"\",job=~\"api|db\",job!=\"db\"}",
	"{pod!=\"\",zone=\"\",job=\"\",pod=~\"p.\"}",
	"{pod!=\"\",job=~\"\"}",
	"{pod!=\"\",job!~\"\"}",
	"{pod!=\"\",job=~\"a|a|a\"}",
};

/*
 * Checks that the indexes of the head and of the block select the series that
 * the matchers match.
 */
static void check_selection(struct world *w, const struct matcher *v,
			    size_t count, const char *name)
{
	struct postings head = { 0 };
	struct postings block = { 0 };
	size_t at = 0;

	cr_assert(!memindex_select(&w->memory, &w->mu, &no_limits, v, count,
				   &head, NULL));
	cr_assert(!index_select(w->index, &no_limits, v, count, &block, NULL));
	for (size_t i = 0; i < w->count; i++) {
		uint32_t ref = 0;

		if (!matchers_match(v, count, w->v[i]))
			continue;
		cr_expect(!index_ref(w->index, (uint32_t)i, &ref, NULL));
		cr_assert(at < head.count, "%s: head", name);
		cr_expect(head.v[at] == i, "%s: head", name);
		cr_assert(at < block.count, "%s: block", name);
		cr_expect(block.v[at] == ref, "%s: block", name);
		at++;
	}
	cr_assert(head.count == at, "%s: %zu", name, at);
	cr_expect(block.count == at, "%s: %zu", name, at);
	postings_fini(&head);
	postings_fini(&block);
}

Test(index, a_selection_is_what_the_matchers_say)
{
	struct world *w = make_world(150);

	for (size_t n = 0; n < ARRAY_SIZE(selectors); n++) {
		struct selector s;
		struct err err = { .msg = "" };

		cr_assert(!selector_parse(str_of(selectors[n]), &s, &err), "%s",
			  err.msg);
		for (size_t skip = 0; skip < 2; skip++)
			check_selection(w, s.matchers + skip, s.count - skip,
					selectors[n]);
		selector_fini(&s);
	}
	world_free(w);
}

/* Limits that end a selection when they are asked for the last time. */
struct patience {
	struct mutex *mu; /* of the head's index; NULL: nothing to check */
	size_t left;      /* questions that are answered with yes */
	size_t asked;
};

/* Appends must be able to take the mutex while a selection asks. */
static int patience_ask(void *ctx, size_t bytes, struct err *err)
{
	struct patience *p = ctx;

	cr_expect(!bytes);
	mutex_lock(p->mu);
	p->asked++;
	mutex_unlock(p->mu);
	return p->asked > p->left ? err_set(err, ERR_TIMEOUT, "late") : 0;
}

/* Runs a selection in the head and in the block with such limits. */
static void select_patiently(struct world *w, const char *selector, size_t left,
			     int want, size_t asked)
{
	struct patience p[2] = { { &w->mu, left, 0 }, { &w->mu, left, 0 } };
	struct limits l[2] = { { patience_ask, &p[0] },
			       { patience_ask, &p[1] } };
	struct postings out[2] = { 0 };
	struct selector s;

	cr_assert(!selector_parse(str_of(selector), &s, NULL));
	cr_expect(memindex_select(&w->memory, &w->mu, &l[0], s.matchers,
				  s.count, &out[0], NULL) == want,
		  "%s", selector);
	cr_expect(index_select(w->index, &l[1], s.matchers, s.count, &out[1],
			       NULL) == want,
		  "%s", selector);
	for (size_t i = 0; i < 2; i++) {
		cr_expect(p[i].asked == asked, "%s: %zu questions", selector,
			  p[i].asked);
		postings_fini(&out[i]);
	}
	selector_fini(&s);
}

Test(index, a_selection_asks_its_limits_after_each_costly_value)
{
	struct world *w = make_world(150);

	/* One question at the start of a matcher, and one for each value. */
	select_patiently(w, "{pod=~\"p.*x\"}", 1000, 0, 151);
	select_patiently(w, "{pod!~\"p.*x\",pod!=\"\"}", 1000, 0, 152);
	select_patiently(w, "{pod=~\"p.*x\"}", 20, ERR_TIMEOUT, 21);
	select_patiently(w, "{pod=~\".*0\",job=~\"a.*i\"}", 152, ERR_TIMEOUT,
			 153);
	select_patiently(w, "{pod=\"p1\"}", 0, ERR_TIMEOUT, 1);
	select_patiently(w, "{pod!=\"p1\",pod!=\"\"}", 1000, 0, 2);
	world_free(w);
}

Test(index, a_selection_asks_its_limits_while_it_looks_up_literals)
{
	struct world *w = make_world(150);
	struct buf selector = { 0 };

	buf_str(&selector, "{pod=~\"");
	for (int i = 0; i < 100; i++)
		buf_printf(&selector, "%sp%d", i ? "|" : "", i);
	buf_str(&selector, "\"}");
	/* One question at the start, and one for every 16 literals. */
	select_patiently(w, buf_cstr(&selector), 1000, 0, 7);
	select_patiently(w, buf_cstr(&selector), 3, ERR_TIMEOUT, 4);
	buf_fini(&selector);
	world_free(w);
}

Test(index, an_expression_that_needs_too_many_steps_is_an_error)
{
	static const char evil[] =
		"{pod=~\"(.{0,900}.{0,900}.{0,900}.{0,900})(a|b|.)*[yz]\"}";
	struct world *w = make_world(10);
	char pod[3001];
	const char *const texts[] = { "__name__", "cpu", "pod", pod, NULL };
	struct postings out = { 0 };
	struct selector s;
	struct err err;

	memset(pod, 'a', sizeof(pod) - 1);
	pod[sizeof(pod) - 1] = 0;
	w->v[w->count] = make_labels(texts);
	memindex_add(&w->memory, w->v[w->count++]);
	cr_assert(!selector_parse(str_of(evil), &s, NULL));
	cr_expect(memindex_select(&w->memory, &w->mu, &no_limits, s.matchers,
				  s.count, &out, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "too many steps"), "%s", err.msg);
	postings_fini(&out);
	selector_fini(&s);
	world_free(w);
}

/* Returns how many series of the index have this pod. */
static size_t count_pods(struct world *w, const char *pod)
{
	struct matcher m = { .op = MATCH_EQ, .name = str_of("pod") };
	struct postings p = { 0 };
	size_t count;

	m.value = str_of(pod);
	cr_expect(!index_select(w->index, &no_limits, &m, 1, &p, NULL));
	count = p.count;
	postings_fini(&p);
	return count;
}

Test(index, each_of_many_values_is_found)
{
	static const size_t counts[] = { 1, 31, 32, 33, 64, 65, 300 };

	for (size_t n = 0; n < ARRAY_SIZE(counts); n++) {
		struct world *w = make_world(counts[n]);
		char pod[32];

		for (size_t i = 0; i < counts[n]; i++) {
			snprintf(pod, sizeof(pod), "p%zu", i);
			cr_expect(count_pods(w, pod) == 1, "%s of %zu", pod,
				  counts[n]);
			strcat(pod, "x");
			cr_expect(count_pods(w, pod) == 0, "%s", pod);
		}
		cr_assert(!count_pods(w, "a"));
		cr_expect(!count_pods(w, "z"));
		world_free(w);
	}
}

Test(index, without_matchers_all_are_selected)
{
	struct world *w = make_world(40);
	struct postings head = { 0 };
	struct postings block = { 0 };

	cr_assert(!memindex_select(&w->memory, &w->mu, &no_limits, NULL, 0,
				   &head, NULL));
	cr_expect(!index_select(w->index, &no_limits, NULL, 0, &block, NULL));
	cr_assert(head.count == 40);
	cr_expect(block.count == 40);
	postings_fini(&head);
	postings_fini(&block);
	world_free(w);
}

static void add_text(void *ctx, struct str text)
{
	buf_printf(ctx, "%.*s ", STR_ARG(text));
}

static bool has_values(const struct world *w, const char *name,
		       const char *want)
{
	struct buf b = { 0 };
	bool same = !index_values(w->index, str_of(name), add_text, &b, NULL) &&
		    check_str(str_from(buf_bytes(&b)), want);

	buf_fini(&b);
	return same;
}

static void count_text(void *ctx, struct str text)
{
	struct buf *last = ctx; /* the last text; `max` counts the texts */

	cr_expect(str_cmp(str_from(buf_bytes(last)), text) < 0, "in order");
	buf_reset(last);
	buf_add(last, text.ptr, text.len);
	last->max++;
}

Test(index, names_and_values_are_listed_in_order)
{
	struct world *w = make_world(100);
	struct buf b = { 0 };
	struct buf last = { .max = 1000 };

	index_names(w->index, add_text, &b);
	cr_expect(check_str(str_from(buf_bytes(&b)), "__name__ job pod zone "));
	cr_expect(has_values(w, "__name__", "cpu heap mutex "));
	cr_expect(has_values(w, "job", "api apis app-1 db "));
	cr_expect(has_values(w, "zone", "a b \xc3\xa9 "));
	cr_expect(has_values(w, "none", ""));
	cr_expect(has_values(w, "", ""), "the list of all is no label");
	cr_expect(!index_values(w->index, str_of("pod"), count_text, &last,
				NULL));
	cr_expect(last.max == 1100, "a hundred");
	buf_fini(&b);
	buf_fini(&last);
	world_free(w);
}

/* Reads all that an index has into one text. Returns the first error. */
static int read_all(struct world *w, struct buf *out)
{
	struct matcher m = { .op = MATCH_NE, .name = str_of("job") };
	struct postings p = { 0 };
	struct buf scratch = { 0 };
	int rc = open_index(w);

	m.value = str_of("db");
	for (uint32_t i = 0; !rc && i < index_series_count(w->index); i++) {
		struct index_series s = { 0 };
		struct labels *ls = NULL;
		uint32_t ref = 0;

		rc = index_ref(w->index, i, &ref, NULL);
		if (!rc)
			rc = index_series(w->index, ref, &s, NULL);
		if (!rc)
			rc = index_labels(w->index, &s, &ls, NULL);
		if (!rc)
			labels_text(ls, out);
		for (size_t k = 0; !rc && k < s.chunk_count; k++)
			buf_printf(out, " %lld %lld %llu",
				   (long long)s.chunks[k].min,
				   (long long)s.chunks[k].max,
				   (unsigned long long)s.chunks[k].ref);
		labels_unref(ls);
		index_series_fini(&s);
	}
	if (!rc)
		rc = index_select(w->index, &no_limits, &m, 1, &p, NULL);
	for (size_t i = 0; !rc && i < p.count; i++)
		buf_printf(out, " %u", p.v[i]);
	if (!rc)
		index_names(w->index, add_text, out);
	if (!rc)
		rc = index_values(w->index, str_of("zone"), add_text, out,
				  NULL);
	postings_fini(&p);
	buf_fini(&scratch);
	index_close(w->index);
	w->index = NULL;
	return rc;
}

static void overwrite(struct world *w, struct bytes b)
{
	int fd = open(w->path, O_WRONLY | O_TRUNC);

	cr_assert(fd >= 0);
	cr_assert(write(fd, b.ptr, b.len) == (ssize_t)b.len);
	close(fd);
}

Test(index, no_damage_goes_unnoticed)
{
	struct world *w = make_world(9);
	struct buf file = { 0 };
	struct buf want = { 0 };
	struct buf got = { 0 };

	index_close(w->index);
	w->index = NULL;
	cr_assert(!read_all(w, &want));
	cr_assert(want.len > 100);
	cr_assert(!file_slurp(w->path, &file, NULL));
	for (size_t i = 0; i < file.len; i++) {
		int rc;

		buf_reset(&got);
		file.ptr[i] ^= (uint8_t)(1 << i % 8);
		overwrite(w, buf_bytes(&file));
		file.ptr[i] ^= (uint8_t)(1 << i % 8);
		rc = read_all(w, &got);
		/* Padding and what nobody reads may be damaged. */
		cr_expect(rc == ERR_CORRUPT ||
				  (!rc &&
				   bytes_eq(buf_bytes(&got), buf_bytes(&want))),
			  "byte %zu: %d", i, rc);
	}
	for (size_t n = 0; n < file.len; n++) {
		overwrite(w, (struct bytes){ file.ptr, n });
		cr_expect(open_index(w) == ERR_CORRUPT, "cut at %zu", n);
	}
	buf_fini(&file);
	buf_fini(&want);
	buf_fini(&got);
	world_free(w);
}

Test(index, a_disk_that_cannot_read_is_no_damage)
{
	struct world *w = make_world(40);
	struct buf got = { 0 };
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("job"),
			     .value = str_of("api") };
	struct postings p = { 0 };
	uint32_t ref = 0;

	w->hook.sector = "/index";
	w->hook.to = UINT64_MAX;
	cr_expect(index_select(w->index, &no_limits, &m, 1, &p, NULL) ==
		  ERR_IO);
	cr_expect(index_ref(w->index, 0, &ref, NULL) == ERR_IO);
	cr_expect(index_find(w->index, w->v[0], &ref, NULL) == ERR_IO);
	cr_expect(index_values(w->index, str_of("job"), add_text, &got, NULL) ==
		  ERR_IO);
	index_close(w->index);
	w->index = NULL;
	cr_assert(open_index(w) == ERR_IO);
	cr_expect(!w->index);
	postings_fini(&p);
	buf_fini(&got);
	world_free(w);
}

Test(index, what_cannot_be_written_is_told_at_the_end)
{
	static const struct {
		enum fs_op op;
		int number;
		int want;
	} cases[] = { { FS_OPEN, ENOSPC, ERR_NOSPACE },
		      { FS_WRITE, ENOSPC, ERR_NOSPACE },
		      { FS_WRITE, EIO, ERR_IO },
		      { FS_SYNC, EIO, ERR_IO } };
	static const char *const texts[] = { "job", "api", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world *w = world_new();

		w->v[w->count++] = make_labels(texts);
		hook_arm(&w->hook, cases[i].op, "/index", cases[i].number, 1);
		cr_expect(write_index(w) == cases[i].want, "%zu", i);
		world_free(w);
	}
}

Test(index, an_index_replaces_no_file)
{
	struct world *w = make_world(3);
	struct index_writer *ix = NULL;

	cr_expect(index_writer_new(NULL, w->path, 0, 0, &ix, NULL) ==
		  ERR_EXISTS);
	cr_expect(index_writer_new(NULL, w->path, 1, UINT32_MAX - 3, &ix,
				   NULL) == ERR_TOOBIG);
	cr_expect(!ix);
	index_writer_free(ix);
	index_close(NULL);
	world_free(w);
}
