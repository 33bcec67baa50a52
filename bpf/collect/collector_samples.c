/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/collector_samples.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/collect/collector_private.h"
#include "bpf/collect/collector_window.h"
#include "bpf/process/cgroup_path.h"

/* The program name in the series of kernel threads. */
#define KERNEL_EXE "[kernel]"

enum {
	/*
	 * A program counts as starting for this time after it began, because
	 * its mappings may not have been reported and published yet.
	 */
	STARTING_NS = 3000000,
};

_Static_assert((int)PROCESS_ASKED_MS == (int)HELD_SAMPLES_MS,
	       "samples wait so long");

/*
 * Whether the file name of the program `exe` is KERNEL_EXE, the name that
 * series give to the kernel.
 */
static bool sample_is_named_kernel(struct str exe)
{
	return str_is(process_exe_name(exe), KERNEL_EXE);
}

/*
 * Whether the mappings of a process have to be read to find the files to which
 * the addresses of a sample belong.
 */
static bool sample_needs_scan(const struct process *p,
			      const struct sample_header *h)
{
	if (h->end == SAMPLE_KERNEL)
		return false;
	return !p || !address_space_count(&p->space) ||
	       h->end == SAMPLE_NO_MAPPING;
}

/*
 * Return `arguments`, each of which ends with NUL, as a text with blanks
 * between them. The text is in `out`.
 */
static struct str cmdline_text(struct str arguments, struct buf *out)
{
	buf_add(out, arguments.ptr, arguments.len);
	for (size_t i = 0; i < out->len; i++) {
		if (!out->ptr[i])
			out->ptr[i] = ' ';
	}
	return str_trim(str_from(buf_bytes(out)));
}

/*
 * Return the group (process_groups.h) of the process `pid`. `text` has what was
 * read about the process, perhaps nothing. `p` is its entry in the process
 * table, or NULL. If the path of the program is neither in `text` nor known
 * from `p`, the name `comm`, or KERNEL_EXE for a thread of the kernel, is used
 * in place of the path. PROCESS_NO_GROUP: there are too many groups.
 */
static uint32_t sample_find_group(struct collector *c, const struct process *p,
				  const struct process_text *text, uint32_t pid,
				  struct str comm)
{
	struct buf cmdline = { 0 };
	struct process_facts f = {
		.pid = pid,
		.exe = text->exe,
		.name = p && *p->name ? str_of(p->name) : text->name,
		.cgroup =
			cgroup_path_of_process(text->cgroup, text->exe.len > 0),
		.cmdline = cmdline_text(text->cmdline, &cmdline),
	};
	bool is_kernel = text->name.len && !f.exe.len && !f.cmdline.len &&
			 !(p && address_space_count(&p->space));
	uint32_t group;

	if (p && p->program != FILE_NONE) {
		f.exe = str_of(file_table_at(&c->files, p->program)->path);
		is_kernel = false;
	}
	if (!f.exe.len)
		f.exe = comm;
	/*
	 * A program whose file has the name KERNEL_EXE must not be taken for
	 * the kernel.
	 */
	if (is_kernel)
		f.exe = str_of(KERNEL_EXE);
	else if (sample_is_named_kernel(f.exe))
		f.exe = str_of("kernel");
	group = process_groups_find(
		&c->groups, &f,
		p ? process_table_inherited(&c->processes, p) :
		    PROCESS_NO_GROUP);
	buf_fini(&cmdline);
	return group;
}

/*
 * Return the group of the process of a sample, if nothing was read about the
 * process. The group follows from the sample's header `h` and from `p`, the
 * entry of the process in the process table, or NULL.
 */
static uint32_t sample_guess_group(struct collector *c, const struct process *p,
				   const struct sample_header *h)
{
	const struct str comm = { .ptr = h->comm,
				  .len = strnlen(h->comm, SAMPLE_COMM_MAX) };
	const struct process_text text = { .cgroup = { "", 0 },
					   .cmdline = { "", 0 } };

	return sample_find_group(c, p, &text, h->pid, comm);
}

