/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof tsdb dump: all profiles of a data directory, as lines or files. The
 * directory is opened read-only, so a server may be using it.
 */
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/fs.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/units.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/cli/database.h"
#include "model/selector.h"
#include "model/series_folder.h"
#include "pprof/columns/columns.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/query/querier.h"

/* The options of a dump, and the number of failures. */
struct dump {
	const char *output; /* folder to write files to; "": print lines */
	int64_t from;
	int64_t to;
	struct selector selector;
	struct gzip *gzip;
	/* number of profiles that could not be read, and of damaged files */
	size_t failed;
};

/* Write the SHA-256 of the bytes to `out` as hexadecimal digits. */
static void sha256_hex(struct bytes b, char out[65])
{
	uint8_t digest[DIGEST_SHA256_SIZE];

	digest_sha256(b, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/*
 * Print a line for one profile: series, time in ms, length, XXH3-64 and
 * SHA-256.
 */
static void dump_print_line(struct labels *labels, const struct profile *p)
{
	struct buf text = { 0 };
	char sha[65];

	labels_text(labels, &text);
	sha256_hex(buf_bytes(&p->raw), sha);
	console_text(stdout, str_from(buf_bytes(&text)));
	printf("\t%" PRId64 "\t%zu\t%016" PRIx64 "\t%s\n", p->ms, p->raw.len,
	       p->hash, sha);
	buf_fini(&text);
}

/* The folder of a series. */
struct dump_folder {
	char *path;        /* NULL: lines are printed */
	struct bytes note; /* which its files need, of the labels */
};

/* Make the folder of a series. The caller frees its path in any case. */
static int dump_folder_make(const struct dump *d, const struct labels *labels,
			    struct dump_folder *out, struct err *err)
{
	struct buf name = { 0 };

	out->note = series_folder_print(labels, &name);
	out->path = mem_printf("%s/%s", d->output, buf_cstr(&name));
	buf_fini(&name);
	return fs_add_dir(NULL, out->path, err);
}

/*
 * Write one profile to the file <ms>.pb.gz. An existing file is not replaced:
 * FILE_CREATE makes opening it an error.
 */
static int dump_write_file(struct dump *d, const struct dump_folder *folder,
			   const struct profile *p, struct err *err)
{
	CLEANUP(mem_freep)
	char *path = mem_printf("%s/%" PRId64 ".pb.gz", folder->path, p->ms);
	CLEANUP(file_closep) struct file *f = NULL;
	struct buf packed = { 0 };
	int rc = file_open(NULL, path, FILE_CREATE, &f, err);

	if (rc)
		return rc;
	gzip_compress_noted(d->gzip, 6, buf_bytes(&p->raw), folder->note,
			    &packed);
	rc = file_write(f, 0, buf_bytes(&packed), err);
	buf_fini(&packed);
	return rc;
}

/* Dump one profile: as a file, or as a line. */
static int dump_profile(struct dump *d, struct querier *q, size_t i, int64_t ms,
			const struct dump_folder *folder, struct err *err)
{
	struct profile p = { 0 };
	int rc = querier_fetch(q, i, ms, &p, err);

	if (rc == ERR_CORRUPT || rc == ERR_NOTFOUND || rc == ERR_IO) {
		/* Report a profile that is lost, and go on with the others. */
		console_say("%s", err->msg);
		d->failed++;
		rc = 0;
	} else if (!rc && folder->path) {
		rc = dump_write_file(d, folder, &p, err);
	} else if (!rc) {
		dump_print_line(querier_labels(q, i), &p);
	}
	profile_fini(&p);
	return rc;
}

/*
 * Dump the profiles of one series in the order of time. A folder is made only
 * for a series that has profiles in the range.
 */
static int dump_series(struct dump *d, struct querier *q, size_t i,
		       struct err *err)
{
	struct dump_folder folder = { 0 };
	struct times_view t = { 0 };
	int64_t *ms;
	int rc = querier_times(q, i, d->from, d->to, &t, err);

	if (rc || !t.count)
		return rc;
	if (*d->output)
		rc = dump_folder_make(d, querier_labels(q, i), &folder, err);
	/*
	 * The times are copied, because fetching may reuse the memory that `t`
	 * points to.
	 */
	ms = mem_dup(t.ms, t.count * sizeof(*ms));
	for (size_t k = 0; k < t.count && !rc && !ferror(stdout); k++)
		rc = dump_profile(d, q, i, ms[k], &folder, err);
	mem_free(ms);
	mem_free(folder.path);
	return rc;
}

/* Open the database and dump all series that match. */
static int dump_all(struct dump *d, const char *path, struct err *err)
{
	struct querier *q = NULL;
	struct database dir;
	int rc = database_open(&dir, path, true, err);

	if (!rc) {
		querier_open(dir.db, NULL, &q);
		rc = querier_select(q, d->selector.matchers, d->selector.count,
				    d->from, d->to, err);
	}
	/* If stdout cannot be written, main() says why. */
	for (size_t i = 0; !rc && i < querier_count(q) && !ferror(stdout); i++)
		rc = dump_series(d, q, i, err);
	if (dir.db)
		d->failed += tsdb_damage(dir.db);
	querier_close(q);
	database_close(&dir);
	return rc;
}

/* Parse a time; an empty text leaves *out as it is. */
static int dump_parse_time(const char *text, int64_t *out, struct err *err)
{
	if (!*text || str_to_i64(str_of(text), out))
		return 0;
	return time_parse(str_of(text), clock_ms(NULL), out, err);
}

/* Parse the flags and make the output folder, which may exist. */
static int dump_parse(struct dump *d, const char *selector, const char *from,
		      const char *to, struct err *err)
{
	int rc = dump_parse_time(from, &d->from, err);

	if (rc)
		return err_wrap(err, rc, "--from");
	rc = dump_parse_time(to, &d->to, err);
	if (rc)
		return err_wrap(err, rc, "--to");
	if (*selector &&
	    (rc = selector_parse(str_of(selector), &d->selector, err)))
		rc = err_wrap(err, rc, "--query");
	if (!rc && *d->output)
		rc = fs_add_dir(NULL, d->output, err);
	return rc;
}

int cmd_tsdb_dump(int argc, char **argv)
{
	struct dump d = { .output = "", .from = INT64_MIN, .to = INT64_MAX };
	const char *selector = "";
	const char *from = "";
	const char *to = "";
	const struct flag flags[] = {
		{ "query", FLAG_TEXT, &selector, NULL,
		  "Only series that match this selector." },
		{ "from", FLAG_TEXT, &from, NULL,
		  "Start of the time range: ms, RFC 3339 or now-1h." },
		{ "to", FLAG_TEXT, &to, NULL, "End of the time range." },
		{ "output", FLAG_TEXT, &d.output, NULL,
		  "Write the profiles to this folder instead, as <series>/<ms>.pb.gz." },
		{ 0 },
	};
	static const struct usage u = {
		"tsdb dump DIR [FLAGS]",
		"List the profiles of a data directory, one a line: labels, time, length, XXH3-64 and\n"
		"SHA-256, separated by tabs. The directory is not changed. Exit with 1 when something\n"
		"is damaged.",
		1, 1
	};
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	d.gzip = gzip_new();
	rc = dump_parse(&d, selector, from, to, &err);
	if (!rc)
		rc = dump_all(&d, argv[0], &err);
	gzip_free(d.gzip);
	selector_fini(&d.selector);
	if (rc)
		return cmd_fail(&err);
	return d.failed ? 1 : 0;
}
