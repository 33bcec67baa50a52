/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/frame_names.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/hash.h"
#include "bpf/process/elf_reader.h"
#include "symbols/names/name_answer.h"

void frame_names_init(struct frame_names *n,
		      const struct frame_names_options *o, struct err *err)
{
	*n = (struct frame_names){
		.budget = { .window_ms = o->window_ms },
		.ranges = o->ranges,
		.finder = { .helper = file_helper_new(o->helper_argv),
			    .cache = { .half_max = FRAME_NAMES_CACHE_MAX },
			    .debug_dir = o->debug_dir,
			    .public_debug_files = true,
			    .timeout_ms = FRAME_NAMES_TIMEOUT_MS,
			    .answer_max = NAME_ANSWER_MAX },
		.processes = file_helper_new(o->process_argv),
	};
	err->code = kallsyms_read(&n->kernel, "/proc/kallsyms", err);
}

void frame_names_fini(struct frame_names *n)
{
	name_finder_fini(&n->finder);
	file_helper_close(n->processes);
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
 * Return the key by which the names of a file are cached. Files with the same
 * build ID have the same names, wherever they are, if they belong to the same
 * user. Another user could write the build ID into a file with other names.
 * Without a build ID, the key is made of the identity and the path.
 */
static struct name_cache_file window_file_id(const struct window_file *f)
{
	const struct bytes with_build_id[] = {
		f->build_id,
		{ .ptr = (const uint8_t *)&f->owner, .len = sizeof(f->owner) },
	};
	const struct bytes without[] = {
		{ .len = 0 },
		f->identity.bytes,
		bytes_of(str_of(f->path)),
	};

	return f->build_id.len ?
		       name_cache_file_of(with_build_id,
					  ARRAY_SIZE(with_build_id)) :
		       name_cache_file_of(without, ARRAY_SIZE(without));
}

/* A file of a window, and the helper that opens it. */
struct window_opener {
	const struct window_file *file;
	struct file_helper *processes;
};

/*
 * Callback name_file.open: if `path` is NULL, open the file of the window.
 * Otherwise, open the file at `path`, as it is seen by the process that has
 * mapped the file of the window.
 */
static int window_file_open(const void *opener, const char *path)
{
	static const struct process_file_wish any = { .owned = false };
	const struct window_opener *o = opener;
	const struct window_file *f = o->file;
	struct process_user user;
	int fd;

	if (!path && f->fd >= 0)
		return fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	if (!path)
		return elf_reader_open(
			o->processes,
			&(struct wanted_file){ .pid = f->pid,
					       .uid = f->uid,
					       .path = f->path,
					       .identity = f->identity });
	/*
	 * Another process may have the PID by now. Open the file only if the
	 * process that has the PID now runs as f->uid, the user of the process
	 * that had mapped the file of the window.
	 */
	process_user_read(&user, f->pid);
	fd = user.uid == f->uid ? process_reader_open(o->processes, f->pid,
						      path, &user, &any) :
				  -1;
	process_user_fini(&user);
	return fd;
}

/*
 * Set the user whose files both helpers read from now on
 * (file_helper_set_user()).
 */
static void frame_names_set_user(struct frame_names *n, uint32_t user)
{
	file_helper_set_user(n->finder.helper, user);
	file_helper_set_user(n->processes, user);
}

/* Ask for the names of the frames `u` of a file, within the budget. */
static void frame_names_ask(struct frame_names *n, const struct name_file *file,
			    uint32_t uid, const struct unnamed_frames *u,
			    struct arena *arena, struct bytes *out)
{
	int64_t began = clock_mono_ns();
	const uint64_t key = file->id.digest[0];
	int64_t end = name_budget_end(&n->budget, key, uid, began);
	struct err err;
	int rc;

	if (end && end <= began)
		return;
	n->finder.deadline_ns = end;
	frame_names_set_user(n, uid);
	/*
	 * An error is no harm: frames that stay without a name are asked for
	 * again in the next window.
	 */
	rc = name_finder_find(&n->finder, file, u, arena, out, &err);
	name_budget_spend(&n->budget, key, uid, began, clock_mono_ns(),
			  rc == ERR_TIMEOUT || rc == ERR_CORRUPT);
}

/* Find the names of the frames of one file. */
static void frame_names_of_file(struct frame_names *n,
				const struct sample_window *w,
				const struct window_file *f,
				struct arena *arena, struct bytes *out)
{
	const struct window_opener opener = { f, n->processes };
	const struct name_file file = { .path = f->path,
					.build_id = f->build_id,
					.id = window_file_id(f),
					.open = window_file_open,
					.ctx = &opener };
	struct unnamed_frames u = { .addresses = { 0 } };

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
	if (u.places.count)
		frame_names_ask(n, &file, user_ranges_share(n->ranges, f->uid),
				&u, arena, out);
	unnamed_frames_fini(&u);
}

/* Look up the names of the frames of a process in its perf map. */
static int frame_names_ask_map(struct frame_names *n,
			       const struct jit_process *j, uint32_t number,
			       const struct sample_window *w,
			       struct arena *arena, struct bytes *out)
{
	struct unnamed_frames u = { .addresses = { 0 } };
	int fd = jit_process_open(j, n->processes);
	int rc;

	if (fd < 0)
		return ERR_NOTFOUND;
	for (uint32_t i = 0; i < w->frames.count; i++) {
		const struct window_frame *x = &w->frames.v[i];

		if (x->kind != FRAME_ANONYMOUS || x->owner != number)
			continue;
		*vec_add(&u.places) = i;
		*vec_add(&u.addresses) = x->address;
	}
	rc = name_finder_perf_map(&n->finder, fd, &u, arena, out);
	unnamed_frames_fini(&u);
	return rc;
}

/*
 * Look up the names of the frames of a process in the perf map of the process.
 * `number` is the index of the process in w->processes. If the facts about the
 * process came too late for the window, read them now. ERR_NOTFOUND: the
 * process has ended before its facts were read, or there is no map. Other
 * errors as name_finder_perf_map().
 */
static int frame_names_ask_process(struct frame_names *n, uint32_t number,
				   const struct sample_window *w,
				   struct arena *arena, struct bytes *out)
{
	const struct jit_process *j = &w->processes.v[number];
	struct jit_process late;
	int rc = ERR_NOTFOUND;

	if (j->is_read)
		return frame_names_ask_map(n, j, number, w, arena, out);
	jit_process_read(&late, j->pid, n->processes);
	if (jit_process_is(j, &late))
		rc = frame_names_ask_map(n, &late, number, w, arena, out);
	jit_process_fini(&late);
	return rc;
}

/*
 * Return the user to whose share a process counts (user_ranges_share());
 * PROCESS_UID_GONE: the user is not known.
 */
static uint32_t frame_names_user(const struct frame_names *n,
				 const struct jit_process *j)
{
	struct process_uid user = process_uid_init();

	return user_ranges_share(n->ranges,
				 j->is_read ? j->user.uid :
					      process_uid_find(&user, j->pid));
}

/*
 * Find the names of code that one process has compiled, within the budget. The
 * time for opening the perf map is charged to the budget even if there is no
 * map.
 */
static void frame_names_of_process(struct frame_names *n, uint32_t number,
				   const struct sample_window *w,
				   struct arena *arena, struct bytes *out)
{
	const struct jit_process *j = &w->processes.v[number];
	const uint64_t key = hash_key((struct bytes){
		.ptr = (const uint8_t *)&j->pid, .len = sizeof(j->pid) });
	int64_t began = clock_mono_ns();
	uint32_t uid = frame_names_user(n, j);
	int64_t end = name_budget_end(&n->budget, key, uid, began);
	int rc;

	if (uid == PROCESS_UID_GONE || (end && end <= began))
		return;
	n->finder.deadline_ns = end;
	frame_names_set_user(n, uid);
	rc = frame_names_ask_process(n, number, w, arena, out);
	name_budget_spend(&n->budget, key, uid, began, clock_mono_ns(),
			  rc == ERR_TIMEOUT || rc == ERR_CORRUPT);
}

/*
 * Make *out the answer for a frame with one function, `name`: a function of the
 * kernel, or the reason why a stack ends.
 */
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
 * The name of the last frame (FRAME_END) of a stack that is not complete, by
 * the reason why the stack ends.
 */
static const char *const end_names[SAMPLE_ENDS] = {
	[SAMPLE_TRUNCATED] = "[truncated]",
	[SAMPLE_NO_PROCESS] = "[unknown process]",
	[SAMPLE_NO_MAPPING] = "[unknown mapping]",
	[SAMPLE_NO_RULE] = "[unwind error: no rule]",
	[SAMPLE_UNREADABLE] = "[unwind error: unreadable stack]",
	[SAMPLE_COMPAT] = "[32-bit program]",
	[SAMPLE_STARTING] = "[starting]",
};

/* Name the frames of the kernel, and those that say why a stack ends. */
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

void frame_names_find(struct frame_names *n, const struct sample_window *w,
		      struct arena *arena, struct bytes *out)
{
	memset(out, 0, w->frames.count * sizeof(*out));
	name_budget_begin(&n->budget, clock_mono_ns());
	frame_names_of_kernel(n, w, arena, out);
	for (size_t i = 0; i < w->files.count; i++)
		frame_names_of_file(n, w, &w->files.v[i], arena, out);
	for (uint32_t i = 0; i < w->processes.count; i++)
		frame_names_of_process(n, i, w, arena, out);
}
