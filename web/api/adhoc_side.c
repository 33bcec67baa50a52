/* SPDX-License-Identifier: Apache-2.0 */
#include "web/api/adhoc_side.h"

#include <stdio.h>

int adhoc_side_store(const struct web *w, struct adhoc_store **out,
		     struct err *err)
{
	*out = w->o.adhoc;
	return *out ? 0 :
		      err_set(err, ERR_NOTFOUND,
			      "no files can be uploaded here: that needs everprof serve with --adhoc.size above 0");
}

/* Find a parameter of a side. */
static bool adhoc_side_param(const struct params *p, const char *name,
			     const char *suffix, struct str *out)
{
	char whole[32];

	snprintf(whole, sizeof(whole), "%s%s", name, suffix);
	return params_find(p, whole, out) && out->len;
}

bool adhoc_side_is(const struct params *p, const char *suffix)
{
	struct str ref;

	return adhoc_side_param(p, "adhoc", suffix, &ref);
}

int adhoc_side_read(const struct web *w, struct request *r, struct answer *a,
		    const char *suffix, struct adhoc_profile *out,
		    struct err *err)
{
	struct limits limits = query_limits(&a->work);
	struct adhoc_store *store;
	struct str ref = { .len = 0 };
	struct str query;
	int rc = adhoc_side_store(w, &store, err);

	*out = (struct adhoc_profile){ .part = 0 };
	(void)adhoc_side_param(&r->params, "adhoc", suffix, &ref);
	if (!rc && adhoc_side_param(&r->params, "query", suffix, &query))
		rc = err_set(
			err, ERR_INVALID,
			"parameters \"adhoc%s\" and \"query%s\" exclude each other: give the first one for an uploaded file, or the second one for stored profiles",
			suffix, suffix);
	if (!rc)
		rc = adhoc_store_read(store, ref, &limits, &r->arena, out, err);
	return rc;
}

int adhoc_side_merge(const struct web *w, struct request *r, struct answer *a,
		     const char *suffix, struct query_merge *g, struct err *err)
{
	struct adhoc_profile p;
	int rc = adhoc_side_read(w, r, a, suffix, &p, err);

	if (!rc)
		rc = query_merge_bytes(g, buf_bytes(&p.raw), err);
	/* What its reading took stays taken until the query ends. */
	buf_fini(&p.raw);
	return rc;
}
