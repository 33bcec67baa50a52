/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes scrape_configs of the configuration file. Every mistake is reported
 * with its line; decoding goes on, so that one run shows all of them.
 */
#include "scrape/target/scrape_config.h"

#include <stddef.h>

#include "model/types.h"

/*
 * The profile types that conprof scrapes by default. "profile" covers 10
 * seconds here, but 30 seconds in conprof.
 */
static const struct {
	const char *name;
	const char *path;
	int64_t seconds;
} default_profiles[] = {
	{ "allocs", "/debug/pprof/allocs", 0 },
	{ "block", "/debug/pprof/block", 0 },
	{ "goroutine", "/debug/pprof/goroutine", 0 },
	{ "heap", "/debug/pprof/heap", 0 },
	{ "mutex", "/debug/pprof/mutex", 0 },
	{ "profile", "/debug/pprof/profile", 10 },
	{ "threadcreate", "/debug/pprof/threadcreate", 0 },
};

/* static_configs: target groups that are written in the file. */
static void decode_static(struct yaml *y, const struct yaml_node *n,
			  void *field)
{
	struct scrape_config *c = field;

	c->statics = target_groups_decode(y, n, "static_configs", NULL);
}

/*
 * Whether a target is host:port or [address]:port. A colon within brackets
 * belongs to an IPv6 address.
 */
static bool has_port(struct str target)
{
	const char *colon = memrchr(target.ptr, ':', target.len);
	const char *bracket = memrchr(target.ptr, ']', target.len);

	return colon && (!bracket || colon > bracket);
}

/*
 * Report targets that are not addresses, such as URLs, and warn about missing
 * ports. Callers skip this check for jobs with relabelling rules, which may
 * turn URLs into addresses.
 */
static void check_targets(struct yaml *y, const struct yaml_node *groups)
{
	for (size_t i = 0; groups->kind == YAML_LIST && i < groups->count;
	     i++) {
		const struct yaml_node *list =
			yaml_child(groups->items[i], "targets");

		for (size_t k = 0;
		     list && list->kind == YAML_LIST && k < list->count; k++) {
			const struct yaml_node *t = list->items[k];

			if (yaml_is_null(t))
				yaml_error(
					y, t,
					"targets contains an empty entry; expected host:port");
			else if (t->kind == YAML_SCALAR &&
				 !target_address_is_ok(t->text))
				yaml_error(
					y, t,
					"\"%.*s\" is not a target address: expected host:port, host or [IPv6 address]:port, without scheme or path, port 1 to 65535",
					STR_ARG(t->text));
			else if (t->kind == YAML_SCALAR && !has_port(t->text))
				yaml_warn(
					y, t,
					"target \"%.*s\" has no port: the scheme's default port (80 or 443) is used",
					STR_ARG(t->text));
		}
	}
}

/*
 * Decode params: {name: [value, …]} into one struct param for each value. Some
 * are tokens, and it is not known which.
 */
static void decode_params(struct yaml *y, const struct yaml_node *n,
			  void *field)
{
	struct scrape_config *c = field;
	size_t count = 0;

	if (!yaml_expect(y, n, YAML_MAP, "params"))
		return;
	yaml_unique_keys(y, n);
	for (size_t i = 1; i < n->count; i += 2)
		count += n->items[i]->count + 1;
	c->params = arena_array(&y->arena, struct param, count);
	for (size_t i = 0; i < n->count; i += 2) {
		const struct yaml_node *values = n->items[i + 1];

		if (yaml_is_null(values) ||
		    !yaml_expect(y, values, YAML_LIST, "a parameter"))
			continue;
		for (size_t k = 0; k < values->count; k++) {
			struct param *p = &c->params[c->param_count++];

			p->name = n->items[i]->text;
			yaml_secret(y, values->items[k], &p->value);
		}
	}
}

/*
 * The options of one profile type. An option whose decoder is NULL is ignored
 * with a warning, which contains the reason given here.
 */
