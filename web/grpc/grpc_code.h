/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC codes: how a call ended; and the time that a client gives it.
 * Source: github.com/grpc/grpc, doc/statuscodes.md and doc/PROTOCOL-HTTP2.md.
 *
 * Threads: pure functions.
 */
#ifndef WEB_GRPC_GRPC_CODE_H
#define WEB_GRPC_GRPC_CODE_H

#include "base/buf.h"
#include "base/err.h"

/* The codes that everprof sends. */
enum grpc_code {
	GRPC_OK = 0,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14, /* the client may try again */
	GRPC_UNAUTHENTICATED = 16
};

/* Return the code for an error ERR_*. */
enum grpc_code grpc_code_of(int err);

/* Return the name of a code, a constant. */
const char *grpc_code_name(enum grpc_code code);

/*
 * Read the header grpc-timeout: up to 8 digits and a unit. Returns its time in ns, or
 * ERR_INVALID.
 */
NODISCARD int grpc_code_timeout(const char *text, int64_t *ns, struct err *err);

#endif
