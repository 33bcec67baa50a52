/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_sd_configs: all names are looked up every refresh_interval. A name that
 * does not exist has no targets. The targets of a name that cannot be looked up
 * stay as they were.
 */
#include "discovery/dns/dns_sd.h"

#include <stdlib.h>

#include "base/file_slurp.h"
#include "base/hash.h"
#include "base/mem.h"
#include "discovery/core/group_builder.h"
#include "discovery/core/kinds.h"
#include "discovery/dns/dns_client.h"
#include "discovery/dns/dns_search.h"

#define RESOLV_CONF     "/etc/resolv.conf"
#define RESOLV_CONF_MAX MIB

/* A configured name. */
struct dns_name {
	struct provider *p;
	char *name;
	/*
	 * how many forms of the name, with domains of the search list or
	 * without, were tried in this refresh
	 */
	size_t attempt;
	struct err err; /* error of this refresh; code 0: none */
	/* targets that were found last; NULL: no lookup has succeeded yet */
	struct target_groups *groups;
	uint64_t hash; /* hash of the records that `groups` were made from */
};

/* The data of a DNS provider. */
struct dns_source {
	VEC(struct dns_name) names;
	struct dns_client *client; /* NULL: no refresh is in progress */
	struct dns_search search;
	/* number of names whose lookup has not ended in this refresh yet */
	size_t running;
	bool changed; /* whether targets have changed in this refresh */
};

/* The records of a response. */
struct dns_answer {
	VEC(struct dns_record) records;
};

static const struct dns_config *dns_config_of(const struct provider *p)
{
	return (const struct dns_config *)p->config;
}

static void *dns_open(struct provider *p)
{
	const struct dns_config *c = dns_config_of(p);
	struct dns_source *s = mem_new(struct dns_source);

	for (size_t i = 0; i < c->name_count; i++)
		*vec_add(&s->names) =
			(struct dns_name){ .p = p,
					   .name = mem_strndup(c->names[i]) };
	return s;
}

/* Report the targets of all names. */
static void dns_publish(struct provider *p, const struct dns_source *s)
{
	struct target_groups_list all = { 0 };

	for (size_t i = 0; i < s->names.count; i++) {
		if (s->names.v[i].groups)
			*vec_add(&all) =
				target_groups_ref(s->names.v[i].groups);
	}
	provider_found(p, &all);
	target_groups_list_fini(&all);
}

/*
 * Compare two records, for qsort(). Records are sorted because name servers may
 * rotate them: if only the order differs, the records have not changed.
 */
static int compare_records(const void *a, const void *b)
{
	const struct dns_record *x = a;
	const struct dns_record *y = b;
	int order = strcmp(x->name, y->name);

	if (!order)
		order = (x->port > y->port) - (x->port < y->port);
	return order ? order : (int)x->type - (int)y->type;
}

/* Add the target of a record. */
static void add_record(struct group_builder *b, const struct dns_record *r,
		       const struct dns_name *n, int64_t port)
{
	/* The names of the labels for the host name of a record, by type. */
	static const char *const labels[] = {
		[DNS_SRV] = "__meta_dns_srv_record_target",
		[DNS_MX] = "__meta_dns_mx_record_target",
		[DNS_NS] = "__meta_dns_ns_record_target",
	};
	struct str host = str_of(r->name);

	group_target(b);
	group_label(b, "__meta_dns_name", str_of(n->name));
	if (labels[r->type]) {
		group_label(b, labels[r->type], host);
		host.len--; /* without the dot at the end */
	}
	if (r->type == DNS_SRV)
		group_label_int(b, "__meta_dns_srv_record_port", r->port);
	group_address(b, host, r->type == DNS_SRV ? r->port : port);
}

static uint64_t hash_records(const struct dns_answer *a)
{
	struct buf text = { 0 };
	uint64_t hash;

	for (size_t i = 0; i < a->records.count; i++) {
		const struct dns_record *r = &a->records.v[i];

		buf_printf(&text, "%d %u %s\n", (int)r->type, r->port, r->name);
	}
	hash = hash_bytes(buf_bytes(&text));
	buf_fini(&text);
	return hash;
}

