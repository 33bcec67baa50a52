/* SPDX-License-Identifier: Apache-2.0 */
#include "web/web_config.h"

#include <stddef.h>
#include <strings.h>

#include "base/file.h"
#include "base/mem.h"

#define FILE_MAX  MIB
#define TOKEN_MIN 16 /* bytes: shorter ones can be guessed */

static bool is_bcrypt(struct str h)
{
	static const char alphabet[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz0123456789";
	int64_t cost;

	if (h.len != 60 || h.ptr[0] != '$' || h.ptr[1] != '2' ||
	    !memchr("abxy", h.ptr[2], 4) || h.ptr[3] != '$' ||
	    h.ptr[6] != '$' ||
	    !str_to_i64((struct str){ h.ptr + 4, 2 }, &cost) || cost < 4 ||
	    cost > 31)
		return false;
	for (size_t i = 7; i < h.len; i++) {
		if (!memchr(alphabet, h.ptr[i], sizeof(alphabet) - 1))
			return false;
	}
	return true;
}

static void decode_users(struct yaml *y, const struct yaml_node *n, void *field)
{
	struct web_config *c = field;

	if (!yaml_expect(y, n, YAML_MAP, "basic_auth_users"))
		return;
	yaml_unique_keys(y, n);
	c->users = arena_array(&y->arena, struct web_user, n->count / 2);
	for (size_t i = 0; i < n->count; i += 2) {
		struct web_user *u = &c->users[c->user_count++];

		*u = (struct web_user){ .name = n->items[i]->text,
					.hash = str_of(""),
					.scopes = SCOPE_ALL };
		yaml_secret(y, n->items[i + 1], &u->hash);
		if (!u->name.len || memchr(u->name.ptr, ':', u->name.len))
			yaml_error(
				y, n->items[i],
				"not a name that can be sent: empty, or with a colon");
		if (!is_bcrypt(u->hash))
			yaml_error(
				y, n->items[i + 1],
				"the password must be hashed by bcrypt, as htpasswd -nB does it");
	}
}

static unsigned scope_of(struct str s)
{
	return str_is(s, "read")  ? SCOPE_READ :
	       str_is(s, "write") ? SCOPE_WRITE :
	       str_is(s, "admin") ? SCOPE_ADMIN :
				    0;
}

/* [read, write, admin] */
static void decode_scopes(struct yaml *y, const struct yaml_node *n,
			  void *field)
{
	unsigned *scopes = field;

	if (!yaml_expect(y, n, YAML_LIST, "scopes"))
		return;
	*scopes = 0;
	for (size_t i = 0; i < n->count; i++) {
		struct str s = str_of("");

		yaml_text(y, n->items[i], &s);
		*scopes |= scope_of(s);
		if (!scope_of(s))
			yaml_error(y, n->items[i],
				   "a scope is read, write or admin");
	}
}

/* Scopes of users: {name: [scope, …]}; checked when all users are known. */
static void check_user_scopes(struct yaml *y, const struct yaml_node *n,
			      struct web_config *c)
{
	if (!n || !yaml_expect(y, n, YAML_MAP, "basic_auth_scopes"))
		return;
	yaml_unique_keys(y, n);
	for (size_t i = 0; i < n->count; i += 2) {
		size_t k = 0;

		while (k < c->user_count &&
		       !str_eq(c->users[k].name, n->items[i]->text))
			k++;
		if (k == c->user_count)
			yaml_error(y, n->items[i],
				   "there is no such user in basic_auth_users");
		else
			decode_scopes(y, n->items[i + 1], &c->users[k].scopes);
	}
}

static void later(struct yaml *y UNUSED, const struct yaml_node *n UNUSED,
		  void *field UNUSED)
{
}

struct token_entry {
	struct web_token token;
	struct str file;
};

static void read_token(struct yaml *y, const struct yaml_node *n,
		       struct token_entry *e)
{
	struct buf text = buf_init(FILE_MAX);
	struct str path = yaml_path(y, e->file);
	struct err err;

	if (file_slurp(path.ptr, &text, &err))
		yaml_error(y, n, "token_file: %s", err.msg);
	else
		e->token.token = arena_str(
			&y->arena, str_trim(str_from(buf_bytes(&text))));
	buf_fini(&text);
}

static void decode_token(struct yaml *y, const struct yaml_node *n,
			 struct web_token *out)
{
	static const struct yaml_field fields[] = {
		{ "name", yaml_text, offsetof(struct token_entry, token.name),
		  NULL },
		{ "token", yaml_secret,
		  offsetof(struct token_entry, token.token), NULL },
		{ "token_file", yaml_text, offsetof(struct token_entry, file),
		  NULL },
		{ "scopes", decode_scopes,
		  offsetof(struct token_entry, token.scopes), NULL },
		{ 0 },
	};
	struct token_entry e = { .token = { .name = str_of(""),
					    .token = str_of(""),
					    .scopes = SCOPE_READ } };

	yaml_decode(y, n, "bearer_tokens", fields, &e);
	if (e.file.len && e.token.token.len)
		yaml_error(y, n, "either token or token_file, not both");
	else if (e.file.len)
		read_token(y, n, &e);
	if (!e.token.name.len)
		yaml_error(y, n, "a token needs a name, for the log");
	if (e.token.token.len < TOKEN_MIN)
		yaml_error(y, n, "a token has at least %d characters",
			   TOKEN_MIN);
	*out = e.token;
}

static void decode_tokens(struct yaml *y, const struct yaml_node *n,
			  void *field)
{
	struct web_config *c = field;

	if (!yaml_expect(y, n, YAML_LIST, "bearer_tokens"))
		return;
	c->tokens = arena_array(&y->arena, struct web_token, n->count);
	for (size_t i = 0; i < n->count; i++)
		decode_token(y, n->items[i], &c->tokens[c->token_count++]);
}

/* The headers that Prometheus allows, with the values that it allows. */
static const struct {
	const char *name;
	const char *values[4]; /* none: any */
} allowed[] = {
	{ "Content-Security-Policy", { NULL } },
	{ "Strict-Transport-Security", { NULL } },
	{ "X-Frame-Options", { "deny", "sameorigin", "" } },
	{ "X-Content-Type-Options", { "nosniff", "" } },
	{ "X-XSS-Protection", { NULL } },
};

static bool is_allowed(size_t at, struct str value)
{
	const char *const *v = allowed[at].values;

	if (!*v)
		return true;
	for (; *v; v++) {
		if (strlen(*v) == value.len &&
		    !strncasecmp(*v, value.ptr, value.len))
			return true;
	}
	return false;
}

static void decode_header(struct yaml *y, const struct yaml_node *key,
			  const struct yaml_node *n, struct web_config *c)
{
	struct str value = str_of("");
	size_t i = 0;

	yaml_text(y, n, &value);
	while (i < ARRAY_SIZE(allowed) &&
	       strcasecmp(allowed[i].name, key->text.ptr) != 0)
		i++;
	if (i == ARRAY_SIZE(allowed))
		yaml_error(y, key, "header \"%.*s\" cannot be set here",
			   STR_ARG(key->text));
	else if (!is_allowed(i, value) || memchr(value.ptr, '\n', value.len))
		yaml_error(y, n, "not a value of %s", allowed[i].name);
	else
		c->headers[c->header_count++] =
			(struct web_header){ allowed[i].name, value };
}

static void decode_headers(struct yaml *y, const struct yaml_node *n,
			   void *field)
{
	struct web_config *c = field;

	if (!yaml_expect(y, n, YAML_MAP, "headers"))
		return;
	yaml_unique_keys(y, n);
	c->headers = arena_array(&y->arena, struct web_header, n->count / 2);
	for (size_t i = 0; i < n->count; i += 2)
		decode_header(y, n->items[i], n->items[i + 1], c);
}

static void decode_server(struct yaml *y, const struct yaml_node *n,
			  void *field)
{
	static const struct yaml_field fields[] = {
		{ "http2", NULL, 0, "HTTP/1.1 is spoken here" },
		{ "headers", decode_headers, 0, NULL },
		{ 0 },
	};

	yaml_decode(y, n, "http_server_config", fields, field);
}

static void refuse_tls(struct yaml *y, const struct yaml_node *n,
		       void *field UNUSED)
{
	yaml_error(
		y, n,
		"tls_server_config is not supported yet: put a proxy with TLS before it");
}

static void decode(struct web_config *c)
{
	static const struct yaml_field fields[] = {
		{ "tls_server_config", refuse_tls, 0, NULL },
		{ "http_server_config", decode_server, 0, NULL },
		{ "basic_auth_users", decode_users, 0, NULL },
		{ "basic_auth_scopes", later, 0, NULL },
		{ "bearer_tokens", decode_tokens, 0, NULL },
		{ 0 },
	};
	const struct yaml_node *root = c->yaml.root;

	if (!root)
		return; /* empty, or already an error */
	yaml_decode(&c->yaml, root, "the web configuration", fields, c);
	check_user_scopes(&c->yaml, yaml_child(root, "basic_auth_scopes"), c);
}

int web_config_load(struct web_config *c, const char *path, struct err *err)
{
	struct str first;
	int rc;

	*c = (struct web_config){ .text = buf_init(FILE_MAX + 1) };
	rc = file_slurp(path, &c->text, err);
	if (rc)
		return rc;
	yaml_parse(&c->yaml, path, buf_bytes(&c->text));
	decode(c);
	if (!c->yaml.error_count)
		return 0;
	first = str_from(buf_bytes(&c->yaml.errors));
	first = str_cut(first, '\n', &first);
	return err_set(err, ERR_INVALID, "%.*s%s", STR_ARG(first),
		       c->yaml.error_count > 1 ? " (and more)" : "");
}

void web_config_fini(struct web_config *c)
{
	yaml_fini(&c->yaml);
	if (c->text.ptr)
		explicit_bzero(c->text.ptr, c->text.len);
	buf_fini(&c->text);
	*c = (struct web_config){ 0 };
}

bool web_config_has_auth(const struct web_config *c)
{
	return c->user_count || c->token_count;
}
