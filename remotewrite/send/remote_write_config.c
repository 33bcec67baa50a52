/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/remote_write_config.h"

#include <stddef.h>
#include <stdio.h>
#include <strings.h>

#include "base/hash.h"
#include "base/units.h"
#include "base/yaml_dump.h"

/* Reasons in the warnings about keys of Prometheus that are ignored. */
#define NOT_FOR_PROFILES "it does not apply to profiles"
#define ALWAYS_RETRIED   "status 429 is always retried"
#define SHARDS_FIXED     "the number of shards is fixed; set it with the key shards"

#define DAY_MS (24LL * 3600 * 1000)

enum {
	SHARDS_MAX = 200,
	NAME_MAX_BYTES = 100,
	/* digits of the default name, as in Prometheus */
	NAME_DIGITS = 6
};

/*
 * Headers that the key `headers` must not contain: everprof or the HTTP client
 * decides about them.
 */
static const char *const own_headers[] = {
	"Content-Type", "Content-Encoding", "Content-Length",
	"Host",         "User-Agent",       "Transfer-Encoding",
	"Connection",   "Retry-Attempt",    "Authorization",
	"Expect",       "Content-Digest",   "X-Everprof-Remote-Write-Version",
};

/* Whether the header `name` is one of own_headers. */
static bool is_own_header(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_headers); i++) {
		if (str_is_nocase(name, own_headers[i]))
			return true;
	}
	return false;
}

/* Whether a text can be a part of a header line. */
static bool is_header_text(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
			return false;
	}
	return true;
}

/* Decode the key `headers`: a map of names of headers to their values. */
static void remote_write_decode_headers(struct yaml *y,
					const struct yaml_node *n, void *config)
{
	struct remote_write_config *c = config;

	if (!yaml_expect(y, n, YAML_MAP, "headers"))
		return;
	yaml_unique_keys(y, n);
	c->headers = arena_array(&y->arena, const char *, n->count / 2 + 1);
	for (size_t i = 0; i < n->count; i += 2) {
		struct str name = n->items[i]->text;
		struct str value = { 0 };

		yaml_secret(y, n->items[i + 1], &value);
		if (is_own_header(name))
			yaml_error(
				y, n->items[i],
				"headers cannot set %.*s: this header is reserved for everprof itself (for Authorization, use basic_auth, authorization or oauth2)",
				STR_ARG(name));
		else if (!name.len || !is_header_text(name) ||
			 !is_header_text(value) ||
			 memchr(name.ptr, ':', name.len))
			yaml_error(
				y, n->items[i],
				"headers: names must not be empty or contain a colon, and names and values must be single lines of text");
		else
			c->headers[c->header_count++] =
				arena_printf(&y->arena, "%.*s: %.*s",
					     STR_ARG(name), STR_ARG(value));
	}
}

/* Decode the key compression: zstd or snappy. */
static void decode_compression(struct yaml *y, const struct yaml_node *n,
			       void *field)
{
	struct str s = { 0 };

	yaml_text(y, n, &s);
	*(bool *)field = str_is(s, "zstd");
	if (!str_is(s, "zstd") && !str_is(s, "snappy"))
		yaml_error(y, n,
			   "compression must be zstd or snappy, not \"%.*s\"",
			   STR_ARG(s));
}

/* Decode queue_config. */
static void decode_queue(struct yaml *y, const struct yaml_node *n, void *queue)
{
#define AT(member) offsetof(struct queue_config, member)
	static const struct yaml_field fields[] = {
		{ "capacity", yaml_int, AT(capacity), NULL },
		{ "shards", yaml_int, AT(shards), NULL },
		{ "max_samples_per_send", yaml_int, AT(max_samples), NULL },
		{ "max_bytes_per_send", yaml_size, AT(max_bytes), NULL },
		{ "batch_send_deadline", yaml_duration, AT(deadline_ms), NULL },
		{ "min_backoff", yaml_duration, AT(min_backoff_ms), NULL },
		{ "max_backoff", yaml_duration, AT(max_backoff_ms), NULL },
		{ "sample_age_limit", yaml_duration, AT(age_limit_ms), NULL },
		{ "max_shards", NULL, 0, SHARDS_FIXED },
		{ "min_shards", NULL, 0, SHARDS_FIXED },
		{ "retry_on_http_429", NULL, 0, ALWAYS_RETRIED },
		{ 0 },
	};
#undef AT
	struct queue_config *q = queue;

	yaml_decode(y, n, "queue_config", fields, q);
	if (q->shards < 1 || q->shards > SHARDS_MAX)
		yaml_error(y, n, "shards must be between 1 and %d", SHARDS_MAX);
	if (q->capacity < 1 || q->max_samples < 1)
		yaml_error(
			y, n,
			"capacity and max_samples_per_send must be at least 1");
	if (q->max_bytes < KIB || q->max_bytes > 64 * MIB)
		yaml_error(y, n,
			   "max_bytes_per_send must be between 1KB and 64MB");
	if (q->deadline_ms < 1 || q->min_backoff_ms < 1 ||
	    q->max_backoff_ms < q->min_backoff_ms || q->max_backoff_ms > DAY_MS)
		yaml_error(
			y, n,
			"batch_send_deadline and min_backoff must be above 0, and max_backoff must be between min_backoff and 1d");
}

/* Decode max_backlog. */
static void decode_backlog(struct yaml *y, const struct yaml_node *n,
			   void *config)
{
	static const struct yaml_field fields[] = {
		{ "size", yaml_size,
		  offsetof(struct remote_write_config, backlog_bytes), NULL },
		{ "age", yaml_duration,
		  offsetof(struct remote_write_config, backlog_ms), NULL },
		{ 0 },
	};

	yaml_decode(y, n, "max_backlog", fields, config);
}