/*
 * Make targets of the records of a name, unless the records are the same as
 * before.
 */
static int use_records(struct dns_source *s, struct dns_name *n,
		       struct dns_answer *a, struct err *err)
{
	struct target_groups *groups = NULL;
	struct group_builder b;
	uint64_t hash;
	int rc;

	if (a->records.count)
		qsort(a->records.v, a->records.count, sizeof(*a->records.v),
		      compare_records);
	hash = hash_records(a);
	if (n->groups && n->hash == hash)
		return 0;
	group_builder_init(&b);
	group_begin(&b);
	for (size_t i = 0; i < a->records.count; i++)
		add_record(&b, &a->records.v[i], n, dns_config_of(n->p)->port);
	rc = group_builder_take(&b, &groups, err);
	group_builder_fini(&b);
	if (rc)
		return rc;
	target_groups_unref(n->groups);
	n->groups = groups;
	n->hash = hash;
	s->changed = true;
	provider_tell(n->p, n->name, groups);
	return 0;
}

static void add_to_answer(void *answer, const struct dns_record *r)
{
	struct dns_answer *a = answer;

	*vec_add(&a->records) = *r;
}

/*
 * End the lookup of a name. The refresh ends with the last name. dns_call()
 * frees the client later, because the client may be the caller of this
 * function.
 */
static void end_name(struct dns_name *n)
{
	struct dns_source *s = n->p->data;

	if (n->err.code)
		provider_failed(n->p, n->name, &n->err);
	if (--s->running)
		return;
	if (s->changed || !n->p->asked)
		dns_publish(n->p, s);
	provider_refreshed(n->p);
	provider_call_within(n->p, 0);
}

static void ask_next(struct dns_name *n);

/*
 * Called with the response for one form of a name (with a domain of the search
 * list, or without). A form that exists ends the lookup, even if it has no
 * records. If all forms were tried, and none exists, the name has no targets.
 * But if one of these forms could not be looked up, the targets of the name
 * stay as they were.
 */
static void dns_on_response(void *ctx, int code, struct bytes response,
			    const struct err *err)
{
	struct dns_name *n = ctx;
	struct dns_answer a = { { 0 } };

	if (code == ERR_CLOSED)
		return;
	if (code && code != ERR_NOTFOUND)
		n->err = *err;
	if (code) {
		ask_next(n);
		return;
	}
	n->err.code = 0;
	/* If there are no records, c-ares may pass no message. */
	if (response.len)
		code = dns_records_visit(response, add_to_answer, &a, &n->err);
	if (!code)
		(void)use_records(n->p->data, n, &a, &n->err);
	vec_fini(&a.records);
	end_name(n);
}

/* Ask for the next form of a name, or end its lookup. */
static void ask_next(struct dns_name *n)
{
	struct dns_source *s = n->p->data;
	char *name = dns_search_name(&s->search, str_of(n->name), n->attempt++);
	struct dns_answer none = { { 0 } };

	if (name) {
		dns_client_ask(s->client, name, dns_config_of(n->p)->type,
			       dns_on_response, n);
		mem_free(name);
		return;
	}
	if (!n->err.code)
		(void)use_records(s, n, &none, &n->err);
	end_name(n);
}

/* Read the search list and the name servers, which may have changed. */
static int dns_prepare(struct provider *p, struct dns_source *s,
		       struct err *err)
{
	struct buf text = buf_init(RESOLV_CONF_MAX);
	int rc = file_slurp(RESOLV_CONF, &text, err);

	if (!rc)
		rc = dns_client_new(p->client, dns_config_of(p)->servers,
				    &s->client, err);
	if (!rc)
		dns_search_parse(str_from(buf_bytes(&text)), &s->search);
	buf_fini(&text);
	return rc;
}

/* Arrange that dns_call() is called when c-ares must look at its timeouts. */
static void set_timer(struct provider *p, const struct dns_source *s)
{
	int64_t ms = dns_client_next_ms(s->client);

	if (s->running && ms >= 0)
		provider_call_within(p, ms);
}

