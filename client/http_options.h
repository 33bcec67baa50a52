/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the configuration says about an HTTP client: the options that
 * Prometheus gives to scrapes, discoveries and remote write.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/configuration,
 * scrape_config, tls_config, oauth2.
 *
 * Ownership: all text is borrowed from the struct yaml it was decoded from.
 * Threads: immutable once decoded.
 */
#ifndef CLIENT_HTTP_OPTIONS_H
#define CLIENT_HTTP_OPTIONS_H

#include "base/yaml.h"

/* Text that is given here, or in a file that is read when it is needed. */
struct http_text {
	struct str text;
	struct str file;
};

struct http_header {
	struct str name;
	struct http_text value;
};

struct http_header_list {
	struct http_header *v;
	size_t count;
};

enum http_tls_version {
	HTTP_TLS_DEFAULT,
	HTTP_TLS_10,
	HTTP_TLS_11,
	HTTP_TLS_12,
	HTTP_TLS_13
};

struct http_tls {
	struct http_text ca;
	struct http_text cert;
	struct http_text key;
	struct str server_name;
	bool insecure_skip_verify;
	enum http_tls_version min_version;
	enum http_tls_version max_version;
};

enum http_auth {
	HTTP_AUTH_NONE,
	HTTP_AUTH_BASIC,
	HTTP_AUTH_HEADER, /* Authorization: <type> <credentials> */
	HTTP_AUTH_OAUTH2
};

struct http_oauth2;

struct http_options {
	enum http_auth auth;
	struct http_text username;
	struct http_text password;
	struct str auth_type;
	struct http_text credentials;
	struct http_oauth2 *oauth2;
	struct http_tls tls;
	struct str proxy_url;
	struct str no_proxy;
	bool proxy_from_environment;
	struct http_header_list proxy_headers;
	bool follow_redirects;
	bool enable_http2;
	struct http_header_list headers;
	/*
	 * All of it as text, with its secrets: the same text is the same client.
	 */
	struct str key;
};

/* A token from somewhere else: RFC 6749 4.4, client credentials. */
struct http_oauth2 {
	struct str client_id;
	struct http_text client_secret;
	struct str *scopes;
	size_t scope_count;
	struct str token_url;
	struct http_header_list params; /* endpoint_params */
	struct http_options http;       /* of the requests for tokens */
};

void http_options_init(struct http_options *o);

/* Decoders of single keys: field is a struct http_options. */
void http_decode_basic_auth(struct yaml *y, const struct yaml_node *n,
			    void *options);
void http_decode_authorization(struct yaml *y, const struct yaml_node *n,
			       void *options);
void http_decode_bearer(struct yaml *y, const struct yaml_node *n,
			void *options);
void http_decode_bearer_file(struct yaml *y, const struct yaml_node *n,
			     void *options);
void http_decode_oauth2(struct yaml *y, const struct yaml_node *n,
			void *options);
void http_decode_tls(struct yaml *y, const struct yaml_node *n, void *options);
void http_decode_proxy_url(struct yaml *y, const struct yaml_node *n,
			   void *options);
void http_decode_proxy_headers(struct yaml *y, const struct yaml_node *n,
			       void *options);
/* A URL of http or https, at a struct str; a password in it is a secret. */
void http_decode_url(struct yaml *y, const struct yaml_node *n, void *url);
void http_decode_headers(struct yaml *y, const struct yaml_node *n,
			 void *options);

/* Rows of a table of fields, for a struct http_options inside a type. */
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

/* After the map was decoded: what does not go together, and the key. */
void http_options_check(struct yaml *y, const struct yaml_node *map,
			struct http_options *o);

#endif
