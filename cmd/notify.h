/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the service manager is told: one datagram to $NOTIFY_SOCKET. Without
 * that variable nothing happens.
 *
 * Source: sd_notify(3), "Standalone Implementations".
 *
 * Ownership: keeps nothing.
 * Threads: any.
 */
#ifndef CMD_NOTIFY_H
#define CMD_NOTIFY_H

/* We are ready, also after a reload. */
void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);

#endif