/* Start to look up all names. A lookup may end at once. */
static void dns_refresh(struct provider *p)
{
	struct dns_source *s = p->data;
	struct err err;

	if (s->client)
		return; /* the previous refresh is not done */
	if (dns_prepare(p, s, &err)) {
		provider_failed(p, RESOLV_CONF, &err);
		provider_refreshed(p);
		return;
	}
	s->changed = false;
	s->running = s->names.count;
	for (size_t i = 0; i < s->names.count; i++) {
		struct dns_name *n = &s->names.v[i];

		n->attempt = 0;
		n->err.code = 0;
		ask_next(n);
	}
	set_timer(p, s);
}

/*
 * Retry or end the queries that have timed out. If all names have a result or
 * an error, free the client.
 */
static void dns_call(struct provider *p)
{
	struct dns_source *s = p->data;

	if (!s->client)
		return;
	if (s->running)
		dns_client_expire(s->client);
	if (s->running) {
		set_timer(p, s);
		return;
	}
	dns_client_free(s->client);
	dns_search_fini(&s->search);
	s->client = NULL;
}

static void dns_close(struct provider *p)
{
	struct dns_source *s = p->data;

	dns_client_free(s->client);
	dns_search_fini(&s->search);
	for (size_t i = 0; i < s->names.count; i++) {
		mem_free(s->names.v[i].name);
		target_groups_unref(s->names.v[i].groups);
	}
	vec_fini(&s->names);
	mem_free(s);
}

/* The functions below decode the configuration. */

static void dns_decode_names(struct yaml *y, const struct yaml_node *n,
			     void *field)
{
	struct dns_config *c = field;

	if (!yaml_expect(y, n, YAML_LIST, "names"))
		return;
	c->names = arena_array(&y->arena, struct str, n->count);
	for (size_t i = 0; i < n->count; i++) {
		struct str *name = &c->names[c->name_count];

		*name = str_of("");
		yaml_text(y, n->items[i], name);
		if (name->len)
			c->name_count++;
		else
			yaml_error(y, n->items[i],
				   "names contains an empty name");
	}
}

static void dns_decode_type(struct yaml *y, const struct yaml_node *n,
			    void *field)
{
	static const char *const types[] = {
		[DNS_SRV] = "SRV", [DNS_A] = "A",   [DNS_AAAA] = "AAAA",
		[DNS_MX] = "MX",   [DNS_NS] = "NS",
	};
	struct dns_config *c = field;
	struct str text = str_of("");

	yaml_text(y, n, &text);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (str_is_nocase(text, types[i])) {
			c->type = (enum dns_type)i;
			return;
		}
	}
	c->unknown_type = true;
	yaml_error(y, n, "type must be SRV, A, AAAA, MX or NS, not \"%.*s\"",
		   STR_ARG(text));
}

static void dns_check(struct yaml *y, const struct yaml_node *entry,
		      struct discovery_config *base)
{
	const struct dns_config *c = (const struct dns_config *)base;

	if (!c->name_count)
		yaml_error(y, entry, "dns_sd_config requires names");
	if (c->port < 0 || c->port > 65535)
		yaml_error(y, yaml_place(entry, "port"),
			   "port must be between 1 and 65535");
	else if (!c->port && c->type != DNS_SRV && !c->unknown_type)
		yaml_error(
			y, entry,
			"dns_sd_config requires port: only records of type SRV have a port");
}

static const struct yaml_field dns_fields[] = {
	{ "names", dns_decode_names, 0, NULL },
	{ "type", dns_decode_type, 0, NULL },
	{ "port", yaml_int, offsetof(struct dns_config, port), NULL },
	DISCOVERY_FIELDS,
	{ 0 },
};

const struct provider_kind provider_dns = {
	.name = "dns",
	.refresh_ms = 30000,
	.config_size = sizeof(struct dns_config),
	.fields = dns_fields,
	.check = dns_check,
	.open = dns_open,
	.refresh = dns_refresh,
	.close = dns_close,
	.call = dns_call,
};
