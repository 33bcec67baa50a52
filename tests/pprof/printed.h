/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints reports of sketches (sketch.h) for tests. The options are written as
 * in a query: "sort=cum&nodecount=3".
 *
 * Ownership: the caller frees with printed_fini().
 * Threads: one thread.
 */
#ifndef TESTS_PPROF_PRINTED_H
#define TESTS_PPROF_PRINTED_H

#include "pprof/report/report.h"
#include "tests/pprof/sketch.h"

struct printed {
	struct buf out;
	struct buf unmatched; /* filters without a match, a space behind each */
	bool prepared;        /* report_init() succeeded */
	int rc;
	struct err err;
};

static inline void printed_options(struct report_options *o, const char *query)
{
	struct str rest = str_of(query);

	report_options_init(o);
	while (rest.len) {
		struct str value;
		struct str name =
			str_cut(str_cut(rest, '&', &rest), '=', &value);

		cr_assert(!report_option(o, name, value, NULL), "%.*s",
			  STR_ARG(name));
	}
}

/* Prints a report with given options; "json:top" is the JSON of top. */
static inline void printed_with(struct printed *p, struct pprof *of,
				const char *name,
				const struct report_options *o)
{
	struct json json = json_init(&p->out);
	bool as_json = !strncmp(name, "json:", 5);
	const struct report_type *t =
		report_find(str_of(as_json ? name + 5 : name));
	struct report r;

	cr_assert(t);
	p->rc = report_init(&r, t->kind, of, o, &p->err);
	p->prepared = !p->rc;
	if (p->rc)
		return;
	p->rc = as_json ? t->json(&r, &json, &p->err) :
			  t->write(&r, &p->out, &p->err);
	for (size_t i = 0; i < r.unmatched.count; i++)
		buf_printf(&p->unmatched, "%s ", r.unmatched.names[i]);
	report_fini(&r);
}

/* Prints a report of the profile, which the filters change. */
static inline struct printed printed_of(struct pprof *of, const char *name,
					const char *query)
{
	struct printed p = { 0 };
	struct report_options o;

	printed_options(&o, query);
	printed_with(&p, of, name, &o);
	return p;
}

static inline void printed_fini(struct printed *p)
{
	buf_fini(&p->out);
	buf_fini(&p->unmatched);
}

static inline bool printed_is(struct printed *p, const char *want)
{
	bool ok = !p->rc && !strcmp(buf_cstr(&p->out), want);

	if (!ok)
		fprintf(stderr, "got (%d %s)\n%s\nwant\n%s\n", p->rc,
			p->rc ? p->err.msg : "", buf_cstr(&p->out), want);
	return ok;
}

/* Whether the report of a sketch of samples/count is this text. */
static inline bool prints(const char *lines, const char *name,
			  const char *query, const char *want)
{
	struct sketch s = sketch_init("samples/count", lines);
	struct printed p = printed_of(s.p, name, query);
	bool ok = printed_is(&p, want);

	printed_fini(&p);
	sketch_fini(&s);
	return ok;
}

#endif
