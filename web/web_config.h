/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web configuration: the contents of --web.config.file, with TLS, users, tokens
 * and headers. The format is that of Prometheus, with scopes and bearer tokens
 * added (docs/security.md).
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/https.
 *
 * Ownership: a web_config owns everything in it.
 * Threads: immutable once loaded.
 */
#ifndef WEB_WEB_CONFIG_H
#define WEB_WEB_CONFIG_H

#include "base/file.h"
#include "base/yaml.h"

/* What a request may do. Users, tokens and routes have a set of scopes. */
enum scope {
	SCOPE_READ = 1,  /* read profiles, targets, pages, metrics */
	SCOPE_WRITE = 2, /* add profiles */
	SCOPE_ADMIN = 4, /* delete profiles, reload, quit */
	SCOPE_ALL = 7
};

/* An entry of basic_auth_users. */
struct web_user {
	struct str name;
	struct str hash; /* of the password, by bcrypt */
	unsigned scopes; /* a set of enum scope */
	bool limited;    /* basic_auth_scopes lists the user */
};

/* An entry of bearer_tokens. */
struct web_token {
	struct str name;  /* for the log */
	struct str token; /* the secret */
	unsigned scopes;  /* a set of enum scope */
};

/* A header that is sent with all answers. */
struct web_header {
	const char *name;
	struct str value;
};

/* A bound on TLS versions. */
enum web_tls_version {
	WEB_TLS_DEFAULT,
	WEB_TLS_12,
	WEB_TLS_13
};

/* What is required of client certificates. */
enum web_client_auth {
	WEB_CLIENT_NONE,              /* they are not asked for */
	WEB_CLIENT_REQUESTED,         /* asked for, but not required */
	WEB_CLIENT_ANY,               /* required, but not verified */
	WEB_CLIENT_VERIFIED_IF_GIVEN, /* verified if the client has one */
	WEB_CLIENT_VERIFIED           /* required and verified */
};

/* tls_server_config, with all files read. */
struct web_tls {
	struct str cert; /* PEM; empty: no TLS */
	struct str key;  /* PEM */
	enum web_client_auth client_auth;
	struct str client_ca;    /* PEM; empty: none */
	struct tls_trust *trust; /* client_ca, parsed; owned */
	struct str *sans;        /* client_allowed_sans */
	size_t san_count;
	enum web_tls_version min_version;
	enum web_tls_version max_version;
};

/* A file that the configuration was read from, and its state then. */
struct web_file {
	const char *path;
	struct file_stamp stamp;
};

/* A web configuration. All texts are in the arena of `yaml`. */
struct web_config {
	struct buf text;  /* the file itself */
	struct yaml yaml; /* the parsed file, with all errors */
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
 * Load and check a file. Returns ERR_INVALID when it has mistakes, of which
 * yaml.errors lists all, one per line; and an error of file_slurp() when it
 * cannot be read. Call web_config_fini() on success and failure alike.
 */
NODISCARD int web_config_load(struct web_config *c, const char *path,
			      struct err *err);

/*
 * Parse and check a configuration as web_config_load() does, but from a text.
 * path is used for messages and to find the files it names.
 */
NODISCARD int web_config_parse(struct web_config *c, const char *path,
			       struct bytes text, struct err *err);

/* Free a configuration, and overwrite the secrets in its text. */
void web_config_fini(struct web_config *c);

/* Whether requests need credentials: there are users or tokens. */
bool web_config_has_auth(const struct web_config *c);

/*
 * Why `next` would let in requests that `old` refuses, as a sentence, or NULL
 * if it does not. This catches a file that is read while it is being written,
 * which may be empty or end early.
 */
const char *web_config_opens(const struct web_config *old,
			     const struct web_config *next);

/* Whether any file that the configuration was read from has changed. */
bool web_config_is_stale(const struct web_config *c);

/*
 * Read a file that the configuration names, and note it for
 * web_config_is_stale(). A failure becomes an error of c->yaml at n, and the
 * result is then empty. The text is in the arena.
 */
struct str read_file(struct web_config *c, const struct yaml_node *n,
		     struct str file);

#endif
