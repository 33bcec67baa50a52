/* SPDX-License-Identifier: Apache-2.0 */
/* Uploaded files are kept, found, removed for others, and gone when their time is over. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adhoc/adhoc_receive.h"

#include "base/gzip.h"
#include "base/mem.h"
#include "base/zstd.h"
#include "tests/check.h"
#include "tests/tempdir.h"

#define DAY    86400000
#define SECOND INT64_C(1000000000)
#define NOW    INT64_C(1700000000000)

static struct tempdir dir;
static char *path;
static struct clock now;
static struct log quiet;
static struct metrics *metrics;
static struct ingest_limiter *limiter;
static struct fs fs;
static struct adhoc_store *store;
static struct arena arena;
static struct err err;

/* Which call to the system fails, counted from 1; 0: none does. */
static int fails_at;
static int calls;

static int count_call(struct fs *f UNUSED, const struct fs_call *call)
{
	/* What was synced is on disk, whatever close() says. */
	if (call->op == FS_CLOSE)
		return 0;
	return ++calls == fails_at ? EIO : 0;
}

static const struct adhoc_user somebody;

static void open_store(int64_t max_bytes)
{
	const struct adhoc_options o = {
		.dir = path,
		.max_bytes = max_bytes,
		.ttl_ms = DAY,
		.max_profile = 1 << 20,
		.limiter = limiter,
		.clock = &now,
		.clock_steady_ms = -1,
		.log = &quiet,
		.metrics = metrics,
		.fs = &fs,
	};

	cr_assert(!adhoc_store_open(&o, &store, &err), "%s", err.msg);
}

static void begin(void)
{
	dir = tempdir_make();
	path = mem_printf("%s/adhoc", dir.path);
	clock_set(&now, NOW);
	metrics = metrics_new();
	limiter = ingest_limiter_new(64 << 20, 1 << 20);
	fs = (struct fs){ .before = count_call };
	fails_at = 0;
	open_store(1 << 20);
}

static void end(void)
{
	adhoc_store_close(store);
	ingest_limiter_free(limiter);
	metrics_free(metrics);
	arena_fini(&arena);
	mem_free(path);
	tempdir_fini(&dir);
}

TestSuite(adhoc_store, .init = begin, .fini = end, .timeout = 60);

/* Uploads a file of a user. */
static int upload_as(const char *user, const char *name, struct bytes body,
		     struct adhoc_meta *m)
{
	struct ingest_share share = { .taken = 0 };
	const struct adhoc_order order = { .name = str_of(name),
					   .user = str_of(user),
					   .body = body,
					   .share = &share,
					   .deadline_ns = clock_mono_ns() +
							  60 * SECOND };
	int rc = adhoc_receive(store, &order, &arena, m, &err);

	ingest_limiter_release(&share);
	return rc;
}

static int upload(const char *name, const char *text, struct adhoc_meta *m)
{
	return upload_as("", name, bytes_of(str_of(text)), m);
}

/* Uploads folded stacks, which must be taken. Returns the id, which is in the arena. */
static const char *put(const char *name)
{
	struct adhoc_meta m;

	cr_assert(!upload(name, "main;work 5\n", &m), "%s", err.msg);
	clock_set(&now, clock_ms(&now) + 1);
	return arena_strndup(&arena, str_of(m.id));
}

static bool has(const char *id)
{
	struct adhoc_meta m;

	return !adhoc_store_find(store, str_of(id), &arena, &m, &err);
}

/* Keeps a file, and reads what is known of it then. */
static int keep(const char *id, const struct adhoc_user *who, int64_t ms,
		struct adhoc_meta *m)
{
	int rc = adhoc_store_keep(store, str_of(id), who, ms, &err);

	return rc ? rc : adhoc_store_find(store, str_of(id), &arena, m, &err);
}

