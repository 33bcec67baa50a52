/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A site: a small database behind the handlers, which the test calls with
 * requests of its own making, without a server.
 */
#ifndef TESTS_WEB_SITE_H
#define TESTS_WEB_SITE_H

#include "base/clock.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/url.h"
#include "pprof/proto/unpack.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/profile.h"
#include "web/api/envelope.h"

#define SITE_T0      1700000000000LL /* ms; the first profile */
#define SITE_STEP    15000LL
#define SITE_NOW     (SITE_T0 + 600000)
#define SITE_MEMORY  (64 * MIB)
#define SITE_FOREVER 3600000000000LL /* ns; longer than any test */

struct site {
	struct tempdir dir;
	struct metrics *metrics;
	struct clock clock;
	struct tsdb *db;
	struct scraper *scraper;
	struct ingest_limiter *limiter;
	struct unpacker *unpacker;
	struct web web;
};

/* A profile of main, which calls two functions. */
struct site_profile {
	const char *name; /* of the series: __name__, job, pod */
	const char *job;
	const char *pod;
	int k;            /* its time: SITE_T0 + k * SITE_STEP */
	const char *type; /* of its samples */
	const char *unit;
	const char *function; /* the first of the two; the other is "idle" */
	int64_t value;        /* of the first; idle has 10 */
};

static inline void site_write_types(struct buf *out)
{
	struct buf m = { 0 };

	profile_number(&m, 1, 1);
	profile_number(&m, 2, 2);
	profile_bytes(out, 1, &m);
	buf_fini(&m);
}

static inline void site_write_sample(struct buf *out, uint64_t leaf,
				     uint64_t value)
{
	struct buf m = { 0 };
	struct buf v = { 0 };

	enc_uvarint(&v, leaf);
	enc_uvarint(&v, 1);
	profile_bytes(&m, 1, &v);
	enc_uvarint(&v, value);
	profile_bytes(&m, 2, &v);
	profile_bytes(out, 2, &m);
	buf_fini(&m);
	buf_fini(&v);
}

static inline void site_write_functions(struct buf *out)
{
	struct buf m = { 0 };
	struct buf v = { 0 };

	for (uint64_t i = 1; i <= 3; i++) {
		profile_number(&m, 1, i);
		profile_number(&v, 1, i);
		profile_bytes(&m, 4, &v);
		profile_bytes(out, 4, &m);
	}
	for (uint64_t i = 1; i <= 3; i++) {
		profile_number(&m, 1, i);
		profile_number(&m, 2, 2 + i);
		profile_number(&m, 4, 6);
		profile_number(&m, 5, 10 * i);
		profile_bytes(out, 5, &m);
	}
	buf_fini(&m);
	buf_fini(&v);
}

/* Write a profile in protocol buffers; the bytes follow from p alone. */
static inline void site_encode(const struct site_profile *p, struct buf *out)
{
	const char *const texts[] = { "",          p->type, p->unit,  "main",
				      p->function, "idle",  "main.go" };

	buf_reset(out);
	site_write_types(out);
	site_write_sample(out, 2, (uint64_t)p->value);
	site_write_sample(out, 3, 10);
	site_write_functions(out);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		profile_text(out, texts[i]);
	profile_number(out, 9, (uint64_t)SITE_T0 * 1000000);
	profile_number(out, 10, 1000000000);
}

/* Store a profile. */
static inline void site_put(struct site *f, const struct site_profile *p)
{
	struct labels_builder b = { 0 };
	struct buf body = { 0 };
	struct unpacked u;
	struct sample s;
	struct err err = { .msg = "" };
	struct appender *a = tsdb_appender(f->db);
	uint64_t lsn;

	site_encode(p, &body);
	cr_assert(!unpacker_run(f->unpacker, buf_bytes(&body), &u, &err), "%s",
		  err.msg);
	unpacked_sample(&u, buf_bytes(&body), &s);
	labels_set(&b, str_of(LABEL_NAME), str_of(p->name));
	labels_set(&b, str_of("job"), str_of(p->job));
	labels_set(&b, str_of("pod"), str_of(p->pod));
	cr_assert(!labels_build(&b, &s.labels, &err), "%s", err.msg);
	s.ms = SITE_T0 + p->k * SITE_STEP;
	cr_assert(!a->append(a, &s, &lsn, &err), "%s", err.msg);
	unpacker_done(f->unpacker);
	labels_unref(s.labels);
	labels_builder_fini(&b);
	buf_fini(&body);
}

/* The profiles of site_fill(). */
static const struct site_profile site_profiles[] = {
	{ "cpu", "app", "p1", 0, "cpu", "nanoseconds", "work", 100 },
	{ "cpu", "app", "p1", 1, "cpu", "nanoseconds", "work", 200 },
	{ "cpu", "app", "p1", 3, "cpu", "nanoseconds", "work", 300 },
	{ "cpu", "app", "p2", 1, "cpu", "nanoseconds", "spin", 1000 },
	{ "heap", "db", "p1", 2, "inuse_space", "bytes", "keep", 4096 },
};

static inline void site_fill(struct site *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(site_profiles); i++)
		site_put(f, &site_profiles[i]);
}

