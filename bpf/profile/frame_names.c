/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/profile/frame_names.h"

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
	*n = (struct frame_names){
		.finder = { .helper = file_helper_new(helper_argv),
			    .cache = { .half_max = FRAME_NAMES_CACHE_MAX },
			    .debug_dir = debug_dir,
			    .timeout_ms = FRAME_NAMES_TIMEOUT_MS,
			    .answer_max = NAME_ANSWER_MAX },
	};
	err->code = kallsyms_read(&n->kernel, "/proc/kallsyms", err);
}

void frame_names_fini(struct frame_names *n)
{
	name_finder_fini(&n->finder);
	kallsyms_fini(&n->kernel);
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

/*
 * The hash by which the names of a file are cached. Files with the same build
 * ID have the same names, wherever they are.
 */
static uint64_t window_file_hash(const struct window_file *f)
{
	return f->build_id.len ? name_file_hash(f->build_id) :
				 hash_bytes(f->identity) ^
					 hash_bytes(bytes_of(str_of(f->path)));
}

/* Open the file of a window itself, or a file beside it. */
static int window_file_open(const void *file, const char *path)
{
	const struct window_file *f = file;

	return path ? elf_reader_open_path(f->pid, path) :
		      elf_reader_open(f->pid, f->path, f->identity);
}

/* Find the names of the frames of one file. */
static void frame_names_of_file(struct frame_names *n,
				const struct sample_window *w,
				const struct window_file *f,
				struct arena *arena, struct bytes *out)
{
	const struct name_file file = { .path = f->path,
					.build_id = f->build_id,
					.hash = window_file_hash(f),
					.open = window_file_open,
					.ctx = f };
	struct unnamed_frames u = { .addresses = { 0 } };
	struct err err;

	for (uint32_t i = 0; i < w->frames.count; i++) {
		const struct window_frame *x = &w->frames.v[i];
		uint64_t address;

		if (x->kind != FRAME_FILE || x->owner != f->number ||
		    !window_file_address(f, x->address, &address) ||
		    name_finder_cached(&n->finder, &file, address, arena,
				       &out[i]))
			continue;
		*vec_add(&u.places) = i;
		*vec_add(&u.addresses) = address;
	}
	/*
	 * An error is no harm: frames that stay without a name are asked for
	 * again in the next window.
	 */
	if (u.places.count)
		err.code = name_finder_find(&n->finder, &file, &u, arena, out,
					    &err);
	unnamed_frames_fini(&u);
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
	struct unnamed_frames u = { .addresses = { 0 } };
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
		*vec_add(&u.places) = i;
		*vec_add(&u.addresses) = x->address;
	}
	name_finder_perf_map(&n->finder, fd, &u, arena, out);
	unnamed_frames_fini(&u);
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