void collector_learn(struct collector *c, const struct scan_result *r)
{
	const struct process *p;
	uint32_t group;

	if (r->good && r->kind == SCAN_MAPS)
		process_table_scan(&c->processes, r->pid, &r->text, r->read_ns,
				   c->now);
	p = process_table_answer(&c->processes, r->pid, r->read_ns);
	if (!r->good || !p || c->o.labels || p->group != PROCESS_NO_GROUP)
		return;
	group = sample_find_group(c, p, &r->text, r->pid, r->text.name);
	if (group != PROCESS_NO_GROUP)
		process_table_set_group(&c->processes, r->pid, group);
}

/*
 * Return the labels of the sample's series. NULL: rules drop the process or, if
 * *full is true afterwards, there are too many series.
 */
static struct labels *sample_labels(struct collector *c,
				    const struct process *p,
				    const struct sample_header *h, bool *full)
{
	uint32_t group = p ? p->group : PROCESS_NO_GROUP;

	if (c->o.labels)
		return c->o.labels;
	if (group == PROCESS_NO_GROUP)
		group = sample_guess_group(c, p, h);
	*full = group == PROCESS_NO_GROUP;
	return *full ? NULL : process_groups_labels(&c->groups, group);
}

/*
 * Return the index of the sample's process in w->processes, for an address that
 * belongs to no file: code that the process has probably compiled itself (JIT).
 * If the window does not have the process yet, add it, and ask the scan queue
 * for its perf map (SCAN_JIT).
 */
static uint32_t sample_compiler(struct collector *c, struct sample_window *w,
				const struct process *p,
				const struct sample_header *h)
{
	bool is_new;
	uint32_t number = sample_window_process(
		w,
		&(struct window_process){ h->pid, p ? p->began_ns : 0,
					  h->time },
		&is_new);

	if (is_new)
		scan_queue_add(c->scans, SCAN_JIT, h->pid);
	return number;
}

/*
 * Add to c->frames the frame of user space that has the address `word` in the
 * record.
 */
static void sample_add_user(struct collector *c, struct sample_window *w,
			    const struct process *p,
			    const struct sample_header *h, uint64_t word)
{
	/*
	 * An address without SAMPLE_EXACT is a return address, so the call is
	 * before it.
	 */
	uint64_t address = word & SAMPLE_EXACT ? word & ~SAMPLE_EXACT :
						 word - 1;
	const struct address_range *r =
		p ? address_space_find(&p->space, address) : NULL;
	struct window_frame f = { .kind = FRAME_ANONYMOUS, .address = address };

	if (r && r->file != FILE_NONE) {
		f.kind = FRAME_FILE;
		f.owner = r->file;
		f.address = address - r->start + r->offset;
		sample_window_file(w, &c->files, r->file);
		file_table_sampled(&c->files, r->file, h->pid, c->now);
	} else {
		f.owner = sample_compiler(c, w, p, h);
	}
	*vec_add(&c->frames) = f;
}

/*
 * Whether the stack of a sample is complete as far as is known, so that no
 * frame has to say why it ends. A stack without a part in user space is
 * complete, too.
 */
static bool sample_is_whole(const struct sample_header *h)
{
	return h->end == SAMPLE_COMPLETE || h->end == SAMPLE_KERNEL ||
	       h->end == SAMPLE_BY_POINTER;
}

/*
 * Return why the stack of a sample ends. For an incomplete stack of a program
 * that has just begun, this is SAMPLE_STARTING.
 */
static enum sample_end sample_end_of(const struct process *p,
				     const struct sample_header *h)
{
	if (sample_is_whole(h))
		return h->end;
	/*
	 * If the program began after the sample was taken, the unsigned
	 * difference is huge, so the sample does not count as one of a starting
	 * program.
	 */
	if (p && p->began_ns && h->time - p->began_ns < STARTING_NS)
		return SAMPLE_STARTING;
	return h->end < SAMPLE_ENDS ? h->end : SAMPLE_NO_PROCESS;
}

/*
 * Collect the frames of a sample in c->frames, leaf first. If the stack is not
 * complete, add a last frame that says why it ends (`end`).
 */
static void sample_add_frames(struct collector *c, struct sample_window *w,
			      const struct process *p,
			      const struct sample_record *r,
			      enum sample_end end)
{
	const struct sample_header *h = &r->header;

