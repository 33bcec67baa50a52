/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/name_finder.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "symbols/names/debug_file.h"
#include "symbols/names/name_answer.h"
#include "symbols/names/perf_map.h"
#include "symbols/names/regular_file.h"

file_operation *const name_operations[NAME_OPERATIONS] = {
	[NAME_ELF_OPERATION] = elf_names_read,
	[NAME_PERF_OPERATION] = perf_map_read,
	[NAME_CRC_OPERATION] = file_crc_read,
};

enum {
	/*
	 * Largest size in bytes of the head of an answer about an ELF file
	 * (struct elf_names_head). The names may take the rest of answer_max.
	 */
	NAME_HEAD_MAX = 8 << 10,
};

/* How long a file is not read again after a failure (struct name_failure). */
#define NAME_FAILURE_NS (10 * INT64_C(1000000000))

/* A question for names, and where the answer goes. */
struct name_query {
	struct name_finder *finder;
	const struct name_file *file; /* NULL: a perf map */
	const struct unnamed_frames *unnamed;
	struct arena *arena;
	struct bytes *out;
	int64_t end_ns; /* deadline for the file, in ns of clock_mono_ns() */
	bool asked;     /* the file or a debug file of it could be opened */
	/*
	 * a file with the wanted build ID was read since name_query_path() or
	 * name_query_linked_file() set this member to false
	 */
	bool is_wanted;
	/* the file being read replaces a missing one, see name_query_path() */
	bool is_stand_in;
	/*
	 * The first failure that name_query_fail() has noted; code 0: none.
	 * After a failure, frames may lack names that the file has.
	 */
	struct err failure;
	/* The file's link to its debug file, in the arena; empty: none. */
	struct str debug_link;
	uint32_t debug_crc;
};

void unnamed_frames_fini(struct unnamed_frames *u)
{
	vec_fini(&u->addresses);
	vec_fini(&u->places);
}

/*
 * Return the cache key of `address`. In a mapping, the key has the distance
 * from the beginning of the mapping. So the key also needs what determines the
 * bias (elf_file_bias()): where the mapping begins in the file and, for debug
 * files, the size of the mapping.
 */
static struct name_cache_key name_file_key(const struct name_file *f,
					   uint64_t address)
{
	const struct name_mapping *m = f->mapping;

	if (!m || !m->limit)
		return (struct name_cache_key){ .file = f->id,
						.address = address };
	return (struct name_cache_key){ .file = f->id,
					.offset = m->offset,
					.size = m->limit - m->start,
					.address = address - m->start };
}

bool name_finder_cached(struct name_finder *n, const struct name_file *f,
			uint64_t address, struct arena *arena,
			struct bytes *out)
{
	const struct name_cache_key key = name_file_key(f, address);

	return name_cache_find(&n->cache, &key, arena, out);
}

/*
 * Read the head of an answer about an ELF file. False: the head is malformed,
 * or the file does not have the wanted build ID.
 */
static bool name_query_head(struct name_query *q, struct dec *d)
{
	struct elf_names_head h = elf_names_head(d);

	if (d->bad ||
	    (q->file->build_id.len && !bytes_eq(h.build_id, q->file->build_id)))
		return false;
	q->is_wanted = true;
	q->debug_link = arena_str(q->arena, h.debug_link);
	q->debug_crc = h.debug_crc;
	return true;
}

/*
 * Name at most `count` frames of q->unnamed, beginning with frame `first`, from
 * an answer of the helper. Returns the number of frames that are done, with or
 * without a name; 0: the answer is malformed, or is not about the wanted file.
 */
static size_t name_query_take(struct name_query *q, struct bytes answer,
			      size_t first, size_t count)
{
	struct dec d = dec_init(answer);
	size_t i = 0;

	if (q->is_stand_in || (q->file && !name_query_head(q, &d)))
		return 0;
	for (; i < count && dec_left(&d); i++) {
		const uint8_t *begin = d.pos;
		size_t functions = name_answer_next(&d);
		size_t len;

		for (size_t k = 0; k < functions && !d.bad; k++)
			(void)name_answer_frame(&d);
		if (d.bad)
			return 0;
		len = (size_t)(d.pos - begin);
		if (functions)
			q->out[q->unnamed->places.v[first + i]] = arena_bytes(
				q->arena,
				(struct bytes){ .ptr = begin, .len = len });
	}
	if (dec_left(&d))
		return 0;
	/*
	 * If the answer about an ELF file does not cover even one address, the
	 * names of the first address alone were too large. Then skip this
	 * address.
	 */
	return i || !q->file ? i : 1;
}

