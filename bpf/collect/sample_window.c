/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/sample_window.h"

#include <fcntl.h>
#include <unistd.h>

#include "bpf/collect/sample_labels.h"

#include "base/hash.h"

_Static_assert(sizeof(struct window_frame) == 16, "no padding");

struct sample_window *sample_window_new(int64_t start_ns)
{
	struct sample_window *w = mem_new(struct sample_window);

	w->start_ns = start_ns;
	return w;
}

static void window_file_fini(struct window_file *f)
{
	mem_free(f->path);
	mem_free(f->identity.bytes.ptr);
	mem_free(f->build_id.ptr);
	mem_free(f->segments);
	if (f->fd >= 0)
		close(f->fd);
}

void sample_window_free(struct sample_window *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->series.count; i++)
		labels_unref(w->series.v[i]);
	for (size_t i = 0; i < w->files.count; i++)
		window_file_fini(&w->files.v[i]);
	for (size_t i = 0; i < w->processes.count; i++)
		jit_process_fini(&w->processes.v[i]);
	vec_fini(&w->series);
	vec_fini(&w->programs);
	vec_fini(&w->files);
	vec_fini(&w->processes);
	vec_fini(&w->frames);
	vec_fini(&w->stack_frames);
	vec_fini(&w->stacks);
	vec_fini(&w->samples);
	table_fini(&w->by_series);
	table_fini(&w->by_file);
	table_fini(&w->by_frame);
	table_fini(&w->by_stack);
	table_fini(&w->by_sample);
	mem_free(w);
}

size_t sample_window_memory(const struct sample_window *w)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): of a pointer */
	return vec_memory(&w->series) + vec_memory(&w->programs) +
	       vec_memory(&w->files) + vec_memory(&w->frames) +
	       vec_memory(&w->stack_frames) + vec_memory(&w->stacks) +
	       vec_memory(&w->samples) + table_memory(&w->by_series) +
	       table_memory(&w->by_file) + table_memory(&w->by_frame) +
	       table_memory(&w->by_stack) + table_memory(&w->by_sample);
}

struct window_total sample_window_total(const struct sample_window *w,
					enum window_kind kind, uint32_t series)
{
	struct window_total t = { .count = 0 };

	for (size_t i = 0; i < w->samples.count; i++) {
		const struct window_sample *s = &w->samples.v[i];

		if (s->kind != kind ||
		    (series != WINDOW_ALL_SERIES && s->series != series))
			continue;
		t.count += s->count;
		t.value += s->value;
	}
	return t;
}

static uint64_t hash_of(const void *p, size_t len)
{
	return hash_key((struct bytes){ .ptr = p, .len = len });
}

/* For table_find(). */
static bool window_series_same(const void *ctx, uint32_t number,
			       const void *key)
{
	const struct sample_window *w = ctx;

	return !labels_cmp(w->series.v[number], key);
}

static uint32_t window_series(struct sample_window *w, struct labels *labels)
{
	uint32_t n = table_find(&w->by_series, labels->hash, window_series_same,
				w, labels);

	if (n != TABLE_NONE)
		return n;
	n = (uint32_t)w->series.count;
	*vec_add(&w->series) = labels_ref(labels);
	*vec_add(&w->programs) = FILE_NONE;
	table_add(&w->by_series, labels->hash, n);
	return n;
}

/* For table_find(). */
static bool window_frame_same(const void *ctx, uint32_t number, const void *key)
{
	const struct sample_window *w = ctx;

	return !memcmp(&w->frames.v[number], key, sizeof(*w->frames.v));
}

static uint32_t window_frame(struct sample_window *w,
			     const struct window_frame *f)
{
	uint64_t hash = hash_of(f, sizeof(*f));
	uint32_t n = table_find(&w->by_frame, hash, window_frame_same, w, f);

	if (n != TABLE_NONE)
		return n;
	n = (uint32_t)w->frames.count;
	*vec_add(&w->frames) = *f;
	table_add(&w->by_frame, hash, n);
	return n;
}

