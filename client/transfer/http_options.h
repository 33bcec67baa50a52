/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of an HTTP client as the configuration file states them: the
 * options that Prometheus offers for scrapes, service discoveries and remote
 * write.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/configuration,
 * scrape_config, tls_config, oauth2.
 *
 * Ownership: all text is borrowed from the struct yaml that it was decoded
 * from.
 * Threads: immutable once decoded.
 */
#ifndef CLIENT_TRANSFER_HTTP_OPTIONS_H
#define CLIENT_TRANSFER_HTTP_OPTIONS_H

#include "base/yaml.h"

/*
 * Decode the section http_headers. Headers that the client sets itself, such
 * as Host, are refused.
 */
void http_decode_headers(struct yaml *y, const struct yaml_node *n,
			 void *options);

/*
 * Decode the section proxy_connect_header: headers for the CONNECT request to
 * a proxy.
 */
void http_decode_proxy_headers(struct yaml *y, const struct yaml_node *n,
			       void *options);

/*
 * Decode the key proxy_url. Its scheme must be http, https, socks5 or socks5h.
 */
void http_decode_proxy_url(struct yaml *y, const struct yaml_node *n,
			   void *options);

/*
 * Decode the section tls_config, and check that a certificate and its key are
 * configured together.
 */
void http_decode_tls(struct yaml *y, const struct yaml_node *n, void *options);

/* Decode the key bearer_token_file, an older form of credentials_file. */
void http_decode_bearer_file(struct yaml *y, const struct yaml_node *n,
			     void *options);

/* Decode the key bearer_token, an older form of authorization. */
void http_decode_bearer(struct yaml *y, const struct yaml_node *n,
			void *options);

/*
 * Decode the key authorization. The type Basic is refused, as in Prometheus.
 */
void http_decode_authorization(struct yaml *y, const struct yaml_node *n,
			       void *options);

/*
 * Decode the key basic_auth. This function and the decoders below have the
 * signature of a yaml_fn, decode into the struct http_options that is passed as
 * `options`, and report errors to `y`.
 */
void http_decode_basic_auth(struct yaml *y, const struct yaml_node *n,
			    void *options);

/* Decode the section oauth2 and check that its required keys are present. */
void http_decode_oauth2(struct yaml *y, const struct yaml_node *n,
			void *options);

/*
 * Decode a URL of scheme http or https into a struct str. A URL with an "@",
 * which may hold a password, is marked as a secret.
 */
void http_decode_url(struct yaml *y, const struct yaml_node *n, void *url);

/*
 * A text of the configuration file: either the text itself, or the path of a
 * file that is read when the text is needed. At most one of the two is set.
 */
struct http_text {
	struct str text;
	struct str file;
};

/* An HTTP header, or a form parameter, with its value. */
struct http_header {
	struct str name;
	struct http_text value;
};

/*
 * A list of headers. A header with several values has an entry for each value.
 */
struct http_header_list {
	struct http_header *v;
	size_t count;
};

/* Versions of TLS. HTTP_TLS_DEFAULT: the client chooses the version. */
enum http_tls_version {
	HTTP_TLS_DEFAULT,
	HTTP_TLS_10,
	HTTP_TLS_11,
	HTTP_TLS_12,
	HTTP_TLS_13
};

/* The section tls_config. */
struct http_tls {
	struct http_text ca;
	struct http_text cert;
	struct http_text key;
	struct str server_name;
	bool insecure_skip_verify;
	enum http_tls_version min_version;
	enum http_tls_version max_version;
};

/* How a client authenticates itself. At most one way may be configured. */
enum http_auth {
	HTTP_AUTH_NONE,
	HTTP_AUTH_BASIC,
	HTTP_AUTH_HEADER, /* Authorization: <type> <credentials> */
	HTTP_AUTH_OAUTH2
};

struct http_oauth2;

/*
 * All options of one client. The members are named like the keys of the
 * configuration file.
 */
struct http_options {
	enum http_auth auth;
	struct http_text username;
	struct http_text password;
	struct str auth_type;
	struct http_text credentials;
	/* The key of their file; NULL: authorization.credentials_file. */
	const char *credentials_file_key;
	struct http_oauth2 *oauth2; /* NULL unless auth is HTTP_AUTH_OAUTH2 */
	struct http_tls tls;
	struct str proxy_url;
	struct str no_proxy;
	bool proxy_from_environment;
	struct http_header_list proxy_headers;
	bool follow_redirects;
	bool enable_http2;
	struct http_header_list headers;
	/*
	 * All options as text, secrets included. Two structs with equal `key`
	 * can share one struct http_config.
	 */
	struct str key;
};

/* The section oauth2: tokens by the client credentials grant, RFC 6749 4.4. */
struct http_oauth2 {
	struct str client_id;
	struct http_text client_secret;
	struct str *scopes;
	size_t scope_count;
	struct str token_url;
	/* endpoint_params: additional fields of the form */
	struct http_header_list params;
	struct http_options http; /* options of requests to token_url */
};

/* Set the defaults; call it before the map of options is decoded. */
void http_options_init(struct http_options *o);

/*
 * Entries for a table of struct yaml_field that decode the options of TLS and
 * proxies. `type` is the struct to decode into; its member `member` is a struct
 * http_options.
 */
#define HTTP_TRANSPORT_FIELDS(type, member)                                   \
	{ "tls_config", http_decode_tls, offsetof(type, member), NULL },      \
		{ "proxy_url", http_decode_proxy_url, offsetof(type, member), \
		  NULL },                                                     \
		{ "no_proxy", yaml_text,                                      \
		  offsetof(type, member) +                                    \
			  offsetof(struct http_options, no_proxy),            \
		  NULL },                                                     \
		{ "proxy_from_environment", yaml_bool,                        \
		  offsetof(type, member) + offsetof(struct http_options,      \
						    proxy_from_environment),  \
		  NULL },                                                     \
	{                                                                     \
		"proxy_connect_header", http_decode_proxy_headers,            \
			offsetof(type, member), NULL                          \
	}

/*
 * Entries for a table of struct yaml_field that decode all options, including
 * authentication, redirects and headers.
 */
#define HTTP_OPTION_FIELDS(type, member)                                      \
	HTTP_TRANSPORT_FIELDS(type, member),                                  \
		{ "basic_auth", http_decode_basic_auth,                       \
		  offsetof(type, member), NULL },                             \
		{ "authorization", http_decode_authorization,                 \
		  offsetof(type, member), NULL },                             \
		{ "bearer_token", http_decode_bearer, offsetof(type, member), \
		  NULL },                                                     \
		{ "bearer_token_file", http_decode_bearer_file,               \
		  offsetof(type, member), NULL },                             \
		{ "oauth2", http_decode_oauth2, offsetof(type, member),       \
		  NULL },                                                     \
		{ "follow_redirects", yaml_bool,                              \
		  offsetof(type, member) +                                    \
			  offsetof(struct http_options, follow_redirects),    \
		  NULL },                                                     \
		{ "enable_http2", yaml_bool,                                  \
		  offsetof(type, member) +                                    \
			  offsetof(struct http_options, enable_http2),        \
		  NULL },                                                     \
	{                                                                     \
		"http_headers", http_decode_headers, offsetof(type, member),  \
			NULL                                                  \
	}

/*
 * Check options that depend on each other, and set o->key. To be called after
 * the section `map` was decoded.
 */
void http_options_check(struct yaml *y, const struct yaml_node *map,
			struct http_options *o);

/* Return whether all options have their defaults. */
bool http_options_are_default(const struct http_options *o);

#endif
