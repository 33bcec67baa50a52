/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the service manager (systemd) the state of the server: one datagram to
 * $NOTIFY_SOCKET for each change. Nothing is sent if that variable is not set;
 * errors are ignored.
 *
 * Source: sd_notify(3), "Standalone Implementations".
 *
 * Threads: any.
 */
#ifndef CMD_SERVE_NOTIFY_H
#define CMD_SERVE_NOTIFY_H

/* The variable of the environment that names the socket. */
#define NOTIFY_VARIABLE "NOTIFY_SOCKET"

/* The line of the message that says where the server listens; systemd ignores it. */
#define NOTIFY_URL "X_EVERPROF_URL"

/* The server is ready, and listens at this URL; also sent after a reload. */
void notify_ready(const char *url);

/* The server starts to reload its configuration. */
void notify_reloading(void);

/* The server has begun to shut down. */
void notify_stopping(void);

#endif
