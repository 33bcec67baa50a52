/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes target specs from discovered targets: the labels that targets have
 * before relabelling, and the URL and stored labels that follow from the labels
 * after relabelling.
 */
#include "scrape/target/discovered.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/url.h"

#define ADDRESS    "__address__"
#define SCHEME     "__scheme__"
#define PATH       "__profile_path__"
#define INTERVAL   "__scrape_interval__"
#define TIMEOUT    "__scrape_timeout__"
#define URL_MAX    16384
#define PARAMS_MAX 1000
#define INDEX_PATH "/debug/pprof/"

/* The __name__ of the target that is the index page (/debug/pprof/) itself. */
#define TARGET_INDEX "index"

/* Append a label; the caller has allocated enough room. */
static void discovered_add(struct label_list *l, const char *name,
			   struct str value)
{
	l->v[l->count++] = (struct label){ str_of(name), value };
}

static struct str duration_text(struct arena *a, int64_t ms)
{
	char text[32];

	duration_format(ms, text);
	return arena_str(a, str_of(text));
}

/*
 * Copy the URL parameters, because the target set outlives the configuration.
 */
static void copy_params(const struct scrape_config *c, struct arena *a,
			struct job_labels *out)
{
	out->param_count = c->param_count;
	out->params = arena_array(a, struct param, c->param_count);
	for (size_t i = 0; i < c->param_count; i++) {
		out->params[i].name = arena_str(a, c->params[i].name);
		out->params[i].value = arena_str(a, c->params[i].value);
	}
}

/*
 * Make the labels that one profile type adds. __name__ comes first: same_type()
 * and callers expect it at v[0].
 */
static void make_type(const struct scrape_config *c,
		      const struct profile_config *p, struct arena *a,
		      struct label_list *out)
{
	out->v = arena_array(a, struct label, 4);
	discovered_add(out, LABEL_NAME, arena_str(a, p->name));
	discovered_add(
		out, PATH,
		str_of(arena_printf(a, "%.*s%.*s", STR_ARG(c->path_prefix),
				    STR_ARG(p->path))));
	if (p->interval_ms)
		discovered_add(out, INTERVAL, duration_text(a, p->interval_ms));
	if (p->seconds)
		discovered_add(
			out, LABEL_PARAM TARGET_SECONDS,
			str_of(arena_printf(a, "%lld", (long long)p->seconds)));
}

void job_labels_make(const struct scrape_config *c, struct arena *a,
		     struct job_labels *out)
{
	static const struct profile_config index = {
		.name = { TARGET_INDEX, sizeof(TARGET_INDEX) - 1 },
		.path = { INDEX_PATH, sizeof(INDEX_PATH) - 1 },
	};

	*out = (struct job_labels){ .max_body =
					    (size_t)c->common.body_size_limit };
	out->defaults.v = arena_array(a, struct label, 4);
	discovered_add(&out->defaults, "job", arena_str(a, c->job_name));
	discovered_add(&out->defaults, SCHEME, arena_str(a, c->scheme));
	discovered_add(&out->defaults, INTERVAL,
		       duration_text(a, c->common.interval_ms));
	discovered_add(&out->defaults, TIMEOUT,
		       duration_text(a, c->common.timeout_ms));
	copy_params(c, a, out);
	out->type_room = c->profile_count + 1;
	out->has_index = c->auto_profiles;
	out->types = arena_array(a, struct label_list, out->type_room);
	if (out->has_index)
		make_type(c, &index, a, &out->types[out->type_count++]);
	for (size_t i = 0; i < c->profile_count; i++) {
		if (c->profiles[i].enabled)
			make_type(c, &c->profiles[i], a,
				  &out->types[out->type_count++]);
	}
}

/*
 * Index pages can name any number of types, so the list of types grows. The old
 * list stays in the arena until the target set is freed.
 */
static void discovered_make_room(struct job_labels *job, struct arena *a)
{
	struct label_list *old = job->types;

	if (job->type_count < job->type_room)
		return;
	job->type_room = job->type_room * 2 + 8;
	job->types = arena_array(a, struct label_list, job->type_room);
	memcpy(job->types, old, job->type_count * sizeof(*old));
}

static uint64_t type_hash(struct str name)
{
	return hash_key(bytes_of(name));
}

/*
 * Comparison function of the table `known`, from type names to indexes of
 * job->types.
 */
static bool same_type(const void *ctx, uint32_t number, const void *name)
{
	const struct job_labels *job = ctx;
	const struct str *want = name;

	return str_eq(job->types[number].v[0].value, *want);
}