/* Whether a profile of a file can be read, and has this size. */
static bool reads(const char *ref)
{
	struct limits free = { .spend = NULL };
	struct adhoc_profile p;
	int rc = adhoc_store_read(store, str_of(ref), &free, &arena, &p, &err);
	bool ok = !rc && p.raw.len == p.meta.parts[p.part].size;

	buf_fini(&p.raw);
	return ok;
}

static void again(int64_t max_bytes)
{
	adhoc_store_close(store);
	open_store(max_bytes);
}

static void add_name(void *ctx, const struct adhoc_entry *e)
{
	buf_printf(ctx, "%s ", e->name);
}

/* Expects the names of all files, the latest first. */
static void expect_names(const char *want)
{
	struct buf names = { 0 };

	adhoc_store_each(store, add_name, &names);
	cr_expect(check_str(str_from(buf_bytes(&names)), want));
	buf_fini(&names);
}

Test(adhoc_store, a_file_is_there_after_a_restart)
{
	struct adhoc_meta m;
	struct adhoc_meta found;
	const char *id;

	cr_assert(!upload("a \"b\"\n.txt", "main;x 1\nmain;y 2\n", &m));
	id = arena_strndup(&arena, str_of(m.id));
	again(1 << 20);
	cr_assert(!adhoc_store_find(store, str_of(id), &arena, &found, &err));
	cr_expect(check_str(found.name, "a \"b\"\n.txt"));
	cr_expect(check_str(found.format, "folded"));
	cr_expect(found.uploaded_ms == NOW && found.expires_ms == NOW + DAY);
	cr_expect(found.part_count == 1 && !found.is_kept);
	cr_expect(check_str(found.parts[0].name, "samples"));
	cr_expect(check_str(found.parts[0].types[0].unit, "count"));
	cr_expect(reads(id) && reads(arena_printf(&arena, "%s/0", id)));
	cr_expect(!reads(arena_printf(&arena, "%s/1", id)));
	cr_expect(strstr(err.msg, "no part \"1\""), "%s", err.msg);
	cr_expect(!reads(arena_printf(&arena, "%s/x", id)));
}

Test(adhoc_store, only_ids_become_paths)
{
	static const char *const bad[] = { "",
					   "..",
					   "../../etc/passwd-xxxxxx",
					   "/etc/passwd",
					   "AAAAAAAAAAAAAAAAAAAAA.",
					   "AAAAAAAAAAAAAAAAAAAAAA" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cr_expect(!has(bad[i]), "%s", bad[i]);
		cr_expect(err.code == ERR_NOTFOUND);
		cr_expect(adhoc_store_remove(store, str_of(bad[i]), &somebody,
					     &err) == ERR_NOTFOUND);
	}
}

Test(adhoc_store, the_format_is_told_by_the_contents)
{
	static const struct {
		const char *text;
		const char *format;
	} cases[] = {
		{ "main;work 3\n", "folded" },
		{ "sh 1 1.000000: 4 faults: 1 f (x)\n", "perf" },
		{ "goroutine profile: total 1\n1 @ 0x1\n#\t0x1\tmain.f\n",
		  "pprof" },
	};
	struct gzip *gzip = gzip_new();
	struct zstd *zstd = zstd_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes plain = bytes_of(str_of(cases[i].text));
		struct buf packed[2] = { { 0 }, { 0 } };
		struct adhoc_meta m;

		gzip_compress(gzip, 1, plain, &packed[0]);
		zstd_compress(zstd, 3, &plain, 1, &packed[1]);
		cr_expect(!upload_as("", "", plain, &m), "%s", err.msg);
		cr_expect(check_str(m.format, cases[i].format));
		cr_expect(check_str(m.name, cases[i].format), "no name");
		for (size_t k = 0; k < 2; k++) {
			cr_expect(
				!upload_as("", "x", buf_bytes(&packed[k]), &m),
				"%s", err.msg);
			cr_expect(check_str(m.format, cases[i].format));
			cr_expect(reads(m.id), "%s", err.msg);
			buf_fini(&packed[k]);
		}
	}
	gzip_free(gzip);
	zstd_free(zstd);
}

