/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web configuration, --web.config.file: who may ask, and what answers
 * carry. Prometheus' format, with scopes and bearer tokens beside it:
 * docs/security.md.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/https.
 *
 * Ownership: a web_config owns all that it says.
 * Threads: immutable once loaded.
 */
#ifndef WEB_WEB_CONFIG_H
#define WEB_WEB_CONFIG_H

#include "base/file.h"
#include "base/yaml.h"

/* What a request may do; a user or token has a set of them. */
enum scope {
	SCOPE_READ = 1,  /* profiles, targets, pages, metrics */
	SCOPE_WRITE = 2, /* what adds profiles */
	SCOPE_ADMIN = 4, /* what removes them, reloads, ends */
	SCOPE_ALL = 7
};

struct web_user {
	struct str name;
	struct str hash; /* bcrypt */
	unsigned scopes;
	bool limited; /* basic_auth_scopes names it */
};

struct web_token {
	struct str name;
	struct str token; /* its text */
	unsigned scopes;
};

/* A header that answers carry. */
struct web_header {
	const char *name;
	struct str value;
};

enum web_tls_version {
	WEB_TLS_DEFAULT,
	WEB_TLS_12,
	WEB_TLS_13
};

/* What is wanted of the other side's certificate. */
enum web_client_auth {
	WEB_CLIENT_NONE,
	WEB_CLIENT_REQUESTED,
	WEB_CLIENT_ANY,
	WEB_CLIENT_VERIFIED_IF_GIVEN,
	WEB_CLIENT_VERIFIED
};

struct web_tls {
	struct str cert; /* PEM; empty: no TLS */
	struct str key;
	enum web_client_auth client_auth;
	struct str client_ca;
	struct tls_trust *trust; /* client_ca, parsed; the config's own */
	struct str *sans;        /* client_allowed_sans */
	size_t san_count;
	enum web_tls_version min_version;
	enum web_tls_version max_version;
};

/* A file that was read, as it was. */
struct web_file {
	const char *path;
	struct file_stamp stamp;
};

struct web_config {
	struct buf text;
	struct yaml yaml; /* with all errors */
	struct web_file *files;
	size_t file_count;
	struct web_tls tls;
	struct web_user *users;
	size_t user_count;
	struct web_token *tokens;
	size_t token_count;
	struct web_header *headers;
	size_t header_count;
};

/*
 * Read and decode. ERR_INVALID: yaml.errors has every error, a line each.
 * Call web_config_fini() whatever happens.
 */
NODISCARD int web_config_load(struct web_config *c, const char *path,
			      struct err *err);

/* The same from text that is at hand. */
NODISCARD int web_config_parse(struct web_config *c, const char *path,
			       struct bytes text, struct err *err);
void web_config_fini(struct web_config *c);

/* Whether anybody must say who he is. */
bool web_config_has_auth(const struct web_config *c);

/*
 * What next lets in that old kept out, as a sentence, or NULL. A file that is
 * being written may be empty, or end early.
 */
const char *web_config_opens(const struct web_config *old,
			     const struct web_config *next);

/* Whether a file that it was read from is another now. */
bool web_config_is_stale(const struct web_config *c);

/* The text of a file that the configuration names. */
struct str read_file(struct web_config *c, const struct yaml_node *n,
		     struct str file);

#endif