size_t job_labels_type(struct job_labels *job, const struct scrape_config *c,
		       struct arena *a, struct table *known,
		       const struct indexed_type *type)
{
	struct profile_config p = { .name = type->name };
	uint32_t n;

	while (known->count < job->type_count)
		table_add(known, type_hash(job->types[known->count].v[0].value),
			  (uint32_t)known->count);
	n = table_find(known, type_hash(type->name), same_type, job,
		       &type->name);
	if (n != TABLE_NONE)
		return n;
	discovered_make_room(job, a);
	p.path =
		str_of(arena_printf(a, INDEX_PATH "%.*s", STR_ARG(type->path)));
	make_type(c, &p, a, &job->types[job->type_count]);
	return job->type_count++;
}

/*
 * Set those labels of `l` that are not set yet. Callers begin with the target's
 * own labels and end with the defaults of the job, so the target's own labels
 * take precedence.
 */
static void set_absent(struct labels_builder *b, const struct label_list *l)
{
	for (; l; l = l->rest) {
		for (size_t i = 0; i < l->count; i++) {
			if (!labels_builder_get(b, l->v[i].name).len)
				labels_set(b, l->v[i].name, l->v[i].value);
		}
	}
}

/*
 * Set __param_<name> to the first value of each parameter. A later assignment
 * replaces an earlier one, so the loop runs backwards.
 */
static void set_params(struct labels_builder *b, const struct job_labels *job)
{
	char name[LABEL_NAME_MAX];

	for (size_t i = job->param_count; i-- > 0;) {
		int n = snprintf(name, sizeof(name), LABEL_PARAM "%.*s",
				 STR_ARG(job->params[i].name));

		if (n < (int)sizeof(name))
			labels_set(b, (struct str){ name, (size_t)n },
				   job->params[i].value);
	}
}

void discovered_labels(const struct job_labels *job,
		       const struct target_group *g,
		       const struct label_list *target, size_t type,
		       struct labels_builder *out)
{
	set_absent(out, target);
	set_absent(out, &g->labels);
	set_params(out, job);
	set_absent(out, &job->types[type]);
	set_absent(out, &job->defaults);
}

/*
 * A parameter may be a token, and so may the query of a URL that lists targets.
 * The duration of a profile is none: everprof itself sets this parameter.
 */
void discovered_hide_secrets(struct labels_builder *b)
{
	for (size_t i = 0; i < b->count; i++) {
		struct label *l = &b->v[i];

		if (str_is(l->name, TARGET_META_URL))
			l->value = str_cut(l->value, '?', &(struct str){ 0 });
		else if (str_starts(l->name, str_of(LABEL_PARAM)) &&
			 !str_is(l->name, LABEL_PARAM TARGET_SECONDS))
			l->value = str_of("<secret>");
	}
}

/* The functions below turn labels after relabelling into a target spec. */

static int check_address(struct str address, struct str scheme, struct err *err)
{
	if (!address.len)
		return err_set(err, ERR_INVALID,
			       "the label " ADDRESS " is empty");
	if (!target_address_is_ok(address))
		return err_set(
			err, ERR_INVALID,
			"\"%.*s\" is not a target address: expected host:port, host or [IPv6 address]:port, without scheme or path, port 1 to 65535",
			STR_ARG(address));
	if (!str_is(scheme, "http") && !str_is(scheme, "https"))
		return err_set(err, ERR_INVALID,
			       SCHEME " must be http or https, not \"%.*s\"",
			       STR_ARG(scheme));
	return 0;
}

/*
 * Read the duration in __scrape_interval__ or __scrape_timeout__, which
 * relabelling may have set to anything.
 */
static int get_duration(const struct labels_builder *b, const char *name,
			int64_t *out, struct err *err)
{
	struct str text = labels_builder_get(b, str_of(name));

	if (duration_parse(text, out, err) || *out <= 0 ||
	    *out > SCRAPE_INTERVAL_MAX_MS)
		return err_set(
			err, ERR_INVALID,
			"%s must be a duration with a unit, such as 15s, above 0 and at most 1d, not \"%.*s\"",
			name, STR_ARG(text));
	return 0;
}

/*
 * Collect the URL parameters in `out`: first the parameters of the job, where a
 * label __param_<name> replaces the first value of that name, then the
 * parameters that only labels set. Returns their number.
 */
static size_t gather_params(const struct job_labels *job,
			    const struct labels_builder *b, struct param *out)
{
	size_t n = 0;

	for (size_t i = 0; i < job->param_count && n < PARAMS_MAX; i++)
		out[n++] = job->params[i];
	for (size_t i = 0; i < b->count && n < PARAMS_MAX; i++) {
		struct str name = b->v[i].name;
		size_t k = 0;

		if (!str_starts(name, str_of(LABEL_PARAM)))
			continue;
		name.ptr += strlen(LABEL_PARAM);
		name.len -= strlen(LABEL_PARAM);
		while (k < n && !str_eq(out[k].name, name))
			k++;
		out[k] = (struct param){ name, b->v[i].value };
		n += k == n;
	}
	return n;
}

