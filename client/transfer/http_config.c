/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/http_config.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "client/address/no_proxy.h"
#include "client/transfer/oauth2.h"

#define FILE_MAX MIB /* size limit of a configured file in bytes */

/*
 * Copy a text; return NULL, which means "not configured", for an empty text.
 */
static char *dup_or_null(struct str s)
{
	return s.len ? mem_strndup(s) : NULL;
}

/* Free the text and wipe it first, because it may be a secret. */
static void http_config_forget(struct http_loaded *l)
{
	if (l->text)
		explicit_bzero(l->text, l->len);
	mem_free(l->text);
	l->text = NULL;
	l->len = 0;
}

void http_loaded_init(struct http_loaded *l, const struct http_text *t)
{
	*l = (struct http_loaded){ .file = dup_or_null(t->file) };
	if (!t->text.ptr)
		return;
	l->text = mem_strndup(t->text);
	l->len = t->text.len;
}

void http_loaded_fini(struct http_loaded *l)
{
	http_config_forget(l);
	mem_free(l->file);
}

/*
 * Read the file of a text if the file has changed. On an error the old text is
 * kept, but the request that needed the text fails.
 */
static int http_config_load_file(struct http_loaded *l, const char *what,
				 struct err *err)
{
	struct buf text = buf_init(FILE_MAX);
	struct file_stamp stamp;
	int rc;

	if (!l->file)
		return 0;
	/*
	 * The stamp (the state of the file) is taken before the file is read.
	 * If the file changes in between, its state differs from the stamp, and
	 * the next load reads the file again.
	 */
	stamp = file_stamp(l->file);
	if (l->text && file_stamp_eq(stamp, l->stamp))
		return 0;
	rc = file_slurp(l->file, &text, err);
	if (rc) {
		buf_fini(&text);
		return err_wrap(err, rc, "%s", what);
	}
	http_config_forget(l);
	l->text = mem_strndup(str_from(buf_bytes(&text)));
	l->len = text.len;
	buf_forget(&text);
	l->stamp = stamp;
	return 0;
}

/*
 * Control characters are refused because a line end in a header's value would
 * begin another header (request smuggling).
 */
int http_loaded_line(struct http_loaded *l, const char *key,
		     const char *file_key, struct err *err)
{
	int rc = http_config_load_file(l, file_key, err);
	struct str line;

	if (rc || !l->text)
		return rc;
	line = str_trim((struct str){ l->text, l->len });
	for (size_t i = 0; i < line.len; i++) {
		unsigned char c = (unsigned char)line.ptr[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return err_set(err, ERR_INVALID,
				       "%s%s%s: expected a single line of text",
				       l->file ? file_key : key,
				       l->file ? ": " : "",
				       l->file ? l->file : "");
	}
	memmove(l->text, line.ptr, line.len);
	l->text[line.len] = 0;
	l->len = line.len;
	return 0;
}

/*
 * Copy decoded headers. http_config_load() reads the files of their values
 * later.
 */
static void load_headers(struct http_loaded_headers *out,
			 const struct http_header_list *in)
{
	out->v = mem_zalloc(in->count + 1, sizeof(*out->v));
	for (size_t i = 0; i < in->count; i++) {
		struct http_loaded_header *h = &out->v[out->count++];

		h->name = mem_strndup(in->v[i].name);
		http_loaded_init(&h->value, &in->v[i].value);
	}
}

/* Free headers and wipe their values. */
static void free_headers(struct http_loaded_headers *l)
{
	for (size_t i = 0; i < l->count; i++) {
		mem_free(l->v[i].name);
		http_loaded_fini(&l->v[i].value);
	}
	mem_free(l->v);
}

struct http_config *http_config_new(const struct http_options *o)
{
	struct http_config *c = mem_new(struct http_config);

	atomic_init(&c->refs, 1);
	c->key = mem_strndup(o->key);
	c->auth = o->auth;
	c->auth_type = mem_strndup(o->auth_type);
	http_loaded_init(&c->username, &o->username);
	http_loaded_init(&c->password, &o->password);
	http_loaded_init(&c->credentials, &o->credentials);
	c->credentials_file_key = o->credentials_file_key ?
					  o->credentials_file_key :
					  "authorization.credentials_file";
	if (o->oauth2)
		c->oauth2 = oauth2_new(o->oauth2);
	http_loaded_init(&c->ca, &o->tls.ca);
	http_loaded_init(&c->cert, &o->tls.cert);
	http_loaded_init(&c->cert_key, &o->tls.key);
	c->server_name = dup_or_null(o->tls.server_name);
	c->insecure_skip_verify = o->tls.insecure_skip_verify;
	c->min_version = o->tls.min_version;
	c->max_version = o->tls.max_version;
	c->proxy_url = dup_or_null(o->proxy_url);
	c->no_proxy = dup_or_null(o->no_proxy);
	c->proxy_from_environment = o->proxy_from_environment;
	load_headers(&c->proxy_headers, &o->proxy_headers);
	c->follow_redirects = o->follow_redirects;
	c->enable_http2 = o->enable_http2;
	load_headers(&c->headers, &o->headers);
	return c;
}

struct http_config *http_config_ref(struct http_config *c)
{
	atomic_fetch_add(&c->refs, 1);
	return c;
}

void http_config_unref(struct http_config *c)
{
	if (!c || atomic_fetch_sub(&c->refs, 1) > 1)
		return;
	mem_forget(c->key);
	mem_free(c->auth_type);
	http_loaded_fini(&c->username);
	http_loaded_fini(&c->password);
	http_loaded_fini(&c->credentials);
	oauth2_free(c->oauth2);
	http_loaded_fini(&c->ca);
	http_loaded_fini(&c->cert);
	http_loaded_fini(&c->cert_key);
	mem_free(c->server_name);
	mem_free(c->proxy_url);
	mem_free(c->no_proxy);
	free_headers(&c->proxy_headers);
	free_headers(&c->headers);
	mem_free(c);
}

/* The key contains the secrets, so it also changes with a password. */
bool http_config_is(const struct http_config *c, const struct http_options *o)
{
	return str_is(o->key, c->key);
}

/* Load the values of the headers of a section that are configured as files. */
static int load_lines(struct http_loaded_headers *l, const char *section,
		      struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < l->count && !rc; i++) {
		struct buf key = { 0 };

		buf_printf(&key, "%s.%s", section, l->v[i].name);
		rc = http_loaded_line(&l->v[i].value, buf_cstr(&key),
				      buf_cstr(&key), err);
		buf_fini(&key);
	}
	return rc;
}

