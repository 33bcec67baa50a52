/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/cgroup_path.h"

/*
 * Return the ID of a container that is in `element`, an element of a path;
 * empty: there is none.
 */
static struct str container_find(struct str element)
{
	size_t digits = 0;

	for (size_t i = 0; i < element.len; i++) {
		digits = digit_hex_value(element.ptr[i]) >= 0 ? digits + 1 : 0;
		if (digits != CONTAINER_ID_LEN)
			continue;
		if (i + 1 < element.len &&
		    digit_hex_value(element.ptr[i + 1]) >= 0)
			break; /* a longer number */
		return (struct str){ .ptr = element.ptr + i + 1 -
					    CONTAINER_ID_LEN,
				     .len = CONTAINER_ID_LEN };
	}
	return (struct str){ 0 };
}

/*
 * Whether `element` is the name of a unit. Slices do not count, because they
 * only group other units.
 */
static bool element_is_unit(struct str element)
{
	return str_ends(element, ".service") || str_ends(element, ".scope") ||
	       str_ends(element, ".mount") || str_ends(element, ".swap");
}

struct cgroup_path cgroup_path_of(struct str path)
{
	struct cgroup_path out = { 0 };

	while (path.len) {
		struct str element = str_cut(path, '/', &path);
		struct str id = container_find(element);

		if (str_starts(element, str_of("kubepods")))
			out.kubernetes = true;
		if (id.len)
			out.container = id;
		/* Of nested units, the innermost one counts. */
		if (element_is_unit(element))
			out.unit = element;
	}
	return out;
}

/* Whether the comma-separated list `list` contains `element`. */
static bool list_has(struct str list, const char *element)
{
	while (list.len) {
		if (str_is(str_cut(list, ',', &list), element))
			return true;
	}
	return false;
}

struct str cgroup_path_find(struct str text)
{
	struct str second = { 0 };
	struct str cpu = { 0 };
	struct str systemd = { 0 };

	while (text.len) {
		struct str path = str_cut(text, '\n', &text);
		struct str number = str_cut(path, ':', &path);
		struct str controllers = str_cut(path, ':', &path);

		if (str_is(number, "0"))
			second = path;
		else if (list_has(controllers, "cpu"))
			cpu = path;
		else if (str_is(controllers, "name=systemd"))
			systemd = path;
	}
	if (second.len > 1)
		return second;
	if (cpu.len > 1)
		return cpu;
	return systemd.len > 1 ? systemd : str_of("/");
}

struct str cgroup_path_of_process(struct str text, bool has_program)
{
	struct str path = cgroup_path_find(text);

	if (!text.len || (!has_program && str_is(path, "/")))
		return str_of("");
	return path;
}