/* A stack as the key of a lookup: the indexes of its frames. */
struct stack_key {
	const uint32_t *frames;
	size_t count;
};

/* For table_find(). */
static bool window_stack_same(const void *ctx, uint32_t number, const void *key)
{
	const struct sample_window *w = ctx;
	const struct window_stack *s = &w->stacks.v[number];
	const struct stack_key *k = key;

	return s->count == k->count &&
	       !memcmp(&w->stack_frames.v[s->first], k->frames,
		       k->count * sizeof(*k->frames));
}

/*
 * Return the number of the stack whose frames were appended to stack_frames,
 * from index `first` on. If the window already has this stack, remove the
 * frames again.
 */
static uint32_t window_stack(struct sample_window *w, size_t first)
{
	const struct stack_key key = { &w->stack_frames.v[first],
				       w->stack_frames.count - first };
	uint64_t hash = hash_of(key.frames, key.count * sizeof(*key.frames));
	uint32_t n = table_find(&w->by_stack, hash, window_stack_same, w, &key);

	if (n != TABLE_NONE) {
		w->stack_frames.count = first;
		return n;
	}
	n = (uint32_t)w->stacks.count;
	*vec_add(&w->stacks) =
		(struct window_stack){ .first = (uint32_t)first,
				       .count = (uint32_t)key.count };
	table_add(&w->by_stack, hash, n);
	return n;
}

/*
 * Return the hash of what makes a sample distinct: all but its count and its
 * value.
 */
static uint64_t window_sample_hash(const struct window_sample *s)
{
	return hash_of(s, offsetof(struct window_sample, count));
}

/* For table_find(). */
static bool window_sample_same(const void *ctx, uint32_t number,
			       const void *key)
{
	const struct sample_window *w = ctx;

	return !memcmp(&w->samples.v[number], key,
		       offsetof(struct window_sample, count));
}

/*
 * Copy the text of a label to an array of zeros, so that zeros follow the text.
 */
static void window_label_text(char to[SAMPLE_COMM_MAX],
			      const char from[SAMPLE_COMM_MAX])
{
	memcpy(to, from, strnlen(from, SAMPLE_COMM_MAX - 1));
}

/* Copy the labels that are in from->set. */
static void window_labels_copy(struct window_labels *to,
			       const struct window_labels *from)
{
	to->set = from->set;
	if (from->set & SAMPLE_LABEL_COMM)
		window_label_text(to->comm, from->comm);
	if (from->set & SAMPLE_LABEL_CPU)
		to->cpu = from->cpu;
	if (from->set & SAMPLE_LABEL_PID)
		to->pid = from->pid;
	if (from->set & SAMPLE_LABEL_THREAD)
		window_label_text(to->thread, from->thread);
	if (from->set & SAMPLE_LABEL_TID)
		to->tid = from->tid;
}

void sample_window_add(struct sample_window *w, const struct window_input *in)
{
	struct window_sample s = { .series = window_series(w, in->series),
				   .kind = in->kind };
	size_t first = w->stack_frames.count;
	uint64_t hash;
	uint32_t n;

	if (in->program && w->programs.v[s.series] == FILE_NONE)
		w->programs.v[s.series] = *in->program;
	for (size_t i = 0; i < in->count; i++) {
		n = window_frame(w, &in->frames[i]);
		*vec_add(&w->stack_frames) = n;
	}
	s.stack = window_stack(w, first);
	window_labels_copy(&s.labels, &in->labels);
	hash = window_sample_hash(&s);
	n = table_find(&w->by_sample, hash, window_sample_same, w, &s);
	if (n == TABLE_NONE) {
		n = (uint32_t)w->samples.count;
		*vec_add(&w->samples) = s;
		table_add(&w->by_sample, hash, n);
	}
	w->samples.v[n].count += in->samples;
	w->samples.v[n].value += in->value;
}

/* For table_find(). */
static bool window_file_same(const void *ctx, uint32_t number, const void *key)
{
	const struct sample_window *w = ctx;

	return w->files.v[number].number == *(const uint32_t *)key;
}