Test(adhoc_store, what_is_no_profile_is_refused_and_leaves_nothing)
{
	struct adhoc_meta m;

	cr_expect(upload("x", "", &m) == ERR_INVALID);
	cr_expect(upload("x", "hello world\n", &m) == ERR_INVALID);
	cr_expect(strstr(err.msg, "pprof, JFR, perf script"), "%s", err.msg);
	cr_expect(upload("x", "PERFILE2 and so on", &m) == ERR_INVALID);
	cr_expect(strstr(err.msg, "perf script"), "%s", err.msg);
	cr_expect(upload_as("", "x",
			    (struct bytes){ (const uint8_t *)"FLR\0", 4 },
			    &m) == ERR_INVALID);
	expect_names("");
	cr_expect(access(path, F_OK), "not even the folder");
}

Test(adhoc_store, the_least_used_file_makes_room)
{
	const char *id[4];

	again(3 * 8192);
	id[0] = put("a");
	id[1] = put("b");
	id[2] = put("c");
	expect_names("c b a ");
	cr_expect(has(id[0]), "a is used");
	id[3] = put("d");
	expect_names("d c a ");
	cr_expect(!has(id[1]) && reads(id[0]) && reads(id[3]));
	/* Those that are kept stay, whatever is used. */
	for (int i = 0; i < 4; i += i ? 1 : 2) {
		struct adhoc_meta m;

		cr_expect(!keep(id[i], &somebody, DAY, &m));
		cr_expect(m.is_kept && m.expires_ms >= clock_ms(&now) + DAY);
	}
	{
		struct adhoc_meta m;

		cr_expect(upload("e", "main 1\n", &m) == ERR_NOSPACE);
		cr_expect(strstr(err.msg, "--adhoc.size"), "%s", err.msg);
	}
	expect_names("d c a ");
	again(8192);
	expect_names("d c a ");
	{
		struct adhoc_meta m;

		cr_expect(upload("e", "main 1\n", &m) == ERR_NOSPACE);
	}
}

Test(adhoc_store, a_file_that_never_fits_removes_no_other)
{
	struct adhoc_meta m;
	struct buf text = { 0 };
	const char *id;

	again(16384);
	id = put("a");
	for (int i = 0; i < 20000; i++)
		buf_printf(&text, "f%d;g%d 1\n", i * 7919, i * 104729);
	cr_expect(upload("b", buf_cstr(&text), &m) == ERR_TOOBIG, "%s",
		  err.msg);
	cr_expect(has(id));
	buf_fini(&text);
}

/* Waits until the folder of a file is removed. */
static void await_removal(const char *id)
{
	const char *folder = arena_printf(&arena, "%s/%s", path, id);

	for (int i = 0; i < 30000 && !access(folder, F_OK); i++)
		usleep(1000);
	cr_expect(access(folder, F_OK), "it is still there");
}

Test(adhoc_store, a_file_goes_when_its_time_is_over)
{
	const char *first = put("first");
	const char *id = put("a");
	struct adhoc_meta m;

	cr_expect(!keep(put("b"), &somebody, 3 * DAY, &m));
	/* The first one is over, and the next one has its last moment. */
	clock_set(&now, NOW + DAY + 1);
	again(1 << 20);
	await_removal(first);
	cr_expect(has(id) && reads(id));
	clock_set(&now, NOW + DAY + 2);
	cr_expect(!has(id),
		  "it is not shown any more, even before it is removed");
	expect_names("b ");
	again(1 << 20);
	await_removal(id);
	expect_names("b ");
	again(1 << 20);
	expect_names("b ");
}

Test(adhoc_store, what_is_kept_and_over_makes_room)
{
	const char *id;
	struct adhoc_meta m;

	again(8192);
	id = put("a");
	cr_expect(!keep(id, &somebody, DAY, &m));
	/* A clock that jumps by more than a day would be in doubt. */
	clock_set(&now, NOW + DAY - 2);
	cr_expect(upload("b", "main 1\n", &m) == ERR_NOSPACE);
	clock_set(&now, NOW + DAY + 2);
	cr_expect(adhoc_store_remove(store, str_of(id), &somebody, &err) ==
			  ERR_NOTFOUND,
		  "it is not shown, so nobody removes it");
	cr_expect(!upload("b", "main 1\n", &m), "%s", err.msg);
	expect_names("b ");
}

