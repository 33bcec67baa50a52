/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/profile/frame_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file_slurp.h"
#include "base/hash.h"
#include "bpf/process/elf_reader.h"
#include "symbols/name_answer.h"

void frame_names_init(struct frame_names *n, char *const *helper_argv,
		      const char *debug_dir, struct err *err)
{
	*n = (struct frame_names){ .helper = file_helper_new(helper_argv),
				   .debug_dir = debug_dir };
	err->code = kallsyms_read(&n->kernel, "/proc/kallsyms", err);
}

static void name_cache_fini(struct name_cache *c)
{
	table_fini(&c->by_key);
	vec_fini(&c->keys);
	vec_fini(&c->answers);
	arena_fini(&c->arena);
}

void frame_names_fini(struct frame_names *n)
{
	file_helper_close(n->helper);
	kallsyms_fini(&n->kernel);
	name_cache_fini(&n->young);
	name_cache_fini(&n->old);
}

bool window_file_address(const struct window_file *f, uint64_t position,
			 uint64_t *out)
{
	for (uint32_t i = 0; i < f->segment_count; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (position < s->offset || position - s->offset >= s->bytes)
			continue;
		*out = s->vaddr + (position - s->offset);
		return true;
	}
	return false;
}

/* For table_find(). */
static bool name_cache_same(const void *ctx, uint32_t number, const void *key)
{
	const struct name_cache *c = ctx;

	return c->keys.v[number] == *(const uint64_t *)key;
}

static void name_cache_add(struct name_cache *c, uint64_t key,
			   struct bytes answer)
{
	table_add(&c->by_key, key, (uint32_t)c->keys.count);
	*vec_add(&c->keys) = key;
	*vec_add(&c->answers) = arena_bytes(&c->arena, answer);
}

static size_t name_cache_memory(const struct name_cache *c)
{
	return c->arena.used + table_memory(&c->by_key) + vec_memory(&c->keys) +
	       vec_memory(&c->answers);
}

/* Add names to the cache; if it is full, those not used lately are dropped. */
static void frame_names_keep(struct frame_names *n, uint64_t key,
			     struct bytes answer)
{
	if (name_cache_memory(&n->young) > FRAME_NAMES_CACHE_MAX) {
		name_cache_fini(&n->old);
		n->old = n->young;
		n->young = (struct name_cache){ .arena = { 0 } };
	}
	name_cache_add(&n->young, key, answer);
}

/* Look names up, and copy them into the arena. */
static bool frame_names_cached(struct frame_names *n, uint64_t key,
			       struct arena *arena, struct bytes *out)
{
	uint32_t at = table_find(&n->young.by_key, key, name_cache_same,
				 &n->young, &key);
	struct bytes found;

	if (at != TABLE_NONE) {
		found = n->young.answers.v[at];
	} else {
		at = table_find(&n->old.by_key, key, name_cache_same, &n->old,
				&key);
		if (at == TABLE_NONE)
			return false;
		found = n->old.answers.v[at];
	}
	*out = arena_bytes(arena, found);
	if (n->old.keys.count &&
	    table_find(&n->young.by_key, key, name_cache_same, &n->young,
		       &key) == TABLE_NONE)
		frame_names_keep(n, key, *out);
	return true;
}

/*
 * The hash by which the names of a file are cached. Files with the same build
 * ID have the same names, wherever they are.
 */
static uint64_t window_file_hash(const struct window_file *f)
{
	return f->build_id.len ? hash_bytes(f->build_id) :
				 hash_bytes(f->identity) ^
					 hash_bytes(bytes_of(str_of(f->path)));
}

static uint64_t name_key(uint64_t file, uint64_t address)
{
	const uint64_t key[2] = { file, address };

	return hash_bytes((struct bytes){ .ptr = (const uint8_t *)key,
					  .len = sizeof(key) });
}

/* Frames of one owner whose names are not known. */
struct unnamed {
	VEC(uint64_t) addresses;
	VEC(uint32_t) frames;
};

static void unnamed_fini(struct unnamed *u)
{
	vec_fini(&u->addresses);
	vec_fini(&u->frames);
}

/* A question for names, and where the answer goes. */
struct name_query {
	uint32_t operation;
	struct bytes build_id; /* of the file, if it has one */
	const struct unnamed *unnamed;
	struct arena *arena;
	struct bytes *out;
};

/*
 * Name `count` frames from number `first` on by an answer of the helper. False:
 * it is malformed, or of another file.
 */
