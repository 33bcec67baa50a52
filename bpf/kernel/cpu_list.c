/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/kernel/cpu_list.h"

#include "base/file_slurp.h"

/*
 * Add the CPUs of `range`, such as "3" or "0-3". Return false if it is
 * malformed, or if a number is not below CPU_LIST_MAX.
 */
static bool cpu_list_add(struct cpu_list *l, struct str range)
{
	struct str last;
	struct str first = str_cut(range, '-', &last);
	int64_t from;
	int64_t to;

	if (!str_to_i64(first, &from))
		return false;
	to = from;
	if (first.len < range.len && !str_to_i64(last, &to))
		return false;
	if (from < 0 || to < from || to >= CPU_LIST_MAX)
		return false;
	for (int64_t i = from; i <= to; i++)
		l->bits[i / 64] |= (uint64_t)1 << (i % 64);
	return true;
}

bool cpu_list_parse(struct str text, struct cpu_list *out)
{
	struct str rest = str_trim(text);

	*out = (struct cpu_list){ 0 };
	while (rest.len) {
		if (!cpu_list_add(out, str_cut(rest, ',', &rest)))
			return false;
	}
	return true;
}

int cpu_list_online(struct cpu_list *out, struct err *err)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	struct buf text = { .max = 1 << 16 };
	int rc = file_slurp(path, &text, err);

	if (!rc && !cpu_list_parse(str_from(buf_bytes(&text)), out))
		rc = err_set(
			err, ERR_CORRUPT,
			"%s does not contain a list of CPUs, such as 0-3,8",
			path);
	buf_fini(&text);
	return rc;
}