static const struct yaml_field profile_fields[] = {
	{ "enabled", yaml_bool, offsetof(struct profile_config, enabled),
	  NULL },
	{ "path", yaml_text, offsetof(struct profile_config, path), NULL },
	{ "seconds", yaml_int, offsetof(struct profile_config, seconds), NULL },
	{ "interval", yaml_duration,
	  offsetof(struct profile_config, interval_ms), NULL },
	{ "delta", NULL, 0,
	  "queries compute the difference of counters when they merge profiles" },
	{ 0 },
};

static struct profile_config *find_profile(struct scrape_config *c,
					   struct str name)
{
	for (size_t i = 0; i < c->profile_count; i++) {
		if (str_eq(c->profiles[i].name, name))
			return &c->profiles[i];
	}
	return NULL;
}

/* The default profile type that a name probably means, or NULL. */
static const char *find_meant(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(default_profiles); i++) {
		const char *type = default_profiles[i].name;

		if (types_is_meant(name, str_of(type)))
			return type;
	}
	return NULL;
}

/*
 * Add a profile type, or change the options of a default type. The caller has
 * made room in the array.
 */
static void decode_profile(struct yaml *y, const struct yaml_node *key,
			   const struct yaml_node *value,
			   struct scrape_config *c)
{
	struct profile_config *p = find_profile(c, key->text);

	if (!key->text.len || !str_is_utf8(key->text)) {
		yaml_error(
			y, key,
			"the name of a profile type must be non-empty UTF-8");
		return;
	}
	if (!p) {
		p = &c->profiles[c->profile_count++];
		*p = (struct profile_config){ .name = key->text,
					      .enabled = true };
	}
	if (!yaml_is_null(value))
		yaml_decode(y, value, "pprof_config", profile_fields, p);
	if (p->enabled && (!p->path.len || p->path.ptr[0] != '/')) {
		const char *meant = find_meant(p->name);

		yaml_error(
			y, key,
			"profile type %.*s needs a path that begins with /, such as /debug/pprof/%.*s%s%s%s",
			STR_ARG(p->name), STR_ARG(p->name),
			meant ? "; did you mean " : "", meant ? meant : "",
			meant ? "?" : "");
	}
	if (p->enabled && str_is(p->name, "trace"))
		yaml_warn(
			y, key,
			"\"trace\" is not a profile type: execution traces (/debug/pprof/trace) cannot be stored");
	if (p->seconds < 0 || p->seconds > SCRAPE_SECONDS_MAX)
		yaml_error(y, key, "seconds must be between 0 and %d",
			   SCRAPE_SECONDS_MAX);
	if (p->interval_ms < 0 || p->interval_ms > SCRAPE_INTERVAL_MAX_MS)
		yaml_error(y, key, "interval must be at most 1d");
}

/*
 * pprof_config is "auto", or a map that changes the default types and adds
 * others.
 */
static void decode_pprof(struct yaml *y, const struct yaml_node *n, void *field)
{
	struct scrape_config *c = field;
	size_t room = ARRAY_SIZE(default_profiles) + n->count / 2;
	struct profile_config *all;

	if (n->kind == YAML_SCALAR && str_is(n->text, "auto")) {
		c->auto_profiles = true;
		return;
	}
	if (n->kind == YAML_SCALAR && !yaml_is_null(n)) {
		yaml_error(
			y, n,
			"pprof_config must be auto or a map of profile types");
		return;
	}
	if (!yaml_expect(y, n, YAML_MAP, "pprof_config"))
		return;
	yaml_unique_keys(y, n);
	all = arena_array(&y->arena, struct profile_config, room);
	memcpy(all, c->profiles, c->profile_count * sizeof(*all));
	c->profiles = all;
	for (size_t i = 0; i < n->count; i += 2)
		decode_profile(y, n->items[i], n->items[i + 1], c);
}