	c->frames.count = 0;
	for (uint16_t i = 0; i < h->kernel; i++)
		*vec_add(&c->frames) = (struct window_frame){
			.kind = FRAME_KERNEL,
			/* All but the first are return addresses. */
			.address = r->words[i] - (i > 0),
		};
	for (uint16_t i = 0; i < h->user; i++)
		sample_add_user(c, w, p, h, r->words[h->kernel + i]);
	if (!sample_is_whole(h))
		*vec_add(&c->frames) = (struct window_frame){
			.kind = FRAME_END,
			.address = end,
		};
}

/* Return the memory of the windows that were not handed over yet, in bytes. */
static size_t samples_kept(const struct collector *c)
{
	return sample_window_memory(c->window) +
	       (c->closing ? sample_window_memory(c->closing) : 0);
}

/*
 * Whether there is room for a sample. If there is none, make room by handing
 * windows over.
 */
static bool sample_has_room(struct collector *c)
{
	bool has_room = samples_kept(c) < c->o.memory;

	for (int windows = 0; windows < 2 && !has_room; windows++)
		has_room = collector_window_make_room(c) &&
			   samples_kept(c) < c->o.memory;
	return has_room;
}

/*
 * Whether the program of the process `pid` may become the program of its
 * series. If the option `labels` makes all samples one series, only the process
 * of the option `pid` decides about the program of this series.
 */
static bool sample_tells_program(const struct collector *c, uint32_t pid)
{
	return !c->o.labels || pid == c->o.pid;
}

/*
 * Add the sample `r` to the window of in.time. The caller sets `time`, `kind`,
 * `samples` and `value` of `in`. The process of the sample may have ended, and
 * need not be in the process table. False: rules drop the process, or there are
 * too many series. A CPU sample is counted as dropped in the first case. In the
 * second case, a sample of any kind is counted as lost.
 */
static bool sample_add(struct collector *c, const struct sample_record *r,
		       struct window_input in)
{
	const struct sample_header *h = &r->header;
	const struct process *p = process_table_find(&c->processes, h->pid);
	struct sample_window *w = collector_window_of(c, in.time);
	enum sample_end end = sample_end_of(p, h);
	bool full = false;

	in.series = sample_labels(c, p, h, &full);
	if (full) {
		c->stats.groups_full++;
		w->account.lost[in.kind]++;
		return false;
	}
	if (!in.series) {
		c->seen_dropped += in.kind == WINDOW_CPU;
		w->account.dropped += in.kind == WINDOW_CPU;
		/* Let the kernel take no further samples of the process. */
		process_table_ignore(&c->processes, h->pid);
		return false;
	}
	sample_add_frames(c, w, p, r, end);
	if (p && p->program != FILE_NONE && sample_tells_program(c, h->pid)) {
		sample_window_file(w, &c->files, p->program);
		in.program = &p->program;
	}
	in.labels = (struct window_labels){ .set = c->o.sample_labels,
					    .cpu = h->cpu,
					    .pid = h->pid,
					    .tid = h->tid };
	in.frames = c->frames.v;
	in.count = c->frames.count;
	memcpy(in.labels.comm, p && *p->name ? p->name : h->comm,
	       SAMPLE_COMM_MAX);
	memcpy(in.labels.thread, h->comm, SAMPLE_COMM_MAX);
	sample_window_add(w, &in);
	if (in.kind == WINDOW_CPU)
		c->stats.ends[end]++;
	else
		c->stats.off_cpu += in.samples > 0;
	return true;
}

/*
 * Whether samples of the process are wanted. With the option `pid`, only
 * samples of that process, and of its descendants that were forked after
 * collector_start(), are wanted. These processes are marked.
 */
static bool sample_is_wanted(struct collector *c, const struct sample_header *h)
{
	const struct process *p;

	if (!c->o.pid)
		return true;
	p = process_table_find(&c->processes, h->pid);
	return p && p->marked;
}

/*
 * Whether the group of the parent must be found out. If the cgroup of a process
 * cannot be read any more, that of its old group is used, or else that of its
 * parent's group (process_table_inherited()). So the parent's group must be found
 * out if the process has no group, and neither of these two is known.
 */
