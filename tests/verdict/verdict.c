/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the verdicts of our reader on the files of a directory, as main.go
 * beside it prints those of Go's reader.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"
#include "pprof/proto/unpack.h"

static void print(const char *name, const struct unpacked *u)
{
	const struct scan *s = &u->scan;

	printf("%s\tok\t%" PRIu64 " %" PRId64 " [", name, s->sample_count,
	       s->period);
	for (size_t i = 0; i < s->types.count; i++)
		printf("%s%" PRId64, i ? " " : "", s->totals[i]);
	printf("]\n");
}

int main(int argc, char **argv)
{
	struct unpacker *u = unpacker_new(64 * MIB);
	struct unpacked *out = mem_new(struct unpacked);
	struct name_list l = { 0 };
	struct err err;

	if (argc != 2 || fs_list(NULL, argv[1], &l, &err))
		return 2;
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", argv[1], l.names[i]);
		struct buf body = { 0 };

		if (file_slurp(path, &body, &err))
			return 2;
		if (unpacker_run(u, buf_bytes(&body), out, &err))
			printf("%s\tno\t%s\n", l.names[i], err.msg);
		else
			print(l.names[i], out);
		buf_fini(&body);
	}
	name_list_fini(&l);
	unpacker_free(u);
	mem_free(out);
	return 0;
}
