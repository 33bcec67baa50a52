/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/debug_file.h"

#include <stdio.h>

#include "symbols/file/elf_file.h"

bool debug_file_path(const char *dir, struct bytes build_id, struct buf *out)
{
	if (build_id.len < 2 || build_id.len > ELF_BUILD_ID_MAX || !dir ||
	    !*dir)
		return false;
	buf_printf(out, "%s/.build-id/%02x/", dir, build_id.ptr[0]);
	for (size_t i = 1; i < build_id.len; i++)
		buf_printf(out, "%02x", build_id.ptr[i]);
	buf_str(out, ".debug");
	return true;
}

/* Return the directory of a path, with the slash at its end. */
static struct str path_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	return (struct str){ .ptr = path,
			     .len = slash ? (size_t)(slash + 1 - path) : 0 };
}

bool debug_link_path(const char *dir, const char *path, struct str link,
		     unsigned i, struct buf *out)
{
	struct str folder = path_directory(path);

	if (!folder.len || *path != '/' || !link.len ||
	    memchr(link.ptr, '/', link.len) || str_is(link, "..") ||
	    (i == 2 && (!dir || !*dir)))
		return false;
	buf_printf(out, "%s%.*s%s%.*s", i == 2 ? dir : "", STR_ARG(folder),
		   i == 1 ? ".debug/" : "", STR_ARG(link));
	return i < DEBUG_LINK_PLACES;
}
