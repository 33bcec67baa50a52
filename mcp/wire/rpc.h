/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RPC: messages of JSON-RPC 2.0 (jsonrpc.org/specification), in which the Model Context
 * Protocol speaks.
 *
 * Ownership: a message owns its tree; rpc_fini() frees it. Nodes and texts are valid as
 * long as the message.
 * Threads: one thread at a time.
 */
#ifndef MCP_WIRE_RPC_H
#define MCP_WIRE_RPC_H

#include "base/json.h"
#include "base/yaml.h"

/* Codes of errors. */
enum rpc_code {
	RPC_PARSE = -32700,     /* the message is no JSON */
	RPC_INVALID = -32600,   /* the message is no request */
	RPC_NO_METHOD = -32601, /* there is no such method */
	RPC_PARAMS = -32602,    /* the parameters are wrong */
	/* Codes of the Model Context Protocol of 2026-07-28. */
	RPC_HEADERS = -32020, /* headers and message disagree */
	RPC_VERSION = -32022  /* the version is not supported */
};

/* What came: one message, or a list of messages. */
struct rpc {
	struct yaml yaml;
	bool is_batch;
	size_t count; /* of messages */
};

/* A message. */
struct rpc_message {
	const struct yaml_node
		*id; /* NULL: a notification, which has no answer */
	struct str method;
	const struct yaml_node *params; /* NULL: there are none */
	bool is_response; /* to a request of ours, of which there are none */
};

/* Parse a body. ERR_INVALID: it is no JSON. The caller calls rpc_fini() in any case. */
NODISCARD int rpc_parse(struct rpc *r, struct bytes body, struct err *err);

/* Free what was parsed. */
void rpc_fini(struct rpc *r);

/*
 * Read message number `i`. ERR_INVALID: it is no message; *out then has its id, if it has
 * one, and its method, if only the parameters are wrong.
 */
NODISCARD int rpc_read(const struct rpc *r, size_t i, struct rpc_message *out,
		       struct err *err);

/* Return a parameter that is a text; empty: there is none. */
struct str rpc_text(const struct yaml_node *params, const char *name);

/* Begin and end a response; between them, the caller writes the result. */
void rpc_begin_result(struct json *j, const struct rpc_message *m);
void rpc_end_result(struct json *j);

/*
 * Write an error. `m` may have no id. `write_data` writes a value for the member
 * `data`; NULL: there is none.
 */
void rpc_write_error(struct json *j, const struct rpc_message *m,
		     enum rpc_code code, const char *text,
		     void (*write_data)(void *ctx, struct json *j), void *ctx);

#endif
