/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cryptographic digests, on libcrypto: where others' formulas ask for them.
 * Our own checksums are hash.h and crc32c.h.
 *
 * Ownership: keeps nothing.
 * Threads: pure.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/bytes.h"

enum {
	DIGEST_MD5_SIZE = 16,
	DIGEST_SHA256_SIZE = 32
};

void digest_md5(struct bytes b, uint8_t out[DIGEST_MD5_SIZE]);
void digest_sha256(struct bytes b, uint8_t out[DIGEST_SHA256_SIZE]);

#endif
