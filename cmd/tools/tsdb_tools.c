/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof tsdb list, stats, verify, repair, confirm-clock, recode and
 * snapshot: inspecting and maintaining a data directory. list, stats and verify
 * only read, so a server may be using the directory.
 */
#include <inttypes.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/cli/database.h"
#include "pprof/columns/columns.h"
#include "tsdb/maintain/snapshot.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/query/querier.h"
#include "tsdb/tools/inspect.h"
#include "tsdb/tools/repair.h"
#include "tsdb/tools/verify.h"

/* everprof tsdb list */

/*
 * Print a line for a block or head block, under the titles that cmd_tsdb_list()
 * prints.
 */
static void print_part(void *ctx UNUSED, const struct tsdb_part *p)
{
	char from[40];
	char to[40];
	char span[32];

	time_format(p->min_ms, from);
	time_format(p->max_ms, to);
	duration_format(p->max_ms - p->min_ms, span);
	printf("%-26s  %-5s  %s  %s  %8s  %11" PRIu64 "  %9" PRIu64
	       "  %9" PRIu64 "  %5u  %13" PRIu64 "\n",
	       p->name, p->is_block ? "block" : "range", from, to, span,
	       p->samples, p->series, p->groups, p->level, p->bytes);
}

int cmd_tsdb_list(int argc, char **argv)
{
	static const struct usage u = {
		"tsdb list DIR",
		"List the blocks and the head blocks (KIND range) of a data directory. The directory is\n"
		"not changed.",
		1, 1
	};
	struct database d;
	struct err err;
	int code = cmd_begin(&u, cmd_no_flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	/* Read-only: a running server may have the directory open. */
	rc = database_open(&d, argv[0], true, &err);
	if (!rc) {
		printf("%-26s  %-5s  %-24s  %-24s  %8s  %11s  %9s  %9s  %5s  %13s\n",
		       "NAME", "KIND", "FROM", "TO", "SPAN", "PROFILES",
		       "SERIES", "GROUPS", "LEVEL", "BYTES");
		tsdb_each_part(d.db, print_part, NULL);
	}
	database_close(&d);
	return rc ? cmd_fail(&err) : 0;
}

/* everprof tsdb stats */

/* Print the totals of the database. */
static void print_stats(const struct tsdb_stats *s)
{
	printf("blocks                      %" PRIu64 "\n", s->blocks);
	printf("profiles in blocks          %" PRIu64 "\n", s->block_samples);
	printf("head blocks                 %" PRIu64 "\n", s->heads);
	printf("series in head blocks       %" PRIu64 "\n", s->series);
	printf("profiles only in WAL        %" PRIu64 "\n", s->unflushed);
	printf("bytes, blocks               %" PRIu64 "\n", s->block_bytes);
	printf("bytes, head blocks' values  %" PRIu64 "\n", s->values_bytes);
	printf("bytes, head blocks' logs    %" PRIu64 "\n", s->groups_bytes);
	printf("bytes, WAL                  %" PRIu64 "\n", s->wal_bytes);
}

/* Print a row of the table of bytes for one label value or codec. */
static void tsdb_tools_print_label(void *ctx UNUSED,
				   const struct tsdb_label_stats *s)
{
	console_line(stdout,
		     "%12" PRIu64 "  %14" PRIu64 "  %14" PRIu64 "  %12" PRIu64
		     "  %s",
		     s->profiles, s->raw_bytes, s->stored_bytes, s->head_bytes,
		     s->value);
}

/*
 * Print a row of the table of bytes for one section (kind of data) of the
 * columns codec.
 */
static void print_section(void *ctx UNUSED, const struct tsdb_label_stats *s)
{
	printf("%14" PRIu64 "  %s\n", s->stored_bytes, s->value);
}

/* Print the column titles of a table of bytes. */
static void print_columns(const char *name)
{
	printf("\n%12s  %14s  %14s  %12s  %s\n", "PROFILES", "RAW BYTES",
	       "STORED BYTES", "HEAD BYTES", name);
}

/*
 * Print the disk usage by label, by codec, and by section of the columns codec.
 */
static int print_tables(struct tsdb *db, const char *label, struct err *err)
{
	int rc;

	print_columns(label);
	rc = tsdb_label_stats(db, label, tsdb_tools_print_label, NULL, err);
	if (rc)
		return rc;
	print_columns("CODEC");
	rc = tsdb_codec_stats(db, tsdb_tools_print_label, NULL, err);
	if (rc)
		return rc;
	printf("\n%14s  %s\n", "STORED BYTES", "SECTION");
	return tsdb_section_stats(db, print_section, NULL, err);
}

int cmd_tsdb_stats(int argc, char **argv)
{
	const char *label = "__name__";
	const struct flag flags[] = {
		{ "by", FLAG_TEXT, &label, "__name__",
		  "Show disk usage for each value of this label." },
		{ 0 },
	};
	static const struct usage u = {
		"tsdb stats DIR [FLAGS]",
		"Print the contents and the disk usage of a data directory: by the values of a label, by\n"
		"codec (zstd, or columns with a table for each target), and by section of the columns\n"
		"codec. The directory is not changed.",
		1, 1
	};
	struct database d;
	struct tsdb_stats s;
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	rc = database_open(&d, argv[0], true, &err);
	if (!rc) {
		tsdb_stats(d.db, &s);
		print_stats(&s);
	}
	if (!rc && (s.blocks || s.values_bytes))
		rc = print_tables(d.db, label, &err);
	/* Nothing has been flushed yet: the tables would be empty. */
	else if (!rc)
		printf("\n"
		       "Nothing has been flushed from the WAL, so there are no tables of disk usage yet.\n"
		       "Profiles are flushed to head blocks as the WAL grows, and head blocks become blocks\n"
		       "after two hours.\n");
	database_close(&d);
	return rc ? cmd_fail(&err) : 0;
}

/* everprof tsdb verify */

/* Print a line for a problem that verification has found. */
static void print_problem(void *ctx UNUSED, const char *path, const char *what)
{
	console_line(stdout, "%s: %s", path, what);
}

/*
 * Read the files without opening the database, so a server may be using them.
 */
int cmd_tsdb_verify(int argc, char **argv)
{
	static const struct usage u = {
		"tsdb verify DIR",
		"Read every byte of a data directory and report all damage. The directory is not\n"
		"changed. Exit with 1 when something is damaged.",
		1, 1
	};
	struct log log = { .fd = STDERR_FILENO, .level = LOG_WARN };
	struct verify v = { .found = print_problem,
			    .log = &log,
			    .columns = &codec_columns };
	struct err err;
	int code = cmd_begin(&u, cmd_no_flags, &argc, argv);

	if (code >= 0)
		return code;
	if (tsdb_verify(argv[0], &v, &err))
		return cmd_fail(&err);
	printf("%" PRIu64 " profiles in %" PRIu64 " blocks, %" PRIu64
	       " head blocks and %" PRIu64 " WAL segments, %" PRIu64
	       " bytes: %" PRIu64 " problems\n",
	       v.profiles, v.blocks, v.heads, v.segments, v.bytes, v.problems);
	return v.problems ? 1 : 0;
}

/* everprof tsdb repair */

/*
 * The counts are printed after an error too: what has been repaired stays
 * repaired.
 */
int cmd_tsdb_repair(int argc, char **argv)
{
	static const struct usage u = {
		"tsdb repair DIR",
		"Repair a data directory that no server is using: rewrite damaged blocks with all\n"
		"profiles that are intact, cut off torn ends of logs, and recover profiles from the WAL\n"
		"that their head block or block has lost. Report each profile that is lost. Blocks and\n"
		"head blocks that cannot be read are renamed to *.damaged or *.unread. At the end, read\n"
		"everything again and report what is still damaged. Exit with 1 when something was lost\n"
		"or set aside, or is still damaged.",
		1, 1
	};
	struct database d;
	struct tsdb_repair done = { 0 };
	/* What is still damaged after the repair is printed. */
	struct verify left = { .found = print_problem,
			       .columns = &codec_columns };
	uint64_t damage = 0;
	struct err err;
	int code = cmd_begin(&u, cmd_no_flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	rc = database_open(&d, argv[0], false, &err);
	if (!rc)
		rc = tsdb_repair(d.db, &done, &err);
	/*
	 * Printed whenever the database could be opened, even after an error.
	 */
	if (d.db) {
		damage = tsdb_damage(d.db);
		printf("%" PRIu64 " blocks rewritten, %" PRIu64
		       " profiles lost, %" PRIu64
		       " profiles recovered from the WAL, %" PRIu64
		       " blocks and head blocks set aside or unreadable\n",
		       done.rewritten, done.lost, done.recovered,
		       done.set_aside);
	}
	database_close(&d);
	if (rc)
		return cmd_fail(&err);
	if (tsdb_verify(argv[0], &left, &err))
		return cmd_fail(&err);
	return done.lost || done.set_aside || damage || left.problems ? 1 : 0;
}

/* everprof tsdb confirm-clock */

/* Make retention follow the system clock again (docs/decisions.md, 86). */
int cmd_tsdb_confirm_clock(int argc, char **argv)
{
	static const struct usage u = {
		"tsdb confirm-clock DIR",
		"Confirm that the system clock is right. After a jump of the "
		"clock by more than a day,\nretention by time continues on the "
		"expected time, or on the system clock if that is\nearlier; "
		"after this command it follows the system clock again. Stop "
		"the server first;\non a running server, call POST "
		"/api/v1/admin/tsdb/confirm_clock.",
		1, 1
	};
	struct database d;
	char now[40];
	struct err err;
	int code = cmd_begin(&u, cmd_no_flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	rc = database_open(&d, argv[0], false, &err);
	if (!rc)
		rc = tsdb_confirm_clock(d.db, NULL, &err);
	database_close(&d);
	if (rc)
		return cmd_fail(&err);
	time_format(clock_ms(NULL), now);
	printf("retention by time follows the system clock again: %s\n", now);
	return 0;
}

/* everprof tsdb recode */

/*
 * Print a line for each block, because recoding a large directory takes long.
 */
static void print_recoded(void *ctx, const char *block, size_t i, size_t count)
{
	struct tsdb *db = ctx;
	struct tsdb_stats s;

	tsdb_stats(db, &s);
	printf("%zu/%zu  %s  %" PRIu64 " bytes in all blocks\n", i, count,
	       block, s.block_bytes);
	fflush(stdout);
}

int cmd_tsdb_recode(int argc, char **argv)
{
	static const struct usage u = {
		"tsdb recode DIR",
		"Rewrite the blocks of an older version of everprof with the columns codec, which new\n"
		"blocks use anyway. An interrupted run can be continued by another. No server may be\n"
		"using the directory, and the disk needs free space for the largest block.",
		1, 1
	};
	struct database d;
	size_t recoded = 0;
	struct err err;
	int code = cmd_begin(&u, cmd_no_flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	rc = database_open(&d, argv[0], false, &err);
	if (!rc)
		rc = tsdb_recode(d.db, print_recoded, d.db, &recoded, &err);
	database_close(&d);
	if (rc)
		return cmd_fail(&err);
	printf("%zu blocks rewritten\n", recoded);
	return 0;
}

/* everprof tsdb snapshot */

/*
 * Fail with ERR_BUSY while a server is running, which holds the lock of the
 * directory. A server can make snapshots itself, through its API.
 */
int cmd_tsdb_snapshot(int argc, char **argv)
{
	const char *name = "";
	bool skip_head = false;
	const struct flag flags[] = {
		{ "name", FLAG_TEXT, &name, NULL,
		  "Name of the snapshot (default: the current time)." },
		{ "skip-head", FLAG_BOOL, &skip_head, "no",
		  "Include blocks only, no head blocks." },
		{ 0 },
	};
	static const struct usage u = {
		"tsdb snapshot DIR [FLAGS]",
		"Create snapshots/NAME in a data directory: a complete data directory that shares the\n"
		"files of blocks by hard links. No server may be using the directory; on a running\n"
		"server, call POST /api/v1/admin/tsdb/snapshot.",
		1, 1
	};
	struct database d;
	char now[40];
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	time_format(clock_ms(NULL), now);
	if (!*name)
		name = now;
	rc = database_open(&d, argv[0], false, &err);
	if (!rc)
		rc = tsdb_snapshot(d.db, name, !skip_head, NULL, &err);
	database_close(&d);
	if (rc)
		cmd_fail(&err);
	if (rc == ERR_BUSY)
		fprintf(stderr,
			"to create a snapshot on a running server, call POST /api/v1/admin/tsdb/snapshot\n");
	if (rc)
		return 1;
	printf("%s/snapshots/%s\n", argv[0], name);
	return 0;
}
