/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tools/push_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"

/* The file has a few lines; a larger one is something else. */
#define FILE_MAX 1024

#define FIRST_LINE "everprof push 1"

/*
 * Take the line "<name> <number>" off the text, with a number in this base.
 * False: it begins with something else.
 */
static bool take_number(const char **text, const char *name, int base,
			uint64_t *out)
{
	size_t n = strlen(name);
	char *end;

	if (strncmp(*text, name, n) != 0 || (*text)[n] != ' ')
		return false;
	*out = strtoull(*text + n, &end, base);
	if (*end != '\n')
		return false;
	*text = end + 1;
	return true;
}

/* Parse the text of the file. */
static bool push_state_parse(const char *text, struct push_state *s)
{
	size_t n = strlen(FIRST_LINE "\n");
	uint64_t step = 0;

	if (strncmp(text, FIRST_LINE "\n", n) != 0)
		return false;
	text += n;
	if (!take_number(&text, "id", 16, &s->id) ||
	    !take_number(&text, "source", 10, &s->source) ||
	    !take_number(&text, "step", 10, &step) ||
	    !take_number(&text, "count", 10, &s->count) ||
	    !take_number(&text, "last", 16, &s->last))
		return false;
	s->step = (int64_t)step;
	return !*text;
}

int push_state_load(const char *path, struct push_state *s, struct err *err)
{
	struct buf text = buf_init(FILE_MAX);
	struct push_state got;
	int rc = file_drain(path, &text, err);

	if (rc == ERR_NOTFOUND) {
		rc = 0;
	} else if (!rc && !push_state_parse(buf_cstr(&text), &got)) {
		rc = err_set(
			err, ERR_INVALID,
			"%s was not written by everprof push, or is damaged: give another --resume.file; the push then starts over, and nothing is stored twice",
			path);
	} else if (!rc && got.id != s->id) {
		rc = err_set(
			err, ERR_INVALID,
			"%s belongs to another push, with other sources, --server, --labels, --from or --to: repeat that command to resume it, or give another --resume.file",
			path);
	} else if (!rc) {
		*s = got;
	}
	buf_fini(&text);
	return rc;
}

int push_state_save(const char *path, const struct push_state *s,
		    struct err *err)
{
	CLEANUP(mem_freep) char *tmp = mem_printf("%s.tmp", path);
	struct buf text = { 0 };
	int rc;

	buf_printf(&text,
		   FIRST_LINE "\nid %016" PRIx64 "\nsource %" PRIu64
			      "\nstep %" PRId64 "\ncount %" PRIu64
			      "\nlast %016" PRIx64 "\n",
		   s->id, s->source, s->step, s->count, s->last);
	rc = file_replace(NULL, tmp, path, buf_bytes(&text), err);
	buf_fini(&text);
	return rc;
}
