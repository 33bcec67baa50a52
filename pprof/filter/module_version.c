/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/filter/module_version.h"

#include "base/buf.h"

/* What separates a version from the path before it, and is removed with it. */
static const char *const separators[] = { "/v", ".v", "%2ev" };

/* Characters that no path of a module has. */
static const char between[] = " \t;{}*&[],()<>\"'`:";

static bool is_between(char c)
{
	return c && strchr(between, c);
}

/* Whether an element of a path, or a path, ends at this character. */
static bool module_version_ends_at(struct str s, size_t at)
{
	return at < s.len &&
	       (s.ptr[at] == '/' || s.ptr[at] == '.' || is_between(s.ptr[at]));
}

/*
 * Return the length of the version at the beginning of `s`, with what separates it
 * from the path; 0: there is none. `dots`: the path is one of gopkg.in.
 */
static size_t module_version_length(struct str s, bool dots)
{
	for (size_t i = 0; i < (dots ? ARRAY_SIZE(separators) : 1); i++) {
		size_t first = strlen(separators[i]);
		size_t at = first;

		if (!str_starts(s, str_of(separators[i])))
			continue;
		while (at < s.len && s.ptr[at] >= '0' && s.ptr[at] <= '9')
			at++;
		/* There is no v0 and no v1 in a path but in those of gopkg.in. */
		if (at == first || !module_version_ends_at(s, at) ||
		    (!dots && at == first + 1 && s.ptr[first] < '2'))
			continue;
		return at;
	}
	return 0;
}

/*
 * Whether a path begins with the name of a host, as those of modules do: names of
 * other languages may have slashes, too.
 */
static bool module_version_has_host(struct str path)
{
	for (size_t i = 0; i < path.len && !is_between(path.ptr[i]); i++) {
		if (path.ptr[i] == '/')
			return false;
		if (path.ptr[i] == '.')
			return memchr(path.ptr + i, '/', path.len - i) != NULL;
	}
	return false;
}

/* Write a name without versions. Returns whether it had any. */
static bool module_version_write(struct str name, struct buf *out)
{
	bool removed = false;
	bool is_module = false;
	bool dots = false;

	for (size_t i = 0; i < name.len;) {
		struct str rest = { name.ptr + i, name.len - i };
		size_t skip = is_module ? module_version_length(rest, dots) : 0;

		if (!i || is_between(name.ptr[i - 1])) {
			is_module = module_version_has_host(rest);
			dots = str_starts(rest, str_of("gopkg.in/"));
		} else if (is_between(name.ptr[i])) {
			is_module = false;
		}
		removed |= skip > 0;
		if (!skip)
			buf_byte(out, name.ptr[i]);
		i += skip ? skip : 1;
	}
	return removed;
}

void module_version_remove(struct pprof *p)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < p->functions.count; i++) {
		struct pprof_function *f = &p->functions.v[i];

		out.len = 0;
		if (module_version_write(pprof_str(p, f->name), &out))
			f->name = strtab_intern(&p->strings,
						str_from(buf_bytes(&out)));
	}
	buf_fini(&out);
}
