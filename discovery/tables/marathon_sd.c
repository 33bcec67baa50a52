/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marathon_sd_configs: tasks of the apps of a Marathon cluster.
 *
 * Source: mesosphere.github.io/marathon, "REST API" and "Networking".
 */
#include <stdlib.h>
#include <sys/random.h>

#include "base/mem.h"
#include "client/transfer/http_config.h"
#include "discovery/core/kinds.h"
#include "discovery/rest/rest_source.h"

#define META(name) "__meta_marathon_" name

/* An entry of marathon_sd_configs. */
struct marathon_config {
	struct rest_config rest;
	struct str *servers;
	size_t server_count;
	struct str token;
	struct str token_file;
};

/* The ports of an app. Each task of the app has a target for each port. */
struct app_ports {
	/* port numbers; 0: the task's port with the same index is used */
	VEC(int64_t) numbers;
	/* for each port, an object that can have labels; NULL: none */
	const struct yaml_node *list;
	const char *label; /* prefix of the labels of `list` */
	/*
	 * the network mode is "container": tasks can have addresses of their
	 * own
	 */
	bool container_net;
};

/*
 * Take the ports of `list`, which has port mappings or definitions. `number` is
 * the key of the port's number in an item; NULL: the ports of the tasks are
 * used. `label` is the prefix for the labels of an item. Returns false if
 * `list` is empty.
 */
static bool take_ports(struct app_ports *p, const struct yaml_node *list,
		       const char *label, const char *number)
{
	if (!doc_count(list))
		return false;
	p->list = list;
	p->label = label;
	for (size_t i = 0; i < doc_count(list); i++)
		*vec_add(&p->numbers) =
			number ? doc_int(doc_item(list, i), number, 0) : 0;
	return true;
}

/*
 * Find the ports of an app. If the app names none, p->numbers stays empty, and
 * the caller takes the ports of a task.
 */
static void find_ports(const struct yaml_node *app, struct app_ports *p)
{
	const char *mapped;

	p->container_net =
		str_is(doc_text(app, "networks[0].mode"), "container");
	mapped = p->container_net ? "containerPort" : "hostPort";
	if (take_ports(p, doc_find(app, "container.portMappings"),
		       META("port_mapping_label_"), mapped) ||
	    take_ports(p, doc_find(app, "container.docker.portMappings"),
		       META("port_mapping_label_"), mapped))
		return;
	(void)take_ports(p, doc_find(app, "portDefinitions"),
			 META("port_definition_label_"),
			 doc_bool(app, "requirePorts") ? "port" : NULL);
}

/*
 * Take the ports of `task` as the ports of the app, because the app names no
 * ports. All later tasks of the app get these ports, too, as in Prometheus.
 */
static void take_task_ports(struct app_ports *p, const struct yaml_node *task)
{
	const struct yaml_node *ports = doc_find(task, "ports");

	for (size_t i = 0; !p->list && i < doc_count(ports); i++)
		*vec_add(&p->numbers) = doc_int(doc_item(ports, i), "", 0);
}

/* Add the target of a task at the port with the index `i` in p->numbers. */
static void add_task_port(struct rest_run *r, const struct yaml_node *task,
			  const struct app_ports *p, size_t i)
{
	const struct yaml_node *ports = doc_find(task, "ports");
	struct str host = doc_text(task, "host");
	struct str own = doc_text(task, "ipAddresses[0].ipAddress");
	int64_t port = p->numbers.v[i];
	const struct field_row labels[] = { { p->label, "labels", FIELD_MAP },
					    { 0 } };

	if (!port && doc_count(ports) == p->numbers.count)
		port = doc_int(doc_item(ports, i), "", 0);
	group_target(&r->b);
	group_address(&r->b, p->container_net && own.len ? own : host, port);
	group_label(&r->b, META("task"), doc_text(task, "id"));
	group_label_int(&r->b, META("port_index"), (int64_t)i);
	if (p->list)
		field_rows_add(&r->b, labels, doc_item(p->list, i),
			       str_of(","));
}

