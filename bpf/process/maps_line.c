/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/maps_line.h"

/*
 * Cut a hexadecimal number, and the character `end` that follows it, from the
 * beginning of *text. False: *text does not begin with a number of at most 16
 * digits.
 */
static bool maps_hex_cut(struct str *text, char end, uint64_t *out)
{
	struct str digits = str_cut(*text, end, text);

	*out = 0;
	if (!digits.len || digits.len > 16)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		int digit = digit_hex_value(digits.ptr[i]);

		if (digit < 0)
			return false;
		*out = *out << 4 | (uint64_t)digit;
	}
	return true;
}

bool maps_line_parse(struct str line, struct maps_line *out)
{
	struct str rest = line;
	struct str permissions;
	uint64_t major;
	uint64_t minor;
	int64_t inode;

	*out = (struct maps_line){ 0 };
	if (!maps_hex_cut(&rest, '-', &out->start) ||
	    !maps_hex_cut(&rest, ' ', &out->end) || out->start >= out->end)
		return false;
	permissions = str_cut(rest, ' ', &rest);
	if (permissions.len != 4 || !maps_hex_cut(&rest, ' ', &out->offset) ||
	    !maps_hex_cut(&rest, ':', &major) ||
	    !maps_hex_cut(&rest, ' ', &minor) ||
	    !str_to_i64(str_cut(rest, ' ', &rest), &inode) || inode < 0 ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	out->executable = permissions.ptr[2] == 'x';
	out->major = (uint32_t)major;
	out->minor = (uint32_t)minor;
	out->inode = (uint64_t)inode;
	/*
	 * Skip the spaces that align the name. If the name itself begins with
	 * spaces, they are skipped, too.
	 */
	while (rest.len && rest.ptr[0] == ' ')
		rest = (struct str){ .ptr = rest.ptr + 1, .len = rest.len - 1 };
	out->path = rest;
	return true;
}

struct str maps_line_undeleted(struct str path)
{
	const struct str mark = str_of(" (deleted)");

	if (path.len > mark.len && str_ends(path, mark.ptr))
		path.len -= mark.len;
	return path;
}