/* profiling_config: the part of a job that Prometheus does not have. */
static void decode_profiling(struct yaml *y, const struct yaml_node *n,
			     void *field)
{
	static const struct yaml_field fields[] = {
		{ "path_prefix", yaml_text,
		  offsetof(struct scrape_config, path_prefix), NULL },
		{ "pprof_config", decode_pprof, 0, NULL },
		{ 0 },
	};

	yaml_decode(y, n, "profiling_config", fields, field);
}

/* A job without pprof_config asks for the default types. */
static void set_default_profiles(struct yaml *y, struct scrape_config *c)
{
	c->profile_count = ARRAY_SIZE(default_profiles);
	c->profiles =
		arena_array(&y->arena, struct profile_config, c->profile_count);
	for (size_t i = 0; i < c->profile_count; i++)
		c->profiles[i] = (struct profile_config){
			.name = str_of(default_profiles[i].name),
			.path = str_of(default_profiles[i].path),
			.seconds = default_profiles[i].seconds,
			.enabled = true
		};
}

#define TIMEOUT_DEFAULT_MS 15000

/*
 * The options of a job. Options of Prometheus that make no sense for profiles
 * are accepted with a warning, so that configuration files of Prometheus can be
 * used unchanged.
 */
static const struct yaml_field job_fields[] = {
	{ "job_name", yaml_text, offsetof(struct scrape_config, job_name),
	  NULL },
	SCRAPE_COMMON_FIELDS(offsetof(struct scrape_config, common)),
	{ "scheme", yaml_text, offsetof(struct scrape_config, scheme), NULL },
	{ "params", decode_params, 0, NULL },
	{ "profiling_config", decode_profiling, 0, NULL },
	{ "static_configs", decode_static, 0, NULL },
	HTTP_OPTION_FIELDS(struct scrape_config, http),
	{ "relabel_configs", relabel_decode,
	  offsetof(struct scrape_config, relabel), NULL },
	{ "metrics_path", NULL, 0,
	  "the paths of profiles are set in profiling_config" },
	SCRAPE_IGNORED("metric_relabel_configs"),
	SCRAPE_IGNORED("honor_labels"),
	SCRAPE_IGNORED("honor_timestamps"),
	SCRAPE_IGNORED("track_timestamps_staleness"),
	SCRAPE_IGNORED_FIELDS,
	SCRAPE_IGNORED("bucket_limit"),
	SCRAPE_IGNORED("native_histogram_bucket_limit"),
	SCRAPE_IGNORED("native_histogram_min_bucket_factor"),
	SCRAPE_IGNORED("fallback_scrape_protocol"),
	SCRAPE_IGNORED("enable_compression"),
	{ 0 },
};

/* Fill in intervals and timeouts. 0 means "not set", as in Prometheus. */
static void fill_times(struct scrape_common *c,
		       const struct scrape_common *defaults)
{
	if (!c->interval_ms)
		c->interval_ms = defaults->interval_ms;
	if (c->timeout_ms)
		return;
	/*
	 * As in Prometheus, if the job does not set a timeout and the default
	 * is longer than the job's interval, the timeout is the interval.
	 */
	c->timeout_ms = defaults->timeout_ms ? defaults->timeout_ms :
					       TIMEOUT_DEFAULT_MS;
	if (c->timeout_ms > c->interval_ms)
		c->timeout_ms = c->interval_ms;
}

/*
 * Report times out of bounds, and warn about times that are so long that
 * scrapes would be skipped.
 */
