/* SPDX-License-Identifier: Apache-2.0 */
#include "web/auth/credentials.h"

#include <strings.h>

#include "base/base64.h"

/*
 * Decode Basic credentials (RFC 7617): base64 of "user:password". Malformed
 * credentials are treated as missing. So is a text with a NUL, because C code
 * would see only the part of the password before the NUL.
 */
static void credentials_decode_basic(struct str text, struct arena *arena,
				     struct credentials *c)
{
	struct buf plain = { 0 };
	struct str password;
	struct str user;

	if (base64_decode(text, &plain) && plain.len &&
	    !memchr(plain.ptr, 0, plain.len) &&
	    memchr(plain.ptr, ':', plain.len)) {
		user = str_cut(str_from(buf_bytes(&plain)), ':', &password);
		c->user = arena_strndup(arena, user);
		c->password = arena_strndup(arena, password);
	}
	buf_forget(&plain);
}

struct credentials credentials_read(const char *authorization,
				    struct arena *arena)
{
	static const char bearer[] = "Bearer ";
	static const char basic[] = "Basic ";
	struct credentials c = { 0 };

	/* Schemes are case-insensitive (RFC 7235, 2.1). */
	if (!strncasecmp(authorization, bearer, sizeof(bearer) - 1))
		c.token = authorization + sizeof(bearer) - 1;
	else if (!strncasecmp(authorization, basic, sizeof(basic) - 1))
		credentials_decode_basic(
			str_of(authorization + sizeof(basic) - 1), arena, &c);
	return c;
}
