/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/user_ranges.h"

#include "base/buf.h"
#include "base/file_slurp.h"

/*
 * Parse a line, "name:first:count". False: the line is malformed, or its range
 * is empty, contains the user ID 0, or contains numbers greater than the
 * largest user ID, which is UINT32_MAX - 1.
 */
static bool user_range_parse(struct str line, struct user_range *out)
{
	struct str rest;
	int64_t first;
	int64_t count;

	(void)str_cut(line, ':', &rest);
	if (!str_to_i64(str_cut(rest, ':', &rest), &first) ||
	    !str_to_i64(rest, &count))
		return false;
	if (first <= 0 || count <= 0 || first > UINT32_MAX ||
	    count > UINT32_MAX - first)
		return false;
	*out = (struct user_range){ .first = (uint32_t)first,
				    .count = (uint32_t)count };
	return true;
}

void user_ranges_read(struct user_ranges *r, const char *path)
{
	struct buf text = buf_init(USER_RANGES_FILE_MAX);
	struct str rest;

	*r = (struct user_ranges){ .list = { 0 } };
	if (file_slurp(path, &text, NULL))
		buf_reset(&text);
	rest = str_from(buf_bytes(&text));
	while (rest.len) {
		struct user_range range;

		if (user_range_parse(str_cut(rest, '\n', &rest), &range))
			*vec_add(&r->list) = range;
	}
	buf_fini(&text);
}

void user_ranges_fini(struct user_ranges *r)
{
	vec_fini(&r->list);
}

uint32_t user_ranges_share(const struct user_ranges *r, uint32_t uid)
{
	for (size_t i = 0; r && i < r->list.count; i++) {
		const struct user_range *x = &r->list.v[i];

		if (uid >= x->first && uid - x->first < x->count)
			return x->first;
	}
	return uid;
}
