/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of libcurl's handle for one transfer: configuration, proxy, name,
 * redirects.
 *
 * Ownership, threads: those of the transfer.
 */
#ifndef CLIENT_TRANSFER_EASY_H
#define CLIENT_TRANSFER_EASY_H

#include "client/transfer/transfer.h"

/* What to look at when a CURLcode with that message ended it; "" for nothing. */
const char *easy_hint(const struct transfer *t, int result, const char *why);

/* Find the proxy, name and port, for where the transfer is now. */
NODISCARD int easy_route(struct transfer *t, struct err *err);

/* easy.c: the handle's options, for where the transfer is now. */
void easy_set_config(struct transfer *t);

/* Where an answer points to, or NULL; the caller's. */
char *easy_location(const struct transfer *t);

/* Where a redirect leads to, or NULL; the caller's. */
char *easy_redirect(const struct transfer *t);

#endif
