/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/push_state.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"

/* The file has a few lines; a larger one is something else. */
#define FILE_MAX 1024

#define FIRST_LINE "everprof push 1"

/* Parse the text of the file. */
static bool push_state_parse(const char *text, struct push_state *s)
{
	int end = -1;

	return sscanf(text,
		      FIRST_LINE "\nid %" SCNx64 "\nsource %" SCNu64
				 "\nstep %" SCNd64 "\ncount %" SCNu64
				 "\nlast %" SCNx64 "\n%n",
		      &s->id, &s->source, &s->step, &s->count, &s->last,
		      &end) == 5 &&
	       end > 0 && !text[end];
}

int push_state_load(const char *path, struct push_state *s, struct err *err)
{
	struct buf text = buf_init(FILE_MAX);
	struct push_state got;
	int rc = file_drain(path, &text, err);

	if (rc == ERR_NOTFOUND) {
		rc = 0;
	} else if (!rc && !push_state_parse(buf_cstr(&text), &got)) {
		rc = err_set(err, ERR_INVALID,
			     "%s is not a file of --resume.file", path);
	} else if (!rc && got.id != s->id) {
		rc = err_set(
			err, ERR_INVALID,
			"%s belongs to another push: the sources, the server, --labels, --from or --to differ; remove it, or give another --resume.file",
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