static bool sample_needs_parent(const struct collector *c,
				const struct process *p)
{
	return !c->o.labels && p->group == PROCESS_NO_GROUP &&
	       process_table_inherited(&c->processes, p) == PROCESS_NO_GROUP;
}

/*
 * Whether samples of the process `pid` must wait, because facts about the
 * process or about its parent are being read. Also a callback of
 * held_samples_take().
 */
static bool sample_waits(void *ctx, uint32_t pid)
{
	struct collector *c = ctx;
	const struct process *p = process_table_find(&c->processes, pid);
	const struct process *parent;

	if (!p || p->asked || !sample_needs_parent(c, p))
		return p && p->asked;
	parent = process_table_find(&c->processes, p->parent);
	return parent && parent->asked;
}

/*
 * Ask for the facts `kind` about a process, if process_table_may_scan() allows
 * it now.
 */
static void sample_ask(struct collector *c, enum scan_kind kind, uint32_t pid)
{
	if (process_table_may_scan(&c->processes, pid, c->now))
		scan_queue_add(c->scans, kind, pid);
}

/*
 * Ask for those facts about a sample's process that are not known yet. A
 * process that runs for milliseconds has often ended before it is read; the
 * cgroup of its parent is then used. So ask for facts about the
 * parent, too, if they are needed (sample_needs_parent()). Return whether the
 * sample must wait.
 */
static bool sample_asks(struct collector *c, const struct sample_header *h)
{
	const struct process *p;
	bool needs_maps;
	bool needs_group;

	process_table_sampled(&c->processes, h->pid);
	p = process_table_find(&c->processes, h->pid);
	needs_maps = sample_needs_scan(p, h);
	needs_group = !c->o.labels && (!p || p->group == PROCESS_NO_GROUP);
	if (p && p->parent && sample_needs_parent(c, p))
		sample_ask(c, SCAN_FACTS, p->parent);
	if (needs_maps || needs_group)
		sample_ask(c, needs_maps ? SCAN_MAPS : SCAN_FACTS, h->pid);
	return sample_waits(c, h->pid);
}

/* Count a sample for which there is no room as lost. */
static void sample_lose(struct collector *c, enum window_kind kind,
			uint64_t time)
{
	c->stats.memory_full++;
	collector_window_of(c, time)->account.lost[kind]++;
}

/*
 * Add a sample to the window of its time, or count it as lost, if there is no
 * room.
 */
static void sample_take_now(struct collector *c, const struct sample_record *r,
			    const struct window_input *in)
{
	/*
	 * Make room before sample_add() chooses a window and a group: making
	 * room may begin another window, and forgets groups that no process
	 * has.
	 */
	if (sample_has_room(c))
		(void)sample_add(c, r, *in);
	else
		sample_lose(c, in->kind, in->time);
}

/* Return the user to whose share a process counts (user_ranges_share()). */
static uint32_t sample_share(struct collector *c, uint32_t pid)
{
	return user_ranges_share(&c->ranges,
				 process_table_uid(&c->processes, pid));
}

/*
 * Take a sample, or hold it until the missing facts about its process have been
 * read.
 */
static void sample_take(struct collector *c, const struct sample_record *r,
			const struct window_input *in)
{
	if (!sample_asks(c, &r->header) ||
	    !held_samples_add(&c->held, r, sample_share(c, r->header.pid), in,
			      c->now))
		sample_take_now(c, r, in);
}

/*
 * Take the held samples for whose process waits() returns false, and those that
 * have waited for HELD_SAMPLES_MS at the time `now`.
 */
static void sample_take_held(struct collector *c,
			     bool (*waits)(void *ctx, uint32_t pid), void *ctx,
			     uint64_t now)
{
	struct held_sample s;
	size_t at = 0;

	while (held_samples_take(&c->held, &at, waits, ctx, now, &s)) {
		sample_take_now(c, s.record, &s.in);
		mem_free(s.record);
	}
}

void collector_take_held(struct collector *c, uint64_t now)
{
	sample_take_held(c, sample_waits, c, now);
}

/*
 * Callback of held_samples_take(): let the samples of all processes wait,
 * except those of the process *pid.
 */
static bool sample_is_of_other(void *pid, uint32_t other)
{
	return other != *(const uint32_t *)pid;
}

