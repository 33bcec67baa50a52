/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cryptographic digests, computed by libcrypto: for secrets, and where another
 * program prescribes the hash function. The checksums of everprof's own files
 * are in hash.h and crc32c.h.
 *
 * Threads: pure functions.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/bytes.h"

/* Sizes of the digests in bytes. */
enum {
	DIGEST_MD5_SIZE = 16,
	DIGEST_SHA256_SIZE = 32
};

/* Write the MD5 digest of b to `out`. */
void digest_md5(struct bytes b, uint8_t out[DIGEST_MD5_SIZE]);

/* Write the SHA-256 digest of b to `out`. */
void digest_sha256(struct bytes b, uint8_t out[DIGEST_SHA256_SIZE]);

#endif