static bool frame_names_take(const struct name_query *q, struct bytes answer,
			     size_t first, size_t count)
{
	struct dec d = dec_init(answer);

	if (q->operation == ELF_NAMES_OPERATION) {
		struct bytes id = bytes_of(dec_str(&d));

		if (q->build_id.len && !bytes_eq(id, q->build_id))
			return false;
	}
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
			q->out[q->unnamed->frames.v[first + i]] = arena_bytes(
				q->arena,
				(struct bytes){ .ptr = begin, .len = len });
	}
	return !d.bad && !dec_left(&d);
}

/* Ask the helper for names in the file of a descriptor, which is taken over. */
static void frame_names_ask(struct frame_names *n, int fd,
			    const struct name_query *q)
{
	const struct unnamed *u = q->unnamed;

	for (size_t at = 0; at < u->addresses.count; at += NAME_QUESTION_MAX) {
		size_t count = u->addresses.count - at;
		struct buf answer = buf_init(NAME_ANSWER_MAX);
		int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		int rc;

		if (count > NAME_QUESTION_MAX)
			count = NAME_QUESTION_MAX;
		if (again < 0)
			break;
		(void)lseek(again, 0, SEEK_SET);
		rc = file_helper_call(n->helper, q->operation, again,
				      name_question(&u->addresses.v[at], count),
				      FRAME_NAMES_TIMEOUT_MS, &answer, NULL);
		if (rc || !frame_names_take(q, buf_bytes(&answer), at, count)) {
			buf_fini(&answer);
			break;
		}
		buf_fini(&answer);
	}
	close(fd);
}