/* Expects a time in what is on disk, when the clock is right again. */
static void expect_expiry(const char *id, int64_t want)
{
	struct adhoc_meta m;

	cr_expect(!adhoc_store_find(store, str_of(id), &arena, &m, &err));
	cr_expect(m.expires_ms <= want, "%lld is after %lld",
		  (long long)m.expires_ms, (long long)want);
}

Test(adhoc_store, a_time_that_is_too_far_is_shortened_for_good)
{
	const char *id;

	clock_set(&now, NOW + 1000 * (int64_t)DAY);
	id = put("a");
	clock_set(&now, NOW);
	again(1 << 20);
	(void)put("b"); /* looks for what has expired */
	expect_expiry(id, NOW + ADHOC_KEEP_MAX_MS + 1);
	clock_set(&now, NOW + 5 * DAY);
	again(1 << 20);
	expect_expiry(id, NOW + ADHOC_KEEP_MAX_MS + 1);
}

/* Makes a copy of a file, with another id. */
static void copy(const char *from, struct adhoc_meta *m)
{
	const char *folder = arena_printf(&arena, "%s/%s", path, m->id);
	struct buf text = { 0 };
	struct json j = json_init(&text);
	FILE *f;

	cr_assert(!mkdir(folder, 0700) &&
		  !link(arena_printf(&arena, "%s/%s/0.pb.gz", path, from),
			arena_printf(&arena, "%s/0.pb.gz", folder)));
	adhoc_meta_write(m, &j);
	f = fopen(arena_printf(&arena, "%s/meta.json", folder), "w");
	cr_assert(f && fwrite(text.ptr, 1, text.len, f) == text.len &&
		  !fclose(f));
	buf_fini(&text);
}

static void add_one(void *ctx, const struct adhoc_entry *e UNUSED)
{
	++*(int *)ctx;
}

Test(adhoc_store, a_start_removes_no_file_of_the_largest_number)
{
	const char *first = put("a");
	struct adhoc_meta m;
	int files = 0;

	cr_assert(!adhoc_store_find(store, str_of(first), &arena, &m, &err));
	for (int i = 1; i < 4096; i++) {
		snprintf(m.id, sizeof(m.id), "AAAAAAAAAAAAAAAAA%04dA", i);
		copy(first, &m);
	}
	again(1 << 30);
	again(1 << 30);
	adhoc_store_each(store, add_one, &files);
	cr_expect(files == 4096, "%d", files);
}

Test(adhoc_store, keeping_a_file_never_shortens_its_time)
{
	const char *id = put("a");
	struct adhoc_meta m;

	cr_expect(!keep(id, &somebody, 1, &m));
	cr_expect(m.expires_ms == NOW + DAY && m.is_kept);
}

Test(adhoc_store, an_upload_without_room_removes_no_file)
{
	const char *kept = put("kept");
	const char *other = put("other");
	struct buf text = { 0 };
	struct adhoc_meta m;

	cr_expect(!keep(kept, &somebody, DAY, &m));
	again(28672);
	/* What does not get smaller. */
	for (uint32_t i = 0, x = 1; i < 4500; i++) {
		x = x * 1664525 + 1013904223;
		buf_printf(&text, "%08x%s", x, i % 12 == 11 ? " 1\n" : "");
	}
	cr_expect(upload("b", buf_cstr(&text), &m) == ERR_NOSPACE, "%s",
		  err.msg);
	cr_expect(has(kept) && has(other));
	cr_expect(
		metrics_counter(metrics, "everprof_adhoc_removed_total", "",
				&(struct metric_labels){ .name = { "reason" },
							 .value = { "size" } })
			->value == 0);
	buf_fini(&text);
}