/* Make the group of an app, with a target for each port of each task. */
static void map_app(struct rest_run *r, const struct yaml_node *app)
{
	static const struct field_row labels[] = {
		{ META("app"), "id", FIELD_TEXT },
		{ META("image"), "container.docker.image", FIELD_TEXT },
		{ META("app_label_"), "labels", FIELD_MAP },
		{ 0 },
	};
	const struct yaml_node *tasks = doc_find(app, "tasks");
	struct app_ports p = { .list = NULL };

	group_begin(&r->b);
	field_rows_add(&r->b, labels, app, str_of(","));
	find_ports(app, &p);
	for (size_t i = 0; i < doc_count(tasks) && !group_is_over(&r->b); i++) {
		const struct yaml_node *task = doc_item(tasks, i);

		if (!p.numbers.count)
			take_task_ports(&p, task);
		for (size_t k = 0; k < p.numbers.count && !group_is_over(&r->b);
		     k++)
			add_task_port(r, task, &p, k);
	}
	vec_fini(&p.numbers);
}

/*
 * Add the header with the token, if a token is configured. A token file is read
 * for each refresh, because it may have changed.
 */
static int add_token(struct rest_run *r, const struct marathon_config *c,
		     struct err *err)
{
	char *token = NULL;
	int rc = 0;

	if (c->token_file.len)
		rc = rest_token_read(c->token_file.ptr, &token, err);
	else if (c->token.len)
		token = mem_strndup(c->token);
	if (token && *token) {
		*vec_add(&r->headers) =
			mem_printf("Authorization: token=%s", token);
		r->has_secret = true;
	}
	mem_forget(token);
	return rc;
}

/* Choose one of the servers at random, and add the header with the token. */
static int marathon_begin(struct rest_run *r, struct err *err)
{
	const struct marathon_config *c =
		(const struct marathon_config *)r->config;
	uint32_t number = 0;

	if (getrandom(&number, sizeof(number), 0) < 0)
		number = 0; /* any server will do */
	r->server = c->servers[number % c->server_count];
	return add_token(r, c, err);
}

static const struct rest_step marathon_steps[] = {
	{ .path = "/v2/apps/?embed=apps.tasks", .items = "apps" },
	{ 0 },
};

static const struct rest_table marathon_table = {
	.steps = marathon_steps,
	.map = map_app,
	.begin = marathon_begin,
};

static void marathon_decode_servers(struct yaml *y, const struct yaml_node *n,
				    void *field)
{
	struct marathon_config *c = field;

	if (!yaml_expect(y, n, YAML_LIST, "servers"))
		return;
	c->servers = arena_array(&y->arena, struct str, n->count);
	for (size_t i = 0; i < n->count; i++) {
		struct str *server = &c->servers[i];

		*server = str_of("");
		http_decode_url(y, n->items[i], server);
		while (str_ends(*server, "/"))
			server->len--;
		*server = arena_str(&y->arena, *server);
		c->server_count++;
	}
	if (n->count)
		c->rest.server = c->servers[0];
}

static void marathon_decode_token_file(struct yaml *y,
				       const struct yaml_node *n, void *field)
{
	struct marathon_config *c = field;

	yaml_text(y, n, &c->token_file);
	if (c->token_file.len)
		c->token_file = yaml_path(y, c->token_file);
}

static void marathon_init(struct discovery_config *base)
{
	struct marathon_config *c = (struct marathon_config *)base;

	rest_init(base);
	c->token = str_of("");
	c->token_file = str_of("");
}

static void marathon_check(struct yaml *y, const struct yaml_node *entry,
			   struct discovery_config *base)
{
	const struct marathon_config *c = (const struct marathon_config *)base;
	bool has_token = c->token.len || c->token_file.len;

	if (!c->server_count)
		yaml_error(y, entry, "marathon_sd_config requires servers");
	if (c->token.len && c->token_file.len)
		yaml_error(
			y, entry,
			"at most one of auth_token and auth_token_file may be set");
	if (has_token && base->http.auth != HTTP_AUTH_NONE)
		yaml_error(
			y, entry,
			"auth_token and auth_token_file cannot be combined with another authentication");
	rest_check(y, entry, base);
}

static const struct yaml_field marathon_fields[] = {
	DISCOVERY_HTTP_FIELDS,
	{ "servers", marathon_decode_servers, 0, NULL },
	{ "auth_token", yaml_secret, offsetof(struct marathon_config, token),
	  NULL },
	{ "auth_token_file", marathon_decode_token_file, 0, NULL },
	{ 0 },
};

const struct provider_kind provider_marathon = {
	.name = "marathon",
	.refresh_ms = 30000,
	.config_size = sizeof(struct marathon_config),
	.fields = marathon_fields,
	.init = marathon_init,
	.check = marathon_check,
	.rest = (const struct rest_table *const[]){ &marathon_table, NULL },
	REST_FUNCTIONS,
};