/* Return the default values of an entry. */
static struct remote_write_config remote_write_defaults(void)
{
	return (struct remote_write_config){
		.timeout_ms = 30000,
		.zstd = true,
		.url = str_of(""),
		.name = str_of(""),
		.queue = { .capacity = 2500,
			   .shards = 1,
			   .max_samples = 2000,
			   .max_bytes = 4 * MIB,
			   .deadline_ms = 5000,
			   .min_backoff_ms = 30,
			   .max_backoff_ms = 5000 },
		.backlog_bytes = REMOTE_WRITE_BACKLOG_BY_DISK,
		.backlog_ms = 7 * DAY_MS,
	};
}

/*
 * Set the name, if none is configured, to the first hexadecimal digits of a
 * hash of the URL.
 */
static void remote_write_set_name(struct yaml *y, struct remote_write_config *c)
{
	char *name;

	if (c->name.len)
		return;
	name = arena_printf(&y->arena, "%016llx",
			    (unsigned long long)hash_bytes(bytes_of(c->url)));
	name[NAME_DIGITS] = 0;
	c->name = str_of(name);
}

/*
 * Whether a name can be a part of a file name: at most NAME_MAX_BYTES letters,
 * digits, "_", "-" and ".", and no "." at the beginning.
 */
static bool remote_write_is_name(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char ch = s.ptr[i];

		if (!(ch >= 'a' && ch <= 'z') && !(ch >= 'A' && ch <= 'Z') &&
		    !(ch >= '0' && ch <= '9') && ch != '_' && ch != '-' &&
		    !(ch == '.' && i))
			return false;
	}
	return s.len <= NAME_MAX_BYTES;
}

/* Whether a URL has a path other than "/". */
static bool has_path(struct str url)
{
	const char *host = strstr(url.ptr, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;

	return path && path[1];
}

/* Check entry number `i` as a whole. */
static void remote_write_check(struct yaml *y, const struct yaml_node *n,
			       const struct remote_write_configs *all, size_t i)
{
	const struct remote_write_config *c = &all->v[i];

	if (n->kind == YAML_MAP && !c->url.len)
		yaml_error(y, n, "remote_write requires url");
	if (c->url.len && !has_path(c->url))
		yaml_warn(
			y, yaml_child(n, "url"),
			"the url has no path: the receiver of everprof is at /api/v1/write");
	if (!remote_write_is_name(c->name))
		yaml_error(
			y, n,
			"name must consist of at most %d letters, digits, \"_\", \"-\" and \".\", and must not begin with \".\"",
			NAME_MAX_BYTES);
	if (c->timeout_ms < 1 || c->timeout_ms > DAY_MS)
		yaml_error(y, n, "remote_timeout must be between 1ms and 1d");
	for (size_t k = 0; k < i; k++) {
		if (str_eq(all->v[k].name, c->name))
			yaml_error(
				y, n,
				"two receivers have the name \"%.*s\": give each a name of its own (the default is made from the url)",
				STR_ARG(c->name));
	}
}

/* Decode one receiver. */
static void decode_entry(struct yaml *y, const struct yaml_node *n,
			 struct remote_write_config *c)
{
#define AT(member) offsetof(struct remote_write_config, member)
	static const struct yaml_field fields[] = {
		HTTP_OPTION_FIELDS(struct remote_write_config, http),
		{ "url", http_decode_url, AT(url), NULL },
		{ "name", yaml_text, AT(name), NULL },
		{ "remote_timeout", yaml_duration, AT(timeout_ms), NULL },
		{ "compression", decode_compression, AT(zstd), NULL },
		{ "headers", remote_write_decode_headers, 0, NULL },
		{ "write_relabel_configs", relabel_decode, AT(relabel), NULL },
		{ "queue_config", decode_queue, AT(queue), NULL },
		{ "max_backlog", decode_backlog, 0, NULL },
		{ "protobuf_message", NULL, 0, NOT_FOR_PROFILES },
		{ "send_exemplars", NULL, 0, NOT_FOR_PROFILES },
		{ "send_native_histograms", NULL, 0, NOT_FOR_PROFILES },
		{ "metadata_config", NULL, 0, NOT_FOR_PROFILES },
		{ "round_robin_dns", NULL, 0,
		  "connections are kept; a name is resolved for each new one" },
		{ 0 },
	};
#undef AT
	struct buf key = { 0 };

	*c = remote_write_defaults();
	http_options_init(&c->http);
	c->http.enable_http2 = false; /* as in Prometheus */
	yaml_decode(y, n, "remote_write", fields, c);
	http_options_check(y, n, &c->http);
	remote_write_set_name(y, c);
	yaml_dump(n, true, &key);
	c->key = arena_str(&y->arena, str_from(buf_bytes(&key)));
	buf_fini(&key);
}

void remote_write_decode(struct yaml *y, const struct yaml_node *n, void *field)
{
	struct remote_write_configs *all = field;

	if (!yaml_expect(y, n, YAML_LIST, "remote_write"))
		return;
	all->v = arena_array(&y->arena, struct remote_write_config, n->count);
	for (size_t i = 0; i < n->count; i++) {
		decode_entry(y, n->items[i], &all->v[i]);
		all->count++;
		remote_write_check(y, n->items[i], all, i);
	}
}

void remote_write_configs_fini(struct remote_write_configs *c)
{
	for (size_t i = 0; i < c->count; i++)
		relabel_rules_fini(&c->v[i].relabel);
	*c = (struct remote_write_configs){ 0 };
}