/* Start a site with an empty database. */
static inline struct site *site_start(void)
{
	struct site *f = mem_new(struct site);
	struct tsdb_options t = { .sync_ms = 3600000, .maintain_ms = -1 };
	struct scrape_options s = { .max_profile = MIB, .user_agent = "site" };
	struct err err = { .msg = "" };

	f->dir = tempdir_make();
	f->metrics = metrics_new();
	f->unpacker = unpacker_new(MIB);
	clock_set(&f->clock, SITE_NOW);
	t.path = f->dir.path;
	t.clock = &f->clock;
	t.metrics = f->metrics;
	cr_assert(!tsdb_open(&t, &f->db, &err), "%s", err.msg);
	s.limiter = f->limiter = ingest_limiter_new(8 * MIB, MIB);
	s.appender = tsdb_appender(f->db);
	s.metrics = f->metrics;
	s.clock = &f->clock;
	cr_assert(!scrape_start(&s, &f->scraper, &err), "%s", err.msg);
	f->web.o = (struct web_options){ .db = f->db,
					 .scraper = f->scraper,
					 .version = "1.2.3",
					 .revision = "abc",
					 .metrics = f->metrics };
	f->web.memory =
		(struct budget){ .name = "query.memory", .max = SITE_MEMORY };
	return f;
}

/* Ends a site, and checks that the memory of queries was given back. */
static inline void site_stop(struct site *f)
{
	cr_expect(!atomic_load(&f->web.memory.used), "memory is still taken");
	scrape_stop(f->scraper);
	scrape_free(f->scraper);
	ingest_limiter_free(f->limiter);
	tsdb_close(f->db);
	unpacker_free(f->unpacker);
	metrics_free(f->metrics);
	tempdir_fini(&f->dir);
	mem_free(f);
}

/* A request and its answer. */
struct call {
	struct request r;
	struct answer a;
	int64_t patience_ns; /* of the query; 0: SITE_FOREVER */
	/* when all queries end; NULL: never */
	const _Atomic int64_t *stop_ns;
};

/* Split "a=1&b=%20" into parameters. */
static inline void call_parse(struct request *r, const char *query)
{
	struct str rest = str_of(query);
	size_t n = 1;

	for (const char *c = query; *c; c++)
		n += *c == '&';
	r->params.v = arena_array(&r->arena, struct query_param, n);
	r->params.count = 0;
	r->params.now_ms = SITE_NOW;
	while (rest.len) {
		struct query_param *p = &r->params.v[r->params.count++];
		struct str value;
		struct str name =
			str_cut(str_cut(rest, '&', &rest), '=', &value);

		p->name = url_unescape(name, &r->arena);
		p->value = url_unescape(value, &r->arena);
	}
	if (!r->if_none_match)
		r->if_none_match = "";
	if (!r->range)
		r->range = "";
}

/* Calls a handler. Members of c->r that the test has set are kept. */
static inline void call_begin(struct site *f, struct call *c, handler_fn fn,
			      const char *query)
{
	call_parse(&c->r, query);
	c->a = (struct answer){ .body = buf_init((size_t)f->web.memory.max) };
	c->a.work = (struct query_work){
		.memory = &f->web.memory,
		.output = &c->a.body,
		.stop_ns = c->stop_ns,
		.deadline_ns = clock_mono_ns() +
			       (c->patience_ns ? c->patience_ns : SITE_FOREVER)
	};
	fn(&f->web, &c->r, &c->a);
}

/* Free the answer; the call can then be used again. */
static inline void call_end(struct call *c)
{
	if (c->a.stream.free)
		c->a.stream.free(c->a.stream.ctx);
	query_release(&c->a.work);
	buf_fini(&c->a.body);
	arena_fini(&c->r.arena);
	*c = (struct call){ 0 };
}

static inline struct str call_body(const struct call *c)
{
	return str_from(buf_bytes(&c->a.body));
}

/* Returns the value of a header, or "" if the answer does not have it. */
static inline const char *call_header(const struct call *c, const char *name)
{
	for (size_t i = 0; i < c->a.header_count; i++) {
		if (!strcmp(c->a.headers[i].name, name))
			return c->a.headers[i].value;
	}
	return "";
}

/* Whether the body holds a text. */
static inline bool call_has(struct call *c, const char *text)
{
	return strstr(buf_cstr(&c->a.body), text);
}

/*
 * Calls a handler, and compares status and body. If `want` is NULL, the body
 * may be anything. If `want` ends in "...", the body must begin with the text
 * before that.
 */
static inline void call_check(struct site *f, handler_fn fn, const char *query,
			      unsigned status, const char *want)
{
	struct call c = { 0 };
	size_t len = want ? strlen(want) : 0;

	call_begin(f, &c, fn, query);
	cr_expect(c.a.status == status, "%s: %u, %s", query, c.a.status,
		  buf_cstr(&c.a.body));
	if (len > 3 && !strcmp(want + len - 3, "..."))
		cr_expect(!strncmp(buf_cstr(&c.a.body), want, len - 3),
			  "%s: got %s, want %s", query, buf_cstr(&c.a.body),
			  want);
	else if (want)
		cr_expect(check_str(call_body(&c), want), "%s", query);
	call_end(&c);
}

/* A request that is wrong, and what the message holds. */
struct call_mistake {
	const char *query;
	unsigned status;
	const char *why;
};

static inline void call_check_mistakes(struct site *f, handler_fn fn,
				       const struct call_mistake *v,
				       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct call c = { 0 };

		call_begin(f, &c, fn, v[i].query);
		cr_expect(c.a.status == v[i].status, "%s: %u", v[i].query,
			  c.a.status);
		cr_expect(call_has(&c, v[i].why), "%s: %s", v[i].query,
			  buf_cstr(&c.a.body));
		cr_expect(call_has(&c, "{\"status\":\"error\",\"errorType\":"),
			  "%s", v[i].query);
		call_end(&c);
	}
}

#endif
