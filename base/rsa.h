/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RSA signatures, computed by libcrypto.
 *
 * Threads: pure functions.
 */
#ifndef BASE_RSA_H
#define BASE_RSA_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Append the signature of `text` by RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017,
 * 8.2; "RS256" of RFC 7518) to `out`. `pem` is a private key in PEM. Returns
 * ERR_INVALID if it is not an RSA key; the message does not repeat it.
 */
NODISCARD int rsa_sign(struct str pem, struct bytes text, struct buf *out,
		       struct err *err);

#endif