/*
 * Return the time in ms that a call of the helper may take; 0: no time is left.
 */
static unsigned name_query_left_ms(const struct name_query *q)
{
	int64_t left = q->end_ns - clock_mono_ns();

	/* Round up, because 0 says that the deadline has passed. */
	return left > 0 ? (unsigned)((left + 999999) / 1000000) : 0;
}

/*
 * Note `failure` in q->failure, if it is the first one, and in n->failures, so
 * that the file is not read again for some seconds. A timeout because
 * n->deadline_ns has passed is not noted in n->failures: there was less time
 * than n->timeout_ms to read the file, so the file may be readable. Failures
 * with perf maps are not noted in n->failures, either.
 */
static void name_query_fail(struct name_query *q, const struct err *failure)
{
	struct name_finder *n = q->finder;
	int64_t now = clock_mono_ns();

	if (!q->failure.code)
		q->failure = *failure;
	/* The caller decides when a perf map is read again. */
	if (!q->file || (failure->code == ERR_TIMEOUT && n->deadline_ns &&
			 now >= n->deadline_ns))
		return;
	n->failures[n->next_failure++ % NAME_FAILURES] =
		(struct name_failure){ .file = q->file->id.digest[0],
				       .until_ns = now + NAME_FAILURE_NS };
}

/* Let the helper run an operation on the file of `fd`, which is taken over. */
static int name_query_call(struct name_query *q, uint32_t operation, int fd,
			   struct bytes argument, struct buf *answer)
{
	struct name_finder *n = q->finder;
	unsigned left_ms = name_query_left_ms(q);
	struct err err;
	int rc;

	if (!left_ms) {
		close(fd);
		rc = err_set(
			&err, ERR_TIMEOUT,
			"there was no time left to read the file: repeat the query later");
	} else {
		rc = file_helper_call(n->helper, operation, fd, argument,
				      left_ms, answer, &err);
	}
	/*
	 * After ERR_AGAIN, the file was not read, but file_helper_failed() is
	 * false if the helper still runs.
	 */
	if (rc &&
	    (!left_ms || rc == ERR_AGAIN || file_helper_failed(n->helper)))
		name_query_fail(q, &err);
	return rc;
}

/* Write the question for names in an ELF file. */
static void name_query_write(const struct name_query *q,
			     const uint64_t *addresses, size_t count,
			     struct buf *out)
{
	const struct name_file *f = q->file;
	struct elf_question question = { .answer_max = q->finder->answer_max -
						       NAME_HEAD_MAX };

	if (f->mapping)
		question.mapping = *f->mapping;
	if (f->build_id.len <= ELF_BUILD_ID_MAX) {
		question.build_id.len = f->build_id.len;
		bytes_copy(question.build_id.bytes, f->build_id);
	}
	elf_names_question(&question, addresses, count, out);
}

/*
 * Ask the helper for the names of `count` frames of q->unnamed, from frame
 * `first` on, in the file of `fd`, which is taken over. Returns the number of
 * frames that are done, as name_query_take(); 0: to ask for more frames is of
 * no use.
 */
static size_t name_query_part(struct name_query *q, int fd, size_t first,
			      size_t count)
{
	const uint64_t *addresses = &q->unnamed->addresses.v[first];
	struct buf answer = buf_init(q->finder->answer_max);
	struct buf question = { 0 };
	size_t answered = 0;

	if (q->file)
		name_query_write(q, addresses, count, &question);
	(void)lseek(fd, 0, SEEK_SET);
	if (!name_query_call(
		    q, q->file ? NAME_ELF_OPERATION : NAME_PERF_OPERATION, fd,
		    q->file ? buf_bytes(&question) :
			      name_question(addresses, count),
		    &answer))
		answered = name_query_take(q, buf_bytes(&answer), first, count);
	buf_fini(&question);
	buf_fini(&answer);
	return answered;
}

/*
 * Ask the helper for the names of all frames of q->unnamed in the file of `fd`,
 * which is taken over. If `fd` is -1, do nothing.
 */
