/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/file_reader.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"

#define FILE_MAX   (1024 * MIB)         /* maximum bytes of one file */
#define MEMORY_MAX ((size_t)4096 * MIB) /* maximum memory of the decoder */

void file_reader_init(struct file_reader *r)
{
	*r = (struct file_reader){
		.gzip = gzip_new(),
		.decoder = decoder_new(MEMORY_MAX),
		.merge = merge_new(),
		.body = buf_init(FILE_MAX),
		.raw = buf_init(FILE_MAX),
	};
}

void file_reader_fini(struct file_reader *r)
{
	gzip_free(r->gzip);
	decoder_free(r->decoder);
	merge_free(r->merge);
	buf_fini(&r->body);
	buf_fini(&r->raw);
}

/* Whether a text looks like folded stacks: "main;run;read 12". */
static bool is_folded(struct str text)
{
	struct str rest;
	struct str line = str_cut(text, '\n', &rest);
	size_t at = line.len;

	while (at && line.ptr[at - 1] >= '0' && line.ptr[at - 1] <= '9')
		at--;
	return at && at < line.len && line.ptr[at - 1] == ' ' &&
	       str_is_utf8(line);
}

/* Say what a file is not, and what is read instead. */
static int refuse_file(const char *path, struct bytes body, int rc,
		       struct err *err)
{
	const struct err why = *err;

	return err_set(
		err, rc, "%s: %s: %s", path, why.msg,
		is_folded(str_from(body)) ?
			"these look like folded stacks, which this command does not read; \"everprof view\" does" :
			"expected a profile in a format that pprof reads");
}

/*
 * Read a file or pipe, decompress it if necessary, and merge it. Errors name
 * the path.
 */
static int file_reader_read_one(struct file_reader *r, const char *path,
				struct err *err)
{
	struct pprof *p;
	struct bytes raw;
	int rc;

	buf_reset(&r->body);
	buf_reset(&r->raw);
	rc = file_drain(path, &r->body, err);
	if (rc)
		return rc;
	raw = buf_bytes(&r->body);
	if (gzip_sniff(raw) != GZIP_NONE) {
		rc = gzip_decompress(r->gzip, raw, &r->raw, err);
		raw = buf_bytes(&r->raw);
	}
	if (rc)
		return err_wrap(err, rc, "%s", path);
	rc = decoder_run(r->decoder, raw, &p, err);
	if (rc == ERR_INVALID || rc == ERR_CORRUPT)
		return refuse_file(path, raw, rc, err);
	if (!rc)
		rc = merge_add(r->merge, p, NULL, err);
	if (!rc && r->added)
		rc = r->added(r->ctx, p, err);
	return rc ? err_wrap(err, rc, "%s", path) : 0;
}

int file_reader_read(struct file_reader *r, const char *path, struct err *err)
{
	struct name_list names = { 0 };
	struct stat st;
	int rc;

	if (stat(path, &st))
		return err_sys(err, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return file_reader_read_one(r, path, err);
	rc = fs_list(NULL, path, &names, err);
	for (size_t i = 0; !rc && i < names.count; i++) {
		CLEANUP(mem_freep)
		char *file = mem_printf("%s/%s", path, names.names[i]);

		rc = file_reader_read_one(r, file, err);
	}
	name_list_fini(&names);
	return rc;
}