uint32_t sample_window_find_file(const struct sample_window *w, uint32_t number)
{
	return table_find(&w->by_file, hash_of(&number, sizeof(number)),
			  window_file_same, w, &number);
}

static struct bytes bytes_dup(struct bytes b)
{
	return (struct bytes){ .ptr = mem_dup(b.ptr, b.len), .len = b.len };
}

/* Duplicate the descriptor of a file, if the file is open. */
static void window_file_take_fd(struct window_file *to,
				const struct mapped_file *f)
{
	to->fd = f->fd < 0 ? -1 : fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
}

/* Copy the facts of a file, if they are known. */
static void window_file_facts(struct window_file *to,
			      const struct mapped_file *f)
{
	if (f->table == TABLE_STORE_NONE)
		return;
	to->build_id = bytes_dup(
		(struct bytes){ .ptr = f->build_id, .len = f->build_id_len });
	to->segments =
		mem_dup(f->segments, f->segment_count * sizeof(*f->segments));
	to->segment_count = f->segment_count;
	to->owner = f->owner;
	window_file_take_fd(to, f);
}

void sample_window_file(struct sample_window *w, const struct file_table *files,
			uint32_t number)
{
	const struct mapped_file *f = file_table_at(files, number);
	struct window_file *to;

	if (sample_window_find_file(w, number) != TABLE_NONE)
		return;
	table_add(&w->by_file, hash_of(&number, sizeof(number)),
		  (uint32_t)w->files.count);
	to = vec_add(&w->files);
	*to = (struct window_file){
		.number = number,
		.pid = f->pid,
		.uid = f->uid,
		.fd = -1,
		.path = mem_strdup(f->path),
		.identity = { .is_build_id = f->identity.is_build_id,
			      .bytes = bytes_dup(f->identity.bytes) },
	};
	window_file_facts(to, f);
}

/*
 * Return the index of the process that was added last with this PID, or
 * TABLE_NONE. If the PID was used again, the window may have several processes
 * with this PID.
 */
static uint32_t window_find_process(const struct sample_window *w, uint32_t pid)
{
	for (size_t i = w->processes.count; i--;) {
		if (w->processes.v[i].pid == pid)
			return (uint32_t)i;
	}
	return TABLE_NONE;
}

uint32_t sample_window_process(struct sample_window *w,
			       const struct window_process *p, bool *is_new)
{
	uint32_t n = window_find_process(w, p->pid);

	/*
	 * A sample from before p->began_ns is a late sample of an earlier
	 * process with this PID. It counts as a sample of the last process with
	 * this PID that the window has.
	 */
	*is_new = n == TABLE_NONE ||
		  (p->began_ns > w->processes.v[n].sampled_ns &&
		   p->began_ns <= p->sampled_ns);
	if (!*is_new)
		return n;
	*vec_add(&w->processes) = (struct jit_process){
		.pid = p->pid, .sampled_ns = p->sampled_ns, .map = -1
	};
	return (uint32_t)w->processes.count - 1;
}

void sample_window_take_process(struct sample_window *w, struct jit_process *j)
{
	uint32_t n = window_find_process(w, j->pid);
	struct jit_process *p = n == TABLE_NONE ? NULL : &w->processes.v[n];

	if (!p || p->is_read || !jit_process_is(p, j))
		return;
	/*
	 * If too many maps are open, close this one: jit_process_open() opens
	 * it again when names are needed.
	 */
	if (j->map >= 0 && w->open_maps == WINDOW_MAPS_MAX) {
		close(j->map);
		j->map = -1;
	}
	w->open_maps += j->map >= 0;
	j->sampled_ns = p->sampled_ns;
	*p = *j;
	*j = (struct jit_process){ .map = -1 };
}

void sample_window_refresh(struct sample_window *w,
			   const struct file_table *files)
{
	for (size_t i = 0; i < w->files.count; i++) {
		struct window_file *to = &w->files.v[i];
		const struct mapped_file *f = file_table_at(files, to->number);

		if (!to->segments)
			window_file_facts(to, f);
		else if (to->fd < 0)
			window_file_take_fd(to, f);
	}
}
