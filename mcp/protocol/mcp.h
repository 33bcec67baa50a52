/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP: the Model Context Protocol, by which assistants ask for profiles. Messages come one
 * by one, over HTTP, and nothing is remembered between them.
 *
 * There are two eras of the protocol. In the first (versions 2025-03-26 to 2025-11-25), a
 * client begins with the method initialize. In the second (2026-07-28), each message says
 * its version, and headers repeat what is in it.
 * Source: modelcontextprotocol.io/specification, basic/transports and server/tools.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: any.
 */
#ifndef MCP_PROTOCOL_MCP_H
#define MCP_PROTOCOL_MCP_H

#include "base/arena.h"
#include "base/buf.h"
#include "query/select/query_work.h"
#include "symbols/names/symbolizer.h"
#include "tsdb/open/tsdb.h"

/* A request over HTTP. Headers that are absent are "". */
struct mcp_request {
	struct tsdb *db;
	struct symbolizer *symbolizer;
	const char *source_root;    /* see struct report_options */
	const char *server_version; /* of everprof */
	struct query_work *work;
	struct arena *arena;
	int64_t now_ms;
	struct bytes body;
	const char *version; /* header MCP-Protocol-Version */
	const char *method;  /* header Mcp-Method */
	const char *name;    /* header Mcp-Name */
};

/*
 * Answer a request: append the response to `out`, and return the status of HTTP. With
 * status 202, there is no response.
 */
unsigned mcp_answer(const struct mcp_request *r, struct buf *out);

#endif