Test(adhoc_store, a_smaller_limit_holds_from_the_start)
{
	(void)put("a");
	(void)put("b");
	(void)put("c");
	again(2 * 8192);
	expect_names("c b ");
}

/* Writes a field of a message. */
static void add_field(struct buf *out, uint8_t number, struct str text)
{
	buf_byte(out, (uint8_t)(number << 3 | 2));
	buf_byte(out, (uint8_t)(text.len & 127) | 128);
	buf_byte(out, (uint8_t)(text.len >> 7 & 127) | 128);
	buf_byte(out, (uint8_t)(text.len >> 14));
	buf_add(out, text.ptr, text.len);
}

/* Writes a profile with one sample type. */
static void write_profile(struct buf *out, struct str type)
{
	static const char value[] = { 0x08, 1 };

	add_field(out, 1, (struct str){ value, 2 });
	add_field(out, 6, str_of(""));
	add_field(out, 6, type);
}

Test(adhoc_store, any_name_of_a_type_can_be_read_again)
{
	static const char zero[] = "c\0pu\x01\xff";
	struct buf body = { 0 };
	char *large = mem_alloc(ADHOC_TEXTS_MAX + 1);
	struct adhoc_meta m;
	struct adhoc_meta found;

	write_profile(&body, (struct str){ zero, sizeof(zero) - 1 });
	cr_expect(!upload_as("", "x", buf_bytes(&body), &m), "%s", err.msg);
	again(1 << 20);
	cr_expect(!adhoc_store_find(store, str_of(m.id), &arena, &found, &err),
		  "%s", err.msg);
	cr_expect(found.parts[0].types[0].type.len > 5);
	/* A meta.json of control characters is as large as it can be. */
	memset(large, 1, ADHOC_TEXTS_MAX + 1);
	for (size_t len = ADHOC_TEXTS_MAX - 100; len <= ADHOC_TEXTS_MAX;
	     len += 100) {
		buf_reset(&body);
		write_profile(&body, (struct str){ large, len });
		if (len == ADHOC_TEXTS_MAX) {
			cr_expect(upload_as("", "x", buf_bytes(&body), &m) ==
				  ERR_TOOBIG);
			continue;
		}
		cr_expect(!upload_as("", "x", buf_bytes(&body), &m), "%s",
			  err.msg);
		cr_expect(!adhoc_store_find(store, str_of(m.id), &arena, &found,
					    &err),
			  "%s", err.msg);
	}
	buf_fini(&body);
	mem_free(large);
}

/* A gzip stream may have anything before its contents. */
Test(adhoc_store, a_stream_with_long_headers_can_be_read_again)
{
	struct gzip *gzip = gzip_new();
	struct buf raw = { 0 };
	struct buf body = { 0 };
	char *note = mem_zalloc(60000, 1);
	struct adhoc_meta m;

	write_profile(&raw, str_of("cpu"));
	gzip_compress_noted(gzip, 1, buf_bytes(&raw),
			    (struct bytes){ (uint8_t *)note, 60000 }, &body);
	cr_expect(!upload_as("", "x", buf_bytes(&body), &m), "%s", err.msg);
	cr_expect(reads(m.id), "%s", err.msg);
	buf_fini(&raw);
	buf_fini(&body);
	mem_free(note);
	gzip_free(gzip);
}

Test(adhoc_store, only_its_user_changes_a_file)
{
	const struct adhoc_user alice = { .name = str_of("alice") };
	const struct adhoc_user bob = { .name = str_of("bob") };
	const struct adhoc_user admin = { .name = str_of("carol"),
					  .may_all = true };
	struct bytes text = bytes_of(str_of("main 1\n"));
	struct adhoc_meta m;
	struct adhoc_meta changed;

	cr_assert(!upload_as("alice", "a", text, &m));
	cr_expect(adhoc_store_remove(store, str_of(m.id), &bob, &err) ==
		  ERR_DENIED);
	cr_expect(keep(m.id, &bob, DAY, &changed) == ERR_DENIED);
	again(1 << 20);
	cr_expect(adhoc_store_remove(store, str_of(m.id), &bob, &err) ==
		  ERR_DENIED);
	cr_expect(!keep(m.id, &admin, DAY, &changed));
	cr_expect(check_str(changed.user, "alice"));
	cr_expect(!adhoc_store_remove(store, str_of(m.id), &alice, &err));
	cr_expect(!has(m.id));
	expect_names("");
}

