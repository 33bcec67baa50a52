/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/symbolizer.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "symbols/file/elf_file.h"
#include "symbols/names/debug_file.h"
#include "symbols/names/name_finder.h"
#include "symbols/names/public_opener.h"
#include "symbols/names/regular_file.h"

enum {
	/*
	 * A half of the cache of names is full if it has more bytes than this
	 * (name_cache.h).
	 */
	SYMBOLIZER_CACHE_MAX = 8 << 20,
	/* Largest time that the helper may take for one file and its debug file. */
	SYMBOLIZER_TIMEOUT_MS = 10000,
};

/*
 * The cache is emptied every 5 minutes, because debug files may have been
 * installed meanwhile.
 */
#define SYMBOLIZER_FORGET_NS (300 * INT64_C(1000000000))

struct symbolizer {
	/*
	 * Opens files that everyone may read; NULL: this process opens all
	 * files itself.
	 */
	struct file_helper *opener;
	struct mutex mu;
	pthread_cond_t idle; /* signalled when busy becomes false */
	bool busy;           /* guarded by mu: a thread uses the finder */
	struct name_finder finder;
	int64_t began_ns; /* when the cache was last emptied */
};

struct symbolizer *symbolizer_new(char *const *helper_argv,
				  char *const *opener_argv,
				  const char *debug_dir)
{
	struct symbolizer *s = mem_new(struct symbolizer);

	if (opener_argv)
		s->opener = file_helper_new(opener_argv);
	mutex_init(&s->mu);
	clock_cond_init(&s->idle);
	s->finder = (struct name_finder){
		.helper = file_helper_new(helper_argv),
		.cache = { .half_max = SYMBOLIZER_CACHE_MAX },
		.debug_dir = debug_dir,
		.timeout_ms = SYMBOLIZER_TIMEOUT_MS,
		.hides_files = true,
	};
	return s;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	name_finder_fini(&s->finder);
	file_helper_close(s->opener);
	pthread_cond_destroy(&s->idle);
	mutex_destroy(&s->mu);
	mem_free(s);
}

int symbolizer_help_open(void)
{
	return public_opener_serve();
}

int symbolizer_help(void)
{
	return file_helper_serve(0, name_operations, NAME_OPERATIONS);
}

/*
 * Wait until no other thread uses the finder, and reserve the finder for this
 * thread. False: at the deadline, another thread still used the finder.
 */
static bool symbolizer_begin(struct symbolizer *s, int64_t deadline_ns)
{
	struct timespec at = clock_mono_at(deadline_ns);
	bool got;

	mutex_lock(&s->mu);
	while (s->busy && clock_mono_ns() < deadline_ns)
		(void)mutex_wait_until(&s->mu, &s->idle, &at);
	got = !s->busy;
	s->busy |= got;
	mutex_unlock(&s->mu);
	return got;
}

static void symbolizer_end(struct symbolizer *s)
{
	mutex_lock(&s->mu);
	s->busy = false;
	pthread_cond_signal(&s->idle);
	mutex_unlock(&s->mu);
}

/* Empty the cache if this was not done for 5 minutes. */
static void symbolizer_refresh(struct symbolizer *s)
{
	int64_t now = clock_mono_ns();

	if (now - s->began_ns < SYMBOLIZER_FORGET_NS)
		return;
	name_cache_fini(&s->finder.cache);
	s->began_ns = now;
}

/* Decode the digits of a build ID. False: `digits` is not a build ID. */
static bool build_id_decode(struct str digits, struct elf_build_id *out)
{
	*out = (struct elf_build_id){ .len = digits.len / 2 };
	if (digits.len % 2 || !digits.len || out->len > ELF_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < out->len; i++) {
		int high = digit_hex_value(digits.ptr[2 * i]);
		int low = digit_hex_value(digits.ptr[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out->bytes[i] = (uint8_t)(high * 16 + low);
	}
	return true;
}

/*
 * A mapped file, and the helper that opens this file and the debug files to
 * which it links. If `opener` is NULL, this process opens them.
 */
struct symbol_file {
	const char *path;
	struct file_helper *opener;
};

/*
 * The callback `open` of struct name_file: open `path`, or the mapped file if
 * `path` is NULL.
 */
static int symbol_file_open(const void *file, const char *path)
{
	const struct symbol_file *f = file;

	if (!path)
		path = f->path;
	if (*path != '/')
		return -1;
	return f->opener ? public_opener_open(f->opener, path) :
			   regular_file_open(path);
}

/*
 * Whether `address` is in the mapping that a profile gives for it; a mapping
 * with the limit 0 has all addresses. Code that the program generated while it
 * ran may be outside of the mapping.
 */
static bool mapping_has(const struct name_mapping *m, uint64_t address)
{
	return !m->limit || (address >= m->start && address < m->limit);
}

/*
 * Read the file for one query. Then end the helper, so that it keeps nothing of
 * the file in memory.
 */
static int symbolizer_ask(struct symbolizer *s, const struct name_file *f,
			  const struct unnamed_frames *u, struct arena *arena,
			  struct bytes *out, struct err *err)
{
	int rc;

	/*
	 * A helper that cannot be ended, because it waits for this file, is
	 * counted for the folder of the file (public_opener_share()).
	 */
	file_helper_set_user(s->finder.helper, public_opener_share(f->path));
	rc = name_finder_find(&s->finder, f, u, arena, out, err);
	file_helper_rest(s->finder.helper);
	return rc;
}

/* As symbolizer_find(), for the one thread that uses the finder. */
static int symbolizer_run(struct symbolizer *s, const struct symbol_query *q,
			  const struct elf_build_id *id, struct arena *arena,
			  struct bytes *out, struct err *err)
{
	struct name_file f = {
		.path = arena_strndup(arena, q->path),
		.build_id = { .ptr = id->bytes, .len = id->len },
		.mapping = &q->mapping,
		.open = symbol_file_open,
	};
	const struct symbol_file mapped = { f.path, s->opener };
	struct unnamed_frames u = { .addresses = { 0 } };
	struct bytes parts[2];
	int rc = 0;

	/*
	 * The key has the path, too: a file at another path with the same build
	 * ID may belong to another user, who must not choose the names for this
	 * path.
	 */
	parts[0] = f.build_id;
	parts[1] = bytes_of(q->path);
	f.id = name_cache_file_of(parts, ARRAY_SIZE(parts));
	f.ctx = &mapped;
	s->finder.deadline_ns = q->deadline_ns;
	s->finder.answer_max = q->answer_max;
	symbolizer_refresh(s);
	for (size_t i = 0; i < q->count; i++) {
		if (!mapping_has(&q->mapping, q->addresses[i]) ||
		    name_finder_cached(&s->finder, &f, q->addresses[i], arena,
				       &out[i]))
			continue;
		*vec_add(&u.places) = (uint32_t)i;
		*vec_add(&u.addresses) = q->addresses[i];
	}
	if (u.places.count)
		rc = symbolizer_ask(s, &f, &u, arena, out, err);
	unnamed_frames_fini(&u);
	return rc;
}

int symbolizer_find(struct symbolizer *s, const struct symbol_query *q,
		    struct arena *arena, struct bytes *out, struct err *err)
{
	struct elf_build_id id;
	int rc;

	/* Without a build ID, any file could be at the path. */
	if (!build_id_decode(q->build_id, &id))
		return 0;
	if (!symbolizer_begin(s, q->deadline_ns))
		return err_set(
			err, ERR_TIMEOUT,
			"another query is reading files, and waiting for it took too long; repeat the query");
	rc = symbolizer_run(s, q, &id, arena, out, err);
	symbolizer_end(s);
	return rc;
}
