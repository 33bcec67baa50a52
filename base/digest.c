/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>

/*
 * The algorithms are looked up once. libcrypto would otherwise do so for each
 * digest, which takes longer than a short digest, and reads a shared table
 * without a lock.
 */
static pthread_once_t digest_once = PTHREAD_ONCE_INIT;
static EVP_MD *digest_md5_algorithm;
static EVP_MD *digest_sha256_algorithm;

static void digest_fetch(void)
{
	digest_md5_algorithm = EVP_MD_fetch(NULL, "MD5", NULL);
	digest_sha256_algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
}

/*
 * Compute one digest. libcrypto fails here only when memory is exhausted; the
 * process then ends, as after any failed allocation (base/mem.h).
 */
static void digest_compute(const EVP_MD *md, struct bytes b, uint8_t *out)
{
	if (!EVP_Digest(b.ptr, b.len, out, NULL, md, NULL))
		abort();
}

void digest_md5(struct bytes b, uint8_t out[DIGEST_MD5_SIZE])
{
	pthread_once(&digest_once, digest_fetch);
	digest_compute(digest_md5_algorithm, b, out);
}

void digest_sha256(struct bytes b, uint8_t out[DIGEST_SHA256_SIZE])
{
	pthread_once(&digest_once, digest_fetch);
	digest_compute(digest_sha256_algorithm, b, out);
}