void collector_take_held_of(struct collector *c, uint32_t pid)
{
	if (sample_waits(c, pid))
		sample_take_held(c, sample_is_of_other, &pid, c->now);
}

/*
 * Return how many ns of a wait, up to `until`, are in no window yet. `h` is the
 * header of the SAMPLE_WAITS record in c->waiting. h->since is the end of the
 * part that windows already have; 0: they have none.
 */
static uint64_t wait_rest(const struct sample_header *h, uint64_t until)
{
	uint64_t from = h->since > h->time ? h->since : h->time;

	return until > from ? until - from : 0;
}

/*
 * Add to a window the part of a wait that lies before `until` and is in no
 * window yet (wait_rest()). The window is that of the time just before `until`.
 * The time is added, but no sample is counted: a wait counts as a sample only
 * when the wait ends. False: the part was not added, see sample_add().
 */
static bool sample_add_part(struct collector *c, struct sample_record *r,
			    uint64_t until)
{
	const struct window_input in = {
		.time = until - 1,
		.kind = WINDOW_OFF_CPU,
		.value = c->o.off_cpu * wait_rest(&r->header, until)
	};

	if (!in.value)
		return true;
	if (!sample_add(c, r, in))
		return false;
	r->header.since = until;
	return true;
}

/*
 * Take the wait of a thread that runs again: where and for how long it has
 * waited. `h` is the header of the SAMPLE_RESUMES record.
 */
static void sample_take_wait(struct collector *c, const struct sample_header *h)
{
	struct sample_record *r;

	/*
	 * Make room while the wait is still in c->waiting: if a window is
	 * handed over to make room, this window still gets its part of the
	 * wait.
	 */
	(void)sample_has_room(c);
	r = waiting_threads_take(&c->waiting, h->tid, h->since);
	if (!r)
		return;
	if (c->closing && h->time >= (uint64_t)c->window_at &&
	    !sample_add_part(c, r, (uint64_t)c->window_at)) {
		/* The wait is counted as lost, or rules drop its process. */
		mem_free(r);
		return;
	}
	sample_take(c, r,
		    &(struct window_input){
			    .time = h->time,
			    .kind = WINDOW_OFF_CPU,
			    .samples = c->o.off_cpu,
			    .value = c->o.off_cpu *
				     wait_rest(&r->header, h->time) });
	mem_free(r);
}

/*
 * Whether a thread exists. A thread in c->waiting may have ended: if the ring
 * buffer was full, the SAMPLE_RESUMES record of the thread was not sent.
 */
static bool thread_exists(const struct sample_header *h)
{
	return !syscall(SYS_tgkill, h->pid, h->tid, 0) || errno != ESRCH;
}

/* Context of sample_add_wait(): the time up to which waits are added. */
struct waits_end {
	struct collector *c;
	uint64_t until;
};

/*
 * Visitor of waiting threads: call sample_add_part() for the part of the wait
 * up to end->until. Return false if the record is to be forgotten, because the
 * part was not added, or because the thread does not exist any more.
 */
static bool sample_add_wait(void *ctx, struct sample_record *r)
{
	const struct waits_end *end = ctx;

	return sample_add_part(end->c, r, end->until) &&
	       thread_exists(&r->header);
}

void collector_add_waits(struct collector *c, uint64_t until)
{
	struct waits_end end = { c, until };

	waiting_threads_visit(&c->waiting, sample_add_wait, &end);
}

void collector_take(struct collector *c, const struct sample_record *r)
{
	if (c->seen_ns < r->header.time)
		c->seen_ns = r->header.time;
	if (!sample_is_wanted(c, &r->header))
		return;
	if (r->header.kind == SAMPLE_WAITS) {
		if (!waiting_threads_add(&c->waiting, r,
					 sample_share(c, r->header.pid)))
			sample_lose(c, WINDOW_OFF_CPU, r->header.time);
	} else if (r->header.kind == SAMPLE_RESUMES) {
		sample_take_wait(c, &r->header);
	} else {
		sample_take(c, r,
			    &(struct window_input){ .time = r->header.time,
						    .kind = WINDOW_CPU,
						    .samples = 1,
						    .value = 1000000000 /
							     c->o.hz });
	}
}
