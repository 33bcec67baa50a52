/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web configuration, --web.config.file: who may ask, and what answers
 * carry. Prometheus' format, with scopes and bearer tokens beside it:
 * docs/security.md.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/https.
 *
 * Ownership: a web_config owns all that it says.
 */
#ifndef WEB_WEB_CONFIG_H
#define WEB_WEB_CONFIG_H

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

struct web_config {
	struct buf text;
	struct yaml yaml; /* with all errors */
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
void web_config_fini(struct web_config *c);

/* Whether anybody must say who he is. */
bool web_config_has_auth(const struct web_config *c);

#endif