/* Open the separate debug file of a build ID, or return -1. */
static int debug_file_open(const char *dir, struct bytes build_id)
{
	struct buf path = { .max = 4096 };
	int fd;

	if (build_id.len < 2 || !dir || !*dir)
		return -1;
	buf_printf(&path, "%s/.build-id/%02x/", dir, build_id.ptr[0]);
	for (size_t i = 1; i < build_id.len; i++)
		buf_printf(&path, "%02x", build_id.ptr[i]);
	buf_str(&path, ".debug");
	fd = open(buf_cstr(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	buf_fini(&path);
	return fd;
}

/* The frames that have no name yet. */
static struct unnamed unnamed_left(const struct unnamed *u,
				   const struct bytes *out)
{
	struct unnamed left = { .addresses = { 0 } };

	for (size_t i = 0; i < u->frames.count; i++) {
		if (out[u->frames.v[i]].len)
			continue;
		*vec_add(&left.frames) = u->frames.v[i];
		*vec_add(&left.addresses) = u->addresses.v[i];
	}
	return left;
}

/* Find names in a file and its debug file, and keep what was found. */
static void frame_names_read_file(struct frame_names *n,
				  const struct window_file *f,
				  const struct unnamed *u, struct arena *arena,
				  struct bytes *out)
{
	struct name_query q = { .operation = ELF_NAMES_OPERATION,
				.build_id = f->build_id,
				.unnamed = u,
				.arena = arena,
				.out = out };
	uint64_t file = window_file_hash(f);
	int fd = debug_file_open(n->debug_dir, f->build_id);
	struct unnamed left;

	if (fd >= 0)
		frame_names_ask(n, fd, &q);
	left = unnamed_left(u, out);
	q.unnamed = &left;
	fd = left.frames.count ? elf_reader_open(f->pid, f->path, f->identity) :
				 -1;
	if (fd >= 0)
		frame_names_ask(n, fd, &q);
	unnamed_fini(&left);
	for (size_t i = 0; i < u->frames.count; i++)
		frame_names_keep(n, name_key(file, u->addresses.v[i]),
				 out[u->frames.v[i]]);
}

/* Find the names of the frames of one file. */
static void frame_names_of_file(struct frame_names *n,
				const struct sample_window *w,
				const struct window_file *f,
				struct arena *arena, struct bytes *out)
{
	uint64_t file = window_file_hash(f);
	struct unnamed u = { .addresses = { 0 } };

	for (uint32_t i = 0; i < w->frames.count; i++) {
		const struct window_frame *x = &w->frames.v[i];
		uint64_t address;

		if (x->kind != FRAME_FILE || x->owner != f->number ||
		    !window_file_address(f, x->address, &address) ||
		    frame_names_cached(n, name_key(file, address), arena,
				       &out[i]))
			continue;
		*vec_add(&u.frames) = i;
		*vec_add(&u.addresses) = address;
	}
	if (u.frames.count)
		frame_names_read_file(n, f, &u, arena, out);
	unnamed_fini(&u);
}

/* The number that a process has in its own PID namespace. */
static uint32_t process_own_number(uint32_t pid)
{
	struct buf text = { .max = 8192 };
	char path[64];
	uint32_t own = pid;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (!file_slurp(path, &text, NULL)) {
		at = strstr(buf_cstr(&text), "NSpid:");
		/* "NSpid:\t812\t7": the innermost namespace is the last one. */
		for (at = at ? at + 6 : NULL; at && *at == '\t';) {
			char *end;

			own = (uint32_t)strtoul(at + 1, &end, 10);
			at = end;
		}
	}
	buf_fini(&text);
	return own;
}

/* Find the names of code that one process has compiled. */
static void frame_names_of_process(struct frame_names *n, uint32_t pid,
				   const struct sample_window *w,
				   struct arena *arena, struct bytes *out)
{
	struct unnamed u = { .addresses = { 0 } };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map",
		 process_own_number(pid));
	fd = elf_reader_open_path(pid, path);
	/* The file stays when the process has ended. */
	if (fd < 0)
		fd = elf_reader_open_path((uint32_t)getpid(), path);
	if (fd < 0)
		return;
	for (uint32_t i = 0; i < w->frames.count; i++) {
		const struct window_frame *x = &w->frames.v[i];

		if (x->kind != FRAME_ANONYMOUS || x->owner != pid)
			continue;
		*vec_add(&u.frames) = i;
		*vec_add(&u.addresses) = x->address;
	}
	frame_names_ask(n, fd,
			&(struct name_query){ .operation = PERF_MAP_OPERATION,
					      .unnamed = &u,
					      .arena = arena,
					      .out = out });
	unnamed_fini(&u);
}

/* Name a frame of the kernel, or say why a stack ends. */
static void frame_name_here(struct arena *arena, const char *name,
			    struct bytes *out)
{
	const struct name_frame f = { .system_name = str_of(name),
				      .name = str_of(name) };
	struct buf answer = { 0 };

	name_answer_begin(&answer, 1);
	name_answer_add(&answer, &f);
	*out = bytes_of(arena_str(arena, str_from(buf_bytes(&answer))));
	buf_fini(&answer);
}

/*
 * The outermost frame that is shown for a stack that does not reach the
 * thread's start.
 */
static const char *const end_names[SAMPLE_ENDS] = {
	[SAMPLE_TRUNCATED] = "[truncated]",
	[SAMPLE_NO_PROCESS] = "[unknown process]",
	[SAMPLE_NO_MAPPING] = "[unknown mapping]",
	[SAMPLE_NO_RULE] = "[unwind error: no rule]",
	[SAMPLE_UNREADABLE] = "[unwind error: unreadable stack]",
	[SAMPLE_COMPAT] = "[32-bit program]",
};

/* Name the frames that need no file. */
static void frame_names_of_kernel(const struct frame_names *n,
				  const struct sample_window *w,
				  struct arena *arena, struct bytes *out)
{
	for (size_t i = 0; i < w->frames.count; i++) {
		const struct window_frame *f = &w->frames.v[i];
		const char *name = NULL;

		if (f->kind == FRAME_KERNEL)
			name = kallsyms_find(&n->kernel, f->address);
		else if (f->kind == FRAME_END)
			name = end_names[f->address];
		if (name)
			frame_name_here(arena, name, &out[i]);
	}
}

/* Find the names of code without a file, process by process. */
static void frame_names_of_processes(struct frame_names *n,
				     const struct sample_window *w,
				     struct arena *arena, struct bytes *out)
{
	VEC(uint32_t) seen = { 0 };

	for (size_t i = 0; i < w->frames.count; i++) {
		const struct window_frame *f = &w->frames.v[i];
		size_t k = 0;

		if (f->kind != FRAME_ANONYMOUS)
			continue;
		while (k < seen.count && seen.v[k] != f->owner)
			k++;
		if (k < seen.count)
			continue;
		*vec_add(&seen) = f->owner;
		frame_names_of_process(n, f->owner, w, arena, out);
	}
	vec_fini(&seen);
}

void frame_names_find(struct frame_names *n, const struct sample_window *w,
		      struct arena *arena, struct bytes *out)
{
	memset(out, 0, w->frames.count * sizeof(*out));
	frame_names_of_kernel(n, w, arena, out);
	for (size_t i = 0; i < w->files.count; i++)
		frame_names_of_file(n, w, &w->files.v[i], arena, out);
	frame_names_of_processes(n, w, arena, out);
}