Test(adhoc_store, damage_is_told_and_left_alone)
{
	const char *id = put("a");
	const char *other = put("b");
	char *meta = mem_printf("%s/%s/meta.json", path, id);
	char *part = mem_printf("%s/%s/0.pb.gz", path, other);

	cr_assert(!truncate(part, 20));
	cr_expect(!reads(other));
	cr_expect(err.code == ERR_CORRUPT && strstr(err.msg, "0.pb.gz"), "%s",
		  err.msg);
	cr_assert(!truncate(meta, 10));
	cr_expect(!has(id) && err.code == ERR_CORRUPT, "%s", err.msg);
	again(1 << 20);
	expect_names("b ");
	cr_expect(!access(meta, F_OK));
	mem_free(meta);
	mem_free(part);
}

/* Whether the folder has nothing but whole files. */
static bool is_tidy(void)
{
	struct name_list names = { 0 };
	bool tidy = true;

	if (fs_list(NULL, path, &names, NULL))
		return true;
	for (size_t i = 0; i < names.count; i++)
		tidy = tidy && strncmp(names.names[i], ADHOC_TEMPORARY,
				       strlen(ADHOC_TEMPORARY)) != 0;
	name_list_fini(&names);
	return tidy;
}

Test(adhoc_store, each_error_of_the_disk_is_told_and_loses_nothing)
{
	const char *first = put("first");
	bool done = false;
	int n = 0;

	while (!done) {
		struct adhoc_meta m;
		int rc;

		calls = 0;
		fails_at = ++n;
		rc = upload("next", "main;work 5\n", &m);
		done = calls < fails_at;
		fails_at = 0;
		cr_expect(rc == (done ? 0 : ERR_IO), "%d: %d, %s", n, rc,
			  err.msg);
		cr_expect(reads(first), "%d: %s", n, err.msg);
		again(1 << 20);
		cr_expect(is_tidy(), "%d", n);
		cr_expect(reads(first), "%d: %s", n, err.msg);
	}
	cr_expect(n > 8, "%d calls could fail", n);
}

Test(adhoc_store, a_file_that_cannot_be_removed_stays_in_the_list)
{
	const char *id = put("a");
	bool done = false;

	for (int n = 1; !done; n++) {
		int rc;

		calls = 0;
		fails_at = n;
		rc = adhoc_store_remove(store, str_of(id), &somebody, &err);
		fails_at = 0;
		done = !rc;
		cr_expect(done || (rc == ERR_IO && reads(id)), "%d: %s", n,
			  err.msg);
	}
	expect_names("");
	again(1 << 20);
	expect_names("");
	cr_expect(is_tidy());
}

Test(adhoc_store, what_a_link_leads_to_is_not_removed)
{
	char *foreign = mem_printf("%s/foreign", dir.path);
	char *file = mem_printf("%s/file", foreign);
	const char *id = put("a");

	cr_assert(!mkdir(foreign, 0700) && !mkdir(file, 0700));
	cr_assert(!symlink(foreign, arena_printf(&arena, "%s/tmp-x", path)));
	cr_assert(!rename(arena_printf(&arena, "%s/%s", path, id),
			  arena_printf(&arena, "%s/moved", dir.path)));
	cr_assert(!symlink(foreign, arena_printf(&arena, "%s/%s", path, id)));
	cr_expect(!adhoc_store_remove(store, str_of(id), &somebody, &err));
	again(1 << 20);
	cr_expect(!access(file, F_OK));
	cr_expect(is_tidy());
	mem_free(foreign);
	mem_free(file);
}