static void name_query_ask(struct name_query *q, int fd)
{
	const struct unnamed_frames *u = q->unnamed;
	size_t answered = fd >= 0;

	for (size_t at = 0; at < u->addresses.count && answered;
	     at += answered) {
		size_t count = u->addresses.count - at;
		int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		q->asked |= again >= 0 && !q->is_stand_in;
		if (count > NAME_QUESTION_MAX)
			count = NAME_QUESTION_MAX;
		answered = again >= 0 ? name_query_part(q, again, at, count) :
					0;
	}
	if (fd >= 0)
		close(fd);
}

/*
 * Open the debug file that n->debug_dir has for the build ID of the file, or
 * return -1.
 */
static int name_query_debug_file(const struct name_query *q)
{
	const struct name_finder *n = q->finder;
	struct buf path = { .max = 4096 };
	int fd = -1;

	if (debug_file_path(n->debug_dir, q->file->build_id, &path))
		fd = n->public_debug_files ?
			     regular_file_open_public(buf_cstr(&path)) :
			     regular_file_open(buf_cstr(&path));
	buf_fini(&path);
	return fd;
}

/*
 * Whether the file of `fd` is the debug file to which the link q->debug_link
 * refers: it has the CRC of the link. If the build ID of the wanted file is
 * known, return true without computing the CRC, because name_query_head() will
 * compare the build ID.
 */
static bool name_query_is_linked(struct name_query *q, int fd)
{
	struct buf answer = buf_init(sizeof(q->debug_crc));
	struct dec d;
	int again;
	bool same = false;

	if (q->file->build_id.len)
		return true;
	again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (again >= 0 && !name_query_call(q, NAME_CRC_OPERATION, again,
					   (struct bytes){ 0 }, &answer)) {
		d = dec_init(buf_bytes(&answer));
		same = dec_be32(&d) == q->debug_crc && !d.bad;
	}
	buf_fini(&answer);
	return same;
}

/*
 * Ask for names in the debug file that the file links to. A place may have the
 * debug file of another version of the program; then the next place is tried.
 */
static void name_query_linked_file(struct name_query *q)
{
	const struct str link = q->debug_link;

	q->is_wanted = false;
	for (unsigned i = 0;
	     i < DEBUG_LINK_PLACES && !q->is_wanted && !q->failure.code; i++) {
		struct buf path = { .max = 8192 };
		int fd = -1;

		if (debug_link_path(q->finder->debug_dir, q->file->path, link,
				    i, &path))
			fd = q->file->open(q->file->ctx, buf_cstr(&path));
		buf_fini(&path);
		if (fd >= 0 && name_query_is_linked(q, fd))
			name_query_ask(q, fd);
		else if (fd >= 0)
			close(fd);
	}
}

/* Return the frames that have no name yet. */
static struct unnamed_frames unnamed_left(const struct unnamed_frames *u,
					  const struct bytes *out)
{
	struct unnamed_frames left = { .addresses = { 0 } };

	for (size_t i = 0; i < u->places.count; i++) {
		if (out[u->places.v[i]].len)
			continue;
		*vec_add(&left.places) = u->places.v[i];
		*vec_add(&left.addresses) = u->addresses.v[i];
	}
	return left;
}

/*
 * Whether a failure with the file `file` (see struct name_failure) is so recent
 * that the file is not read at the time `now`.
 */
static bool name_finder_failed(const struct name_finder *n, uint64_t file,
			       int64_t now)
{
	for (size_t i = 0; i < NAME_FAILURES; i++) {
		if (n->failures[i].file == file &&
		    now < n->failures[i].until_ns)
			return true;
	}
	return false;
}

/*
 * Return the deadline for a file that is read from `now` on: n->timeout_ms
 * after `now`, or n->deadline_ns if this is earlier.
 */
static int64_t name_finder_end(const struct name_finder *n, int64_t now)
{
	int64_t end = now + (int64_t)n->timeout_ms * 1000000;

	return n->deadline_ns && n->deadline_ns < end ? n->deadline_ns : end;
}

