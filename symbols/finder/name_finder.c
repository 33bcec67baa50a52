/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/name_finder.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbols/finder/debug_file.h"
#include "symbols/name_answer.h"
#include "symbols/perf_map.h"

file_operation *const name_operations[NAME_OPERATIONS] = {
	[NAME_ELF_OPERATION] = elf_names_read,
	[NAME_PERF_OPERATION] = perf_map_read,
	[NAME_CRC_OPERATION] = file_crc_read,
};

/* A question for names, and where the answer goes. */
struct name_query {
	struct name_finder *finder;
	const struct name_file *file; /* NULL: a perf map */
	const struct unnamed_frames *unnamed;
	struct arena *arena;
	struct bytes *out;
	bool asked; /* a file could be opened */
	/* The file's link to its debug file, in the arena; empty: none. */
	struct str debug_link;
	uint32_t debug_crc;
};

void unnamed_frames_fini(struct unnamed_frames *u)
{
	vec_fini(&u->addresses);
	vec_fini(&u->places);
}

uint64_t name_file_hash(struct bytes build_id)
{
	return hash_bytes(build_id);
}

/*
 * The key of an address. An address in a mapping is as many bytes behind the
 * mapping's start as it is behind the mapping's offset in the file.
 */
static uint64_t name_file_key(const struct name_file *f, uint64_t address)
{
	const struct name_mapping *m = f->mapping;

	/* Positions in the file are no addresses, and have other keys. */
	return m ? name_cache_key(~f->hash, address - m->start + m->offset) :
		   name_cache_key(f->hash, address);
}

bool name_finder_cached(struct name_finder *n, const struct name_file *f,
			uint64_t address, struct arena *arena,
			struct bytes *out)
{
	return name_cache_find(&n->cache, name_file_key(f, address), arena,
			       out);
}

/* Read the head of an answer about an ELF file. False: it is another file. */
static bool name_query_head(struct name_query *q, struct dec *d)
{
	struct elf_names_head h = elf_names_head(d);

	if (d->bad ||
	    (q->file->build_id.len && !bytes_eq(h.build_id, q->file->build_id)))
		return false;
	q->debug_link = arena_str(q->arena, h.debug_link);
	q->debug_crc = h.debug_crc;
	return true;
}

/*
 * Name `count` frames from number `first` on by an answer of the helper. False:
 * it is malformed, or of another file.
 */
static bool name_query_take(struct name_query *q, struct bytes answer,
			    size_t first, size_t count)
{
	struct dec d = dec_init(answer);

	if (q->file && !name_query_head(q, &d))
		return false;
	for (size_t i = 0; i < count && !d.bad; i++) {
		const uint8_t *begin = d.pos;
		size_t functions = name_answer_next(&d);
		size_t len;

		for (size_t k = 0; k < functions && !d.bad; k++)
			(void)name_answer_frame(&d);
		if (d.bad)
			break;
		len = (size_t)(d.pos - begin);
		if (functions)
			q->out[q->unnamed->places.v[first + i]] = arena_bytes(
				q->arena,
				(struct bytes){ .ptr = begin, .len = len });
	}
	return !d.bad && !dec_left(&d);
}

/* Ask for some of the names. False: there is no use in asking for more. */
static bool name_query_part(struct name_query *q, int fd, size_t first,
			    size_t count)
{
	struct name_finder *n = q->finder;
	const uint64_t *addresses = &q->unnamed->addresses.v[first];
	struct buf answer = buf_init(n->answer_max);
	struct buf question = { 0 };
	bool good;

	if (q->file)
		elf_names_question(q->file->mapping, addresses, count,
				   &question);
	(void)lseek(fd, 0, SEEK_SET);
	good = !file_helper_call(
		       n->helper,
		       q->file ? NAME_ELF_OPERATION : NAME_PERF_OPERATION, fd,
		       q->file ? buf_bytes(&question) :
				 name_question(addresses, count),
		       n->timeout_ms, &answer, NULL) &&
	       name_query_take(q, buf_bytes(&answer), first, count);
	buf_fini(&question);
	buf_fini(&answer);
	return good;
}

