/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC access: whether a call may be made, by what is known before its message comes: the
 * form of the request, the rate, host, certificate, credentials and scopes.
 *
 * Ownership: everything is borrowed.
 * Threads: any; a call belongs to one thread at a time.
 */
#ifndef WEB_GRPC_GRPC_ACCESS_H
#define WEB_GRPC_GRPC_ACCESS_H

#include <sys/socket.h>

#include "web/grpc/grpc_call.h"
#include "web/guard/clients.h"
#include "web/guard/limiter.h"

/* What calls are checked against. */
struct grpc_access {
	const struct grpc_method *methods;
	struct auth *auth;
	struct limiter *limiter;
	const char *allowed_hosts;
};

/* Who makes a call. */
struct grpc_caller {
	const struct sockaddr *address;
	/* the gnutls_session_t of the connection; NULL: no TLS */
	void *tls;
};

/*
 * Check a call whose headers are complete: set its method and its deadline, or fail it.
 */
void grpc_access_check(const struct grpc_access *a,
		       const struct grpc_caller *caller, struct grpc_call *c,
		       int64_t now_ns);

/*
 * Find out who makes a call that was checked, and whether it may be made, or fail it.
 * Returns whether the password has to be verified by grpc_access_verify().
 */
NODISCARD bool grpc_access_authenticate(const struct grpc_access *a,
					struct grpc_call *c);

/*
 * Verify the password of a call by hashing it, on a pool thread, or fail the call. False: other
 * passwords are being verified; grpc_access_authenticate() has to be called again later.
 */
NODISCARD bool grpc_access_verify(const struct grpc_access *a,
				  struct client *client, struct grpc_call *c);

#endif