/*
 * Sort parameters by name, so that a URL does not depend on the order of
 * labels. The sort is stable: several values of one name keep their order.
 */
static void sort_params(struct param *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct param p = v[i];
		size_t k = i;

		for (; k && str_cmp(v[k - 1].name, p.name) > 0; k--)
			v[k] = v[k - 1];
		v[k] = p;
	}
}

static void add_params(struct buf *url, const struct job_labels *job,
		       const struct labels_builder *b)
{
	size_t most = job->param_count + b->count;
	struct param *v = mem_zalloc(most, sizeof(*v));
	size_t n = gather_params(job, b, v);

	sort_params(v, n);
	for (size_t i = 0; i < n; i++) {
		buf_byte(url, memchr(url->ptr, '?', url->len) ? '&' : '?');
		url_escape(v[i].name, url);
		buf_byte(url, '=');
		url_escape(v[i].value, url);
	}
	mem_free(v);
}

/*
 * Build the URL, which the caller owns; NULL: it would be longer than URL_MAX.
 */
static char *make_url(const struct job_labels *job,
		      const struct labels_builder *b)
{
	struct str scheme = labels_builder_get(b, str_of(SCHEME));
	struct str address = labels_builder_get(b, str_of(ADDRESS));
	struct str path = labels_builder_get(b, str_of(PATH));
	struct buf url = buf_init(URL_MAX + 1); /* 1 for the NUL */
	char *out;

	buf_printf(&url, "%.*s://%.*s%s%.*s", STR_ARG(scheme), STR_ARG(address),
		   path.len && *path.ptr == '/' ? "" : "/", STR_ARG(path));
	add_params(&url, job, b);
	out = url.over || url.len > URL_MAX ? NULL : mem_strdup(buf_cstr(&url));
	buf_fini(&url);
	return out;
}

/*
 * The duration of the profile in seconds, from __param_seconds; 0 if the label
 * is absent or out of bounds, so that the timeout is not extended.
 */
static int64_t seconds_of(const struct labels_builder *b)
{
	struct str text =
		labels_builder_get(b, str_of(LABEL_PARAM TARGET_SECONDS));
	int64_t n;

	return str_to_i64(text, &n) && n > 0 && n <= SCRAPE_SECONDS_MAX ? n : 0;
}

/*
 * Remove the labels that are not stored: all labels that begin with __, except
 * __name__ and __tenant__.
 */
static void remove_internal(struct labels_builder *b)
{
	for (size_t i = b->count; i-- > 0;) {
		struct str name = b->v[i].name;

		if (str_starts(name, str_of("__")) &&
		    !str_is(name, LABEL_NAME) && !str_is(name, LABEL_TENANT))
			labels_set(b, name, str_of(""));
	}
}

int target_spec_make(const struct job_labels *job, size_t type,
		     struct labels_builder *b, struct target_spec *out,
		     struct err *err)
{
	struct str address = labels_builder_get(b, str_of(ADDRESS));
	int64_t timeout;
	int rc = check_address(address, labels_builder_get(b, str_of(SCHEME)),
			       err);

	*out = (struct target_spec){ .max_body = job->max_body };
	if (!rc)
		rc = get_duration(b, INTERVAL, &out->interval_ms, err);
	if (!rc)
		rc = get_duration(b, TIMEOUT, &timeout, err);
	if (rc)
		return rc;
	if (!labels_builder_get(b, str_of(LABEL_NAME)).len)
		return err_set(err, ERR_INVALID,
			       "the label " LABEL_NAME
			       " (the profile type) is empty");
	out->seconds = seconds_of(b);
	/*
	 * The target answers only when the profile's duration is over, so the
	 * timeout is extended by the duration.
	 */
	out->timeout_ms = timeout + out->seconds * 1000;
	out->url = make_url(job, b);
	if (!out->url)
		return err_set(err, ERR_INVALID,
			       "the target's URL is longer than %d bytes",
			       URL_MAX);
	out->is_index = job_labels_is_index(job, type);
	if (out->is_index)
		out->max_body = TYPE_INDEX_BODY_MAX;
	if (!labels_builder_get(b, str_of("instance")).len)
		labels_set(b, str_of("instance"), address);
	remove_internal(b);
	rc = labels_build(b, &out->labels, err);
	if (rc)
		target_spec_fini(out);
	return rc;
}
