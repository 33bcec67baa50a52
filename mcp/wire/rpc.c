/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/wire/rpc.h"

#include <math.h>

#include "base/yaml_json.h"

int rpc_parse(struct rpc *r, struct bytes body, struct err *err)
{
	*r = (struct rpc){ .count = 1 };
	yaml_parse_json(&r->yaml, "the message", body);
	if (yaml_check(&r->yaml, err))
		return ERR_INVALID;
	r->is_batch = r->yaml.root->kind == YAML_LIST;
	if (r->is_batch)
		r->count = r->yaml.root->count;
	return 0;
}

void rpc_fini(struct rpc *r)
{
	yaml_fini(&r->yaml);
}

/* Whether a node is a text. */
static bool rpc_is_text(const struct yaml_node *n)
{
	return n && n->kind == YAML_SCALAR && n->quoted;
}

/* Return the id of a message; NULL: it has none, or one that is not permitted. */
static const struct yaml_node *rpc_id(const struct yaml_node *message)
{
	const struct yaml_node *id = yaml_child(message, "id");
	int64_t number;

	if (!id || id->kind != YAML_SCALAR)
		return NULL;
	return id->quoted || str_to_i64(id->text, &number) ? id : NULL;
}

int rpc_read(const struct rpc *r, size_t i, struct rpc_message *out,
	     struct err *err)
{
	const struct yaml_node *n = r->is_batch ? r->yaml.root->items[i] :
						  r->yaml.root;
	const struct yaml_node *version = yaml_child(n, "jsonrpc");
	const struct yaml_node *method = yaml_child(n, "method");

	*out = (struct rpc_message){ .id = rpc_id(n) };
	if (!rpc_is_text(version) || !str_is(version->text, "2.0"))
		return err_set(err, ERR_INVALID,
			       "the message has no \"jsonrpc\": \"2.0\"");
	out->is_response = !method &&
			   (yaml_child(n, "result") || yaml_child(n, "error"));
	if (out->is_response)
		return 0;
	if (!rpc_is_text(method))
		return err_set(err, ERR_INVALID,
			       "the message has no method: it is no request");
	if (!out->id && yaml_child(n, "id"))
		return err_set(
			err, ERR_INVALID,
			"the id must be a text, or a whole number of 64 bits");
	out->method = method->text;
	out->params = yaml_child(n, "params");
	if (out->params && yaml_is_null(out->params))
		out->params = NULL;
	if (out->params && out->params->kind != YAML_MAP)
		return err_set(err, ERR_INVALID,
			       "the parameters must be an object");
	return 0;
}

struct str rpc_text(const struct yaml_node *params, const char *name)
{
	const struct yaml_node *n = params ? yaml_child(params, name) : NULL;

	return rpc_is_text(n) ? n->text : (struct str){ .len = 0 };
}

/* Write the members that all responses have. */
static void rpc_begin(struct json *j, const struct rpc_message *m)
{
	json_begin(j, '{');
	json_key(j, "jsonrpc");
	json_text(j, "2.0");
	json_key(j, "id");
	if (m->id && m->id->quoted) {
		json_str(j, m->id->text);
	} else {
		int64_t number = 0;

		if (m->id && str_to_i64(m->id->text, &number))
			json_int(j, number);
		else
			json_double(j, (double)NAN); /* null */
	}
}

void rpc_begin_result(struct json *j, const struct rpc_message *m)
{
	rpc_begin(j, m);
	json_key(j, "result");
	json_begin(j, '{');
}

void rpc_end_result(struct json *j)
{
	json_end(j, '}');
	json_end(j, '}');
}

void rpc_write_error(struct json *j, const struct rpc_message *m,
		     enum rpc_code code, const char *text,
		     void (*write_data)(void *ctx, struct json *j), void *ctx)
{
	rpc_begin(j, m);
	json_key(j, "error");
	json_begin(j, '{');
	json_key(j, "code");
	json_int(j, code);
	json_key(j, "message");
	json_text(j, text);
	if (write_data) {
		json_key(j, "data");
		write_data(ctx, j);
	}
	json_end(j, '}');
	json_end(j, '}');
}
