/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rsa.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>

/* Read a private key. NULL: the text is not one, or is encrypted. */
static EVP_PKEY *rsa_read_key(struct str pem)
{
	/* Without a password, libcrypto would ask for one on the terminal. */
	char no_password[] = "";
	BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	EVP_PKEY *key;

	if (!bio)
		abort();
	key = PEM_read_bio_PrivateKey(bio, NULL, NULL, no_password);
	BIO_free(bio);
	return key;
}

int rsa_sign(struct str pem, struct bytes text, struct buf *out,
	     struct err *err)
{
	EVP_PKEY *key = pem.len <= INT_MAX ? rsa_read_key(pem) : NULL;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t signature[2048]; /* for keys of up to 16384 bits */
	size_t len = sizeof(signature);
	bool signed_well;

	if (!ctx)
		abort();
	signed_well =
		key && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA &&
		EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
		EVP_DigestSign(ctx, signature, &len, text.ptr, text.len) == 1;
	if (signed_well)
		buf_add(out, signature, len);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return signed_well ?
		       0 :
		       err_set(err, ERR_INVALID,
			       "the private key is missing, encrypted, or not an RSA key in PEM");
}
