/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

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
	digest_compute(EVP_md5(), b, out);
}

void digest_sha256(struct bytes b, uint8_t out[DIGEST_SHA256_SIZE])
{
	digest_compute(EVP_sha256(), b, out);
}
