/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/public_opener.h"

#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "symbols/names/regular_file.h"

/*
 * The only operation of the helper: open the file whose path is `argument`, and
 * give its descriptor to the caller. `unused` is the descriptor that each
 * request has to bring.
 */
static int public_opener_run(int unused, struct bytes argument,
			     struct buf *out UNUSED, struct err *err)
{
	char *path = mem_strndup(str_from(argument));
	int fd = regular_file_open_public(path);

	close(unused);
	mem_free(path);
	if (fd < 0)
		return err_set(err, ERR_NOTFOUND,
			       "there is no such file that everyone may read");
	file_helper_give(fd);
	return 0;
}

int public_opener_serve(void)
{
	static file_operation *const operations[] = { public_opener_run };

	return file_helper_serve_proc(0, operations, ARRAY_SIZE(operations));
}

uint32_t public_opener_share(const char *path)
{
	const char *end = strrchr(path, '/');
	struct bytes folder = { .ptr = (const uint8_t *)path,
				.len = end ? (size_t)(end - path) : 0 };

	return (uint32_t)hash_key(folder) | 1;
}

int public_opener_open(struct file_helper *h, const char *path)
{
	int fd;

	file_helper_set_user(h, public_opener_share(path));
	return file_helper_call_open(h, 0, bytes_of(str_of(path)),
				     PUBLIC_OPENER_TIMEOUT_MS, &fd, NULL) ?
		       -1 :
		       fd;
}
