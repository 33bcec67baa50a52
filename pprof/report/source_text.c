/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/source_text.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/file_slurp.h"

/*
 * Largest number of folders in a path that is looked up below source_root. A
 * longer path is looked up only without its first folders.
 */
#define FOLDERS_MAX 64

/* Units of work charged for one file access. */
#define LOOK_WORK 256

void source_root_init(struct source_root *s, const struct report *r)
{
	const char *root = r->o->source_root;

	*s = (struct source_root){ .limits = &r->o->limits };
	s->exists = root && realpath(root, s->path);
	if (s->exists && !strcmp(s->path, "/"))
		s->path[0] = 0;
}

/*
 * Whether a path must not be looked up: it is empty or too long, contains a
 * NUL, or has an element "..".
 */
static bool is_odd(struct str path)
{
	struct str rest = path;

	while (rest.len) {
		struct str e = str_cut(rest, '/', &rest);

		if (str_is(e, ".."))
			return true;
	}
	return !path.len || path.len >= PATH_MAX ||
	       memchr(path.ptr, 0, path.len);
}

/*
 * Read the file `root`/`end` into `out`. Paths come from untrusted profiles, so
 * links are resolved first, and a file outside of `root` is never opened.
 */
static bool open_source(const char *root, struct str end, struct buf *out)
{
	char path[PATH_MAX];
	char real[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%.*s", root, STR_ARG(end));

	return n > 0 && (size_t)n < sizeof(path) && realpath(path, real) &&
	       str_starts(str_of(real), str_of(root)) &&
	       real[strlen(root)] == '/' && !file_slurp(real, out, NULL);
}

/*
 * Try the whole path, then the path without its first folder, without its first
 * two folders, and so on, since the program was probably built on another
 * machine.
 */
int source_root_read(struct source_root *s, struct str file, struct buf *out,
		     struct err *err)
{
	struct str rest = file;
	size_t folders = str_count(file, '/');
	int rc = 0;

	if (!s->exists || is_odd(file))
		return 0;
	while (rest.len && !rc) {
		if (folders <= FOLDERS_MAX && open_source(s->path, rest, out))
			break;
		(void)str_cut(rest, '/', &rest);
		folders -= folders > 0;
		rc = limits_meter(s->limits, &s->meter, LOOK_WORK, 0, err);
	}
	/* Charge the time to read the text, too. */
	return rc ? rc :
		    limits_meter(s->limits, &s->meter,
				 LOOK_WORK + out->len / 64, 0, err);
}

struct str source_line(struct source_cursor *c, int64_t number)
{
	struct str line = { "", 0 };

	for (; c->at < number && c->rest.len; c->at++)
		line = str_cut(c->rest, '\n', &c->rest);
	return c->at == number ? line : str_of("");
}