static void check_times(struct yaml *y, const struct yaml_node *n,
			const struct scrape_config *c)
{
	if (c->common.timeout_ms > c->common.interval_ms)
		yaml_warn(
			y, n,
			"scrape_timeout is longer than scrape_interval: scrapes of slow targets will be skipped");
	if (c->common.interval_ms <= 0 ||
	    c->common.interval_ms > SCRAPE_INTERVAL_MAX_MS)
		yaml_error(
			y, n,
			"scrape_interval must be above 0 and at most 1d (if the job has none, see global)");
	if (c->common.timeout_ms <= 0 ||
	    c->common.timeout_ms > SCRAPE_INTERVAL_MAX_MS)
		yaml_error(
			y, n,
			"scrape_timeout must be above 0 and at most 1d (if the job has none, see global)");
	for (size_t i = 0; i < c->profile_count; i++) {
		const struct profile_config *p = &c->profiles[i];

		if (p->enabled && p->seconds <= SCRAPE_SECONDS_MAX &&
		    p->seconds * 1000 >= (p->interval_ms ?
						  p->interval_ms :
						  c->common.interval_ms))
			yaml_warn(
				y, n,
				"profile type %.*s takes %lld s, which is not shorter than its interval: scrapes will be skipped",
				STR_ARG(p->name), (long long)p->seconds);
	}
}

/* Decode the service discoveries of a job. */
static bool decode_discovery(struct yaml *y, const struct yaml_node *key,
			     const struct yaml_node *value, void *job)
{
	struct scrape_config *c = job;

	return discovery_configs_decode(y, key, value, &c->discovery);
}

/*
 * Decode one job. The semantic checks run after all fields are known, because
 * they compare fields with each other.
 */
static void decode_job(struct yaml *y, const struct yaml_node *n,
		       const struct scrape_common *defaults,
		       struct scrape_config *c)
{
	size_t errors = y->error_count;

	*c = (struct scrape_config){
		.common = *defaults,
		.scheme = str_of("http"),
	};
	/* fill_times() has to know whether the job has times of its own. */
	c->common.interval_ms = 0;
	c->common.timeout_ms = 0;
	http_options_init(&c->http);
	set_default_profiles(y, c);
	yaml_decode_open(y, n, "scrape_config", job_fields, decode_discovery,
			 c);
	http_options_check(y, n, &c->http);
	fill_times(&c->common, defaults);
	if (n->kind != YAML_MAP)
		return;
	if (!c->relabel.count && yaml_child(n, "static_configs"))
		check_targets(y, yaml_child(n, "static_configs"));
	if (!c->job_name.len && y->error_count == errors)
		yaml_error(y, n, "job_name is missing");
	if (str_is_nocase(c->scheme, "http"))
		c->scheme = str_of("http");
	else if (str_is_nocase(c->scheme, "https"))
		c->scheme = str_of("https");
	else
		yaml_error(y, n, "scheme must be http or https, not \"%.*s\"",
			   STR_ARG(c->scheme));
	if (c->path_prefix.len && c->path_prefix.ptr[0] != '/')
		yaml_error(y, n, "path_prefix must begin with /");
	check_times(y, n, c);
}

void scrape_configs_decode(struct yaml *y, const struct yaml_node *list,
			   const struct scrape_common *defaults,
			   struct scrape_configs *out)
{
	if (!yaml_expect(y, list, YAML_LIST, "scrape_configs"))
		return;
	out->v = arena_array(&y->arena, struct scrape_config, list->count);
	for (size_t i = 0; i < list->count; i++) {
		decode_job(y, list->items[i], defaults, &out->v[i]);
		/* Job names must be unique: jobs are looked up by them. */
		for (size_t k = 0; k < i; k++) {
			if (out->v[k].job_name.len &&
			    str_eq(out->v[k].job_name, out->v[i].job_name))
				yaml_error(y, list->items[i],
					   "duplicate job_name \"%.*s\"",
					   STR_ARG(out->v[i].job_name));
		}
		out->count++;
	}
}

void scrape_configs_fini(struct scrape_configs *c)
{
	for (size_t i = 0; i < c->count; i++) {
		relabel_rules_fini(&c->v[i].relabel);
		target_groups_unref(c->v[i].statics);
	}
	c->count = 0;
}