/*
 * If the configured CA were empty, libcurl would use the CAs of the system.
 */
static int check_ca(const struct http_config *c, struct err *err)
{
	if (!c->ca.text || c->ca.len)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"tls_config.%s%s is empty, so no certificate could be verified",
		c->ca.file ? "ca_file: " : "ca", c->ca.file ? c->ca.file : "");
}

int http_config_load(struct http_config *c, struct err *err)
{
	int rc = http_loaded_line(&c->username, "basic_auth.username",
				  "basic_auth.username_file", err);

	if (!rc)
		rc = http_loaded_line(&c->password, "basic_auth.password",
				      "basic_auth.password_file", err);
	if (!rc)
		rc = http_loaded_line(&c->credentials, "the token",
				      c->credentials_file_key, err);
	if (!rc)
		rc = http_config_load_file(&c->ca, "tls_config.ca_file", err);
	if (!rc)
		rc = check_ca(c, err);
	if (!rc)
		rc = http_config_load_file(&c->cert, "tls_config.cert_file",
					   err);
	if (!rc)
		rc = http_config_load_file(&c->cert_key, "tls_config.key_file",
					   err);
	if (!rc)
		rc = load_lines(&c->proxy_headers, "proxy_connect_header", err);
	if (!rc)
		rc = load_lines(&c->headers, "http_headers", err);
	return rc;
}

int http_config_try(const struct http_options *o, struct err *err)
{
	struct http_config *c = http_config_new(o);
	int rc = http_config_load(c, err);

	http_config_unref(c);
	return rc;
}

/*
 * Return the environment variable `a` (the name in capitals) or, if that is
 * unset or empty, `b` (the name in lower case). curl and Go also look for both
 * names.
 */
static const char *
http_config_expand_variable(char *(*environment)(const char *), const char *a,
			    const char *b)
{
	const char *v = environment(a);

	return v && *v ? v : environment(b);
}

/*
 * If proxy_from_environment is set, proxy_url and no_proxy are ignored, and the
 * environment variables decide, including NO_PROXY.
 */
const char *http_config_proxy(const struct http_config *c, const char *url,
			      char *(*environment)(const char *name))
{
	bool tls = !strncmp(url, "https://", 8);
	const char *proxy = c->proxy_url;
	const char *except = c->no_proxy;

	if (c->proxy_from_environment) {
		proxy = tls ? http_config_expand_variable(environment,
							  "HTTPS_PROXY",
							  "https_proxy") :
			      http_config_expand_variable(
				      environment, "HTTP_PROXY", "http_proxy");
		except = http_config_expand_variable(environment, "NO_PROXY",
						     "no_proxy");
		/*
		 * If NO_PROXY is not set, the list is empty instead of NULL:
		 * requests to the local machine still bypass the proxy.
		 */
		except = except ? except : "";
	}
	if (!proxy || !*proxy)
		return NULL;
	return except && no_proxy_matches(except, url) ? NULL : proxy;
}