/* Ask the helper for names in the file of a descriptor, which is taken over. */
static void name_query_ask(struct name_query *q, int fd)
{
	const struct unnamed_frames *u = q->unnamed;
	bool more = fd >= 0;

	q->asked |= more;
	for (size_t at = 0; at < u->addresses.count && more;
	     at += NAME_QUESTION_MAX) {
		size_t count = u->addresses.count - at;
		int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		if (count > NAME_QUESTION_MAX)
			count = NAME_QUESTION_MAX;
		more = again >= 0 && name_query_part(q, again, at, count);
	}
	if (fd >= 0)
		close(fd);
}

/* Open the debug file of the file's build ID, or return -1. */
static int name_query_debug_file(const struct name_query *q)
{
	struct buf path = { .max = 4096 };
	int fd = -1;

	if (debug_file_path(q->finder->debug_dir, q->file->build_id, &path))
		fd = regular_file_open(buf_cstr(&path));
	buf_fini(&path);
	return fd;
}

/*
 * Whether a file is the debug file that the link means. A file with a build ID
 * need not be read for this: its build ID is compared when names are read.
 */
static bool name_query_is_linked(const struct name_query *q, int fd)
{
	struct name_finder *n = q->finder;
	struct buf answer = { 0 };
	struct dec d;
	int again;
	bool same;

	if (q->file->build_id.len)
		return true;
	again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (again < 0 ||
	    file_helper_call(n->helper, NAME_CRC_OPERATION, again,
			     (struct bytes){ 0 }, n->timeout_ms, &answer, NULL))
		return false;
	d = dec_init(buf_bytes(&answer));
	same = dec_be32(&d) == q->debug_crc && !d.bad;
	buf_fini(&answer);
	return same;
}

/* Open the debug file that the file links to, or return -1. */
static int name_query_linked_file(const struct name_query *q)
{
	for (unsigned i = 0; i < DEBUG_LINK_PLACES; i++) {
		struct buf path = { .max = 8192 };
		int fd = -1;

		if (debug_link_path(q->finder->debug_dir, q->file->path,
				    q->debug_link, i, &path))
			fd = q->file->open(q->file->ctx, buf_cstr(&path));
		buf_fini(&path);
		if (fd >= 0 && name_query_is_linked(q, fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* The frames that have no name yet. */
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
 * The best source comes first: the debug file of the build ID. A debug file that
 * the file itself names is better than the file, which has to be read first.
 */
void name_finder_find(struct name_finder *n, const struct name_file *f,
		      const struct unnamed_frames *u, struct arena *arena,
		      struct bytes *out)
{
	struct name_query q = {
		.finder = n, .file = f, .unnamed = u, .arena = arena, .out = out
	};
	struct unnamed_frames left;

	name_query_ask(&q, name_query_debug_file(&q));
	left = unnamed_left(u, out);
	q.unnamed = &left;
	q.debug_link = (struct str){ .len = 0 };
	if (left.places.count)
		name_query_ask(&q, f->open(f->ctx, NULL));
	if (q.debug_link.len)
		name_query_ask(&q, name_query_linked_file(&q));
	unnamed_frames_fini(&left);
	/* A file that is not there today may be installed. */
	for (size_t i = 0; i < u->places.count && q.asked; i++)
		name_cache_add(&n->cache, name_file_key(f, u->addresses.v[i]),
			       out[u->places.v[i]]);
}

void name_finder_perf_map(struct name_finder *n, int fd,
			  const struct unnamed_frames *u, struct arena *arena,
			  struct bytes *out)
{
	struct name_query q = {
		.finder = n, .unnamed = u, .arena = arena, .out = out
	};

	name_query_ask(&q, fd);
}

void name_finder_fini(struct name_finder *n)
{
	file_helper_close(n->helper);
	name_cache_fini(&n->cache);
}
