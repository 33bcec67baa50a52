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
		    const char *suffix, struct profile *out,
		    const struct adhoc_part **part, struct err *err)
{
	struct limits limits = query_limits(&a->work);
	struct adhoc_store *store;
	struct adhoc_meta meta;
	struct str ref = { .len = 0 };
	struct str query;
	size_t number;
	int rc = adhoc_side_store(w, &store, err);

	*out = (struct profile){ .ms = 0 };
	(void)adhoc_side_param(&r->params, "adhoc", suffix, &ref);
	if (!rc && adhoc_side_param(&r->params, "query", suffix, &query))
		rc = err_set(
			err, ERR_INVALID,
			"parameters \"adhoc%s\" and \"query%s\" exclude each other: a side is a file, or stored profiles",
			suffix, suffix);
	if (!rc)
		rc = adhoc_store_read(store, ref, &limits, &r->arena, &meta,
				      &number, &out->raw, err);
	if (rc)
		return rc;
	*part = &meta.parts[number];
	out->ms = meta.uploaded_ms;
	return 0;
}

int adhoc_side_merge(const struct web *w, struct request *r, struct answer *a,
		     const char *suffix, struct query_merge *g, struct err *err)
{
	const struct adhoc_part *part;
	struct profile p;
	int rc = adhoc_side_read(w, r, a, suffix, &p, &part, err);

	if (!rc)
		rc = query_merge_bytes(g, buf_bytes(&p.raw), err);
	/* What its reading took stays taken until the query ends. */
	profile_fini(&p);
	return rc;
}
