/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web configuration: the contents of --web.config.file, with TLS, users, tokens
 * and headers. The format is Prometheus' format with two additions, scopes and
 * bearer tokens (docs/security.md).
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/https.
 *
 * Ownership: a web_config owns everything in it.
 * Threads: immutable once loaded.
 */
#ifndef WEB_AUTH_WEB_CONFIG_H
#define WEB_AUTH_WEB_CONFIG_H

#include "base/file.h"
#include "base/yaml.h"

/*
 * Permissions of requests. A user or a token has a set of scopes; a route needs
 * a set of scopes.
 */
enum scope {
	SCOPE_READ = 1,  /* read profiles, targets, pages, metrics */
	SCOPE_WRITE = 2, /* add profiles */
	SCOPE_ADMIN = 4, /* delete profiles, reload, quit */
	SCOPE_ALL = 7
};

/* The name of a set of scopes that a route may need. */
const char *web_config_scope_text(unsigned scope);

/* An entry of basic_auth_users. */
struct web_user {
	struct str name;
	struct str hash; /* bcrypt hash of the password */
	unsigned scopes; /* a set of enum scope */
	bool limited;    /* the user is listed in basic_auth_scopes */
};

/* An entry of bearer_tokens. */
struct web_token {
	struct str name;  /* name by which the log calls the token */
	struct str token; /* the secret itself */
	unsigned scopes;  /* a set of enum scope */
};

/* A configured HTTP header that every answer carries. */
struct web_header {
	const char *name;
	struct str value;
};

/* A TLS version, as the lowest or the highest that is allowed. */
enum web_tls_version {
	WEB_TLS_DEFAULT,
	WEB_TLS_12,
	WEB_TLS_13
};

/* Whether the server requests, requires and verifies client certificates. */
enum web_client_auth {
	WEB_CLIENT_NONE, /* no certificate is requested */
	/* A certificate is requested, but not required. */
	WEB_CLIENT_REQUESTED,
	/* A certificate is required, but not verified. */
	WEB_CLIENT_ANY,
	/* A certificate is verified if the client sends it. */
	WEB_CLIENT_VERIFIED_IF_GIVEN,
	/* A certificate is required and verified. */
	WEB_CLIENT_VERIFIED
};

/*
 * The section tls_server_config, with the contents of the files that it names.
 */
struct web_tls {
	struct str cert; /* the server's certificates, PEM; empty: no TLS */
	struct str key;  /* the server's private key, PEM */
	enum web_client_auth client_auth;
	/* CA certificates that verify clients, PEM; empty: none */
	struct str client_ca;
	struct tls_trust *trust; /* the parsed client_ca, owned */
	/*
	 * names in client_allowed_sans: a client certificate needs one of them
	 */
	struct str *sans;
	size_t san_count;
	enum web_tls_version min_version;
	enum web_tls_version max_version;
};

/*
 * A file that the configuration was read from, and the file's state at that
 * time.
 */
struct web_file {
	const char *path;
	struct file_stamp stamp;
};

/* A web configuration. All its texts are in the arena of `yaml`. */
struct web_config {
	struct buf text;  /* contents of the configuration file */
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
 * Load and check a file. Returns ERR_INVALID when the file has mistakes;
 * yaml.errors then lists all of them, one per line. Returns an error of
 * file_slurp() when the file cannot be read. Call web_config_fini() after
 * success and after failure.
 */
NODISCARD int web_config_load(struct web_config *c, const char *path,
			      struct err *err);

/*
 * Parse and check `text`, in the same way as web_config_load() does with the
 * contents of a file. `path` appears in messages, and file names in the
 * configuration are relative to the folder of `path`.
 */
NODISCARD int web_config_parse(struct web_config *c, const char *path,
			       struct bytes text, struct err *err);

/* Free a configuration, and wipe the secrets in its text. */
void web_config_fini(struct web_config *c);

/*
 * Whether requests need credentials, because the configuration has users or
 * tokens.
 */
bool web_config_has_auth(const struct web_config *c);

/*
 * Why `next` would allow requests that `old` refuses, as a sentence; NULL if it
 * would not. The check detects a configuration file that is read while another
 * program still writes it, because the file may then be empty or incomplete.
 */
const char *web_config_opens(const struct web_config *old,
			     const struct web_config *next);

/* Whether any file that the configuration was read from has changed. */
bool web_config_is_stale(const struct web_config *c);

/* Whether a client without a certificate is refused. */
bool web_config_needs_certificate(const struct web_tls *t);

/* Whether a client's certificate is verified against client_ca. */
bool web_config_verifies(const struct web_tls *t);

#endif