/* Remember the names that were found, and which addresses have none. */
static void name_query_remember(struct name_query *q,
				const struct unnamed_frames *u)
{
	for (size_t i = 0; i < u->places.count; i++) {
		struct bytes answer = q->out[u->places.v[i]];
		const struct name_cache_key key =
			name_file_key(q->file, u->addresses.v[i]);

		/*
		 * Remember that a name is missing only if a file could be
		 * opened and the helper has not failed. Otherwise, the name may
		 * be found later, for example when a debug file has been
		 * installed.
		 */
		if (answer.len || (q->asked && !q->failure.code))
			name_cache_add(&q->finder->cache, &key, answer);
	}
}

/*
 * Return the key under which the cache remembers that there is no file at the
 * path of `f`, or that the file there has another build ID. This key stands for
 * the whole file, not for an address.
 */
static struct name_cache_key name_file_absent_key(const struct name_file *f)
{
	const struct bytes parts[] = {
		{ .ptr = (const uint8_t *)&f->id, .len = sizeof(f->id) },
		bytes_of(str_of(f->path)),
	};

	return (struct name_cache_key){
		.file = name_cache_file_of(parts, ARRAY_SIZE(parts)),
	};
}

/*
 * Whether the cache says that the file `f` is not at its path. Only finders
 * that hide which files exist remember that a file is not at its path.
 */
static bool name_file_is_absent(struct name_finder *n,
				const struct name_file *f, struct arena *arena)
{
	struct bytes nothing = { .len = 0 };
	struct name_cache_key key;

	if (!n->hides_files)
		return false;
	key = name_file_absent_key(f);
	return name_cache_find(&n->cache, &key, arena, &nothing);
}

/*
 * Ask for names in the file at the path, unless it is known that the wanted
 * file is not there. If the finder hides which files exist, a missing file must
 * take as long as one with another build ID. So the helper is asked about
 * everprof's own program in place of a missing file, and the answer is dropped.
 */
static void name_query_path(struct name_query *q)
{
	const struct name_file *f = q->file;
	struct name_finder *n = q->finder;
	int fd;

	if (name_file_is_absent(n, f, q->arena))
		return;
	q->is_wanted = false;
	fd = f->open(f->ctx, NULL);
	q->is_stand_in = n->hides_files && fd < 0;
	if (q->is_stand_in)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	name_query_ask(q, fd);
	q->is_stand_in = false;
	if (n->hides_files && !q->is_wanted && !q->failure.code) {
		const struct name_cache_key key = name_file_absent_key(f);

		name_cache_add(&n->cache, &key, (struct bytes){ .len = 0 });
	}
}

/*
 * The best source is asked first: the debug file of the build ID. If the file
 * itself has a link to a debug file, the names in that debug file replace those
 * in the file, but the file has to be read first to find the link.
 */
int name_finder_find(struct name_finder *n, const struct name_file *f,
		     const struct unnamed_frames *u, struct arena *arena,
		     struct bytes *out, struct err *err)
{
	int64_t now = clock_mono_ns();
	struct name_query q = { .finder = n,
				.file = f,
				.unnamed = u,
				.arena = arena,
				.out = out,
				.end_ns = name_finder_end(n, now) };
	struct unnamed_frames left;

	if (name_finder_failed(n, f->id.digest[0], now))
		return err_set(
			err, ERR_AGAIN,
			"reading %s or its debug file failed less than 10 s ago, and everprof has not tried again: repeat the query later",
			f->path);
	name_query_ask(&q, name_query_debug_file(&q));
	left = unnamed_left(u, out);
	q.unnamed = &left;
	q.debug_link = (struct str){ .len = 0 };
	if (left.places.count)
		name_query_path(&q);
	if (q.debug_link.len)
		name_query_linked_file(&q);
	unnamed_frames_fini(&left);
	name_query_remember(&q, u);
	return q.failure.code ?
		       err_set(err, q.failure.code, "%s or its debug file: %s",
			       f->path, q.failure.msg) :
		       0;
}

int name_finder_perf_map(struct name_finder *n, int fd,
			 const struct unnamed_frames *u, struct arena *arena,
			 struct bytes *out)
{
	struct name_query q = { .finder = n,
				.unnamed = u,
				.arena = arena,
				.out = out,
				.end_ns = name_finder_end(n, clock_mono_ns()) };

	name_query_ask(&q, fd);
	return q.failure.code;
}

void name_finder_fini(struct name_finder *n)
{
	file_helper_close(n->helper);
	name_cache_fini(&n->cache);
}
