/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/process_table.h"

#include <stdio.h>

#include "base/hash.h"
#include "bpf/process/elf_reader.h"
#include "bpf/process/maps_line.h"

enum {
	/*
	 * After read number n of a process, the next read is allowed after this
	 * time, doubled n times, but at most PROCESS_SCANS_SHIFT times.
	 */
	PROCESS_SCAN_MS = 100,
	PROCESS_SCANS_SHIFT = 8,
	/*
	 * address_range.since, the time at which a mapping was reported, is in
	 * units of 2^27 ns, about 1/8 of a second, so that it fits into 32
	 * bits.
	 */
	PROCESS_SINCE_SHIFT = 27,
	/*
	 * At most about this part (an eighth) of the array of mappings is freed
	 * at once by evictions.
	 */
	PROCESS_ROOM_PART = 8,
};

static uint64_t process_hash(uint32_t pid)
{
	/*
	 * hash_number() is for numbers that no outsider can choose. The kernel
	 * chooses PIDs.
	 */
	return hash_number(pid);
}

/*
 * Callback of table_find(): whether process number `number` has the PID `key`.
 */
static bool process_same(const void *ctx, uint32_t number, const void *key)
{
	const struct process_table *t = ctx;

	return t->processes.v[number].pid == *(const uint32_t *)key;
}

void process_table_init(struct process_table *t, struct file_table *files,
			struct sampler_mapping *mappings, uint32_t count,
			const struct process_publisher *publisher)
{
	*t = (struct process_table){
		.files = files,
		.mappings = mappings,
		.publisher = *publisher,
	};
	extents_init(&t->extents, count);
}

void process_table_fini(struct process_table *t)
{
	for (size_t i = 0; i < t->processes.count; i++) {
		if (t->processes.v[i].live)
			address_space_clear(&t->pool, &t->processes.v[i].space);
	}
	vec_fini(&t->processes);
	vec_fini(&t->gaps);
	vec_fini(&t->work);
	vec_fini(&t->ended);
	vec_fini(&t->publications);
	vec_fini(&t->publication_gaps);
	extents_fini(&t->extents);
	table_fini(&t->by_pid);
}

static uint32_t process_number(const struct process_table *t, uint32_t pid)
{
	return table_find(&t->by_pid, process_hash(pid), process_same, t, &pid);
}

const struct process *process_table_find(const struct process_table *t,
					 uint32_t pid)
{
	uint32_t number = process_number(t, pid);

	return number == TABLE_NONE ? NULL : &t->processes.v[number];
}

/* Let process_table_publish() visit a process. */
static void process_needs_work(struct process_table *t, struct process *p)
{
	if (p->listed)
		return;
	p->listed = true;
	*vec_add(&t->work) = (uint32_t)(p - t->processes.v);
}

/* Let a process be published again. */
static void process_change(struct process_table *t, struct process *p)
{
	p->changed = true;
	p->corrected = false;
	process_needs_work(t, p);
}

/* Forget a process, whose entry in the kernel is gone already. */
static void process_forget(struct process_table *t, uint32_t number)
{
	struct process *p = &t->processes.v[number];

	table_remove(&t->by_pid, process_hash(p->pid), number);
	address_space_clear(&t->pool, &p->space);
	p->live = false;
	p->listed = false;
	*vec_add(&t->gaps) = number;
}

/*
 * Whether to evict a process that t->hand, the hand of the clock (the
 * replacement algorithm), has reached. A process is not evicted if it is
 * marked, or if it is being read, and the read was allowed less than
 * PROCESS_ASKED_MS ago. Any other process is evicted if it was not sampled
 * since the hand reached it last, or if it has more than PROCESS_FAIR_RANGES
 * ranges; p->sampled of such a process is reset in any case.
 */
static bool process_gives_way(struct process *p, uint64_t now)
{
	bool was_sampled = p->sampled;

	if (!p->live || p->marked ||
	    (p->asked && now < p->asked_at + PROCESS_ASKED_MS))
		return false;
	p->sampled = false;
	return !was_sampled ||
	       address_space_count(&p->space) > PROCESS_FAIR_RANGES;
}

/*
 * Evict a process other than `keep`, which may be NULL. False: no process that
 * was looked at may be evicted.
 */
static bool process_evict(struct process_table *t, const struct process *keep,
			  uint64_t now)
{
	for (unsigned i = 0; i < PROCESS_EVICTION_STEPS && t->processes.count;
	     i++) {
		uint32_t number = t->hand++ % (uint32_t)t->processes.count;
		struct process *p = &t->processes.v[number];

		if (p == keep || !process_gives_way(p, now))
			continue;
		process_withdraw(t, p, now);
		process_forget(t, number);
		t->evicted++;
		return true;
	}
	return false;
}

/* Add a process. Returns NULL if there is no room. */
static struct process *process_add(struct process_table *t, uint32_t pid,
				   uint64_t now)
{
	uint32_t number;

	if (t->by_pid.count >= PROCESS_TABLE_MAX &&
	    !process_evict(t, NULL, now)) {
		t->refused++;
		return NULL;
	}
	number = t->gaps.count ? t->gaps.v[--t->gaps.count] :
				 (uint32_t)t->processes.count;
	if (number == t->processes.count)
		vec_add(&t->processes);
	t->processes.v[number] = (struct process){
		.pid = pid,
		.uid = process_uid_init(),
		.live = true,
		.publication = PUBLICATION_NONE,
		.program = FILE_NONE,
		.group = PROCESS_NO_GROUP,
		.old_group = PROCESS_NO_GROUP,
	};
	table_add(&t->by_pid, process_hash(pid), number);
	process_change(t, &t->processes.v[number]);
	return &t->processes.v[number];
}

/*
 * Return the process `pid`, which is alive. It is added if it is not known, or
 * if the known process with this PID has ended. NULL: there is no room for it.
 */
static struct process *process_get(struct process_table *t, uint32_t pid,
				   uint64_t now)
{
	uint32_t number = process_number(t, pid);

	if (number == TABLE_NONE)
		return process_add(t, pid, now);
	/* The PID of a process that has ended is used again. */
	if (t->processes.v[number].ended) {
		process_withdraw(t, &t->processes.v[number], now);
		process_forget(t, number);
		return process_add(t, pid, now);
	}
	return &t->processes.v[number];
}

static void process_name(struct process *p, struct str name)
{
	size_t len = name.len < sizeof(p->name) - 1 ? name.len :
						      sizeof(p->name) - 1;

	memcpy(p->name, name.ptr, len);
	p->name[len] = 0;
}

/*
 * Add a mapping to a process. If the pool of ranges is full, evict other
 * processes.
 */
static void process_map(struct process_table *t, struct process *p,
			struct address_range range, uint64_t now)
{
	while (address_pool_is_full(&t->pool) && process_evict(t, p, now))
		;
	if (!address_space_map(&t->pool, &p->space, range))
		t->crowded_out++;
	/*
	 * Even if the range found no room, what it overlaps is not mapped any
	 * more.
	 */
	process_change(t, p);
}

/*
 * Convert a time of the monotonic clock to the unit of address_range.since, see
 * PROCESS_SINCE_SHIFT.
 */
static uint32_t process_since(uint64_t ns)
{
	return (uint32_t)(ns >> PROCESS_SINCE_SHIFT);
}

/*
 * Note that a process has mapped `file`. The first file counts as its program:
 * the kernel maps the program first, then its interpreter. In /proc/PID/maps,
 * which is sorted by address, the program mostly comes first, too.
 */
static void process_runs(struct process *p, uint32_t file)
{
	if (p->program == FILE_NONE)
		p->program = file;
}

/*
 * The vDSO, a library that the kernel maps into each process. It counts as one
 * file of root for all processes.
 */
#define VDSO "[vdso]"

/* Whether a path names a file, and not memory such as "[heap]" or "//anon". */
static bool path_is_file(struct str path)
{
	return path.len > 1 && path.ptr[0] == '/' && path.ptr[1] != '/';
}

/*
 * Return the number of a file that process `p` has mapped, or FILE_NONE. The
 * file is added if it is new.
 */
static uint32_t process_file(struct process_table *t, struct process *p,
			     struct str path,
			     const struct file_identity *identity)
{
	struct process_uid root = { .is_known = true };

	return file_table_get(t->files, path, identity,
			      str_is(path, VDSO) ? &root : &p->uid, p->pid);
}

static void process_report_map(struct process_table *t,
			       const struct side_band_record *r, uint64_t now)
{
	struct process *p = process_get(t, r->pid, now);
	struct file_identity identity = { .is_build_id = true,
					  .bytes = r->build_id };
	struct buf inode = { 0 };
	uint32_t file = FILE_NONE;

	if (!p)
		return;
	if (!r->build_id.len) {
		file_inode_encode(&inode, r->major, r->minor, r->inode);
		identity = (struct file_identity){ .bytes = buf_bytes(&inode) };
	}
	if (path_is_file(r->text) || str_is(r->text, VDSO))
		file = process_file(t, p, r->text, &identity);
	process_map(t, p,
		    (struct address_range){ .start = r->start,
					    .end = r->end,
					    .offset = r->offset,
					    .file = file,
					    .since = process_since(r->time) },
		    now);
	if (path_is_file(r->text))
		process_runs(p, file);
	buf_fini(&inode);
}

/*
 * Take a process out of its group. p->old_group becomes `old`, unless `old` is
 * PROCESS_NO_GROUP.
 */
static void process_leave_group(struct process *p, uint32_t old)
{
	p->group = PROCESS_NO_GROUP;
	if (old != PROCESS_NO_GROUP)
		p->old_group = old;
}

/*
 * A fork was reported: give the child the user (as a guess), name, program,
 * mark, group (as `old_group`) and mappings of its parent. If the publication
 * of the parent is up to date, publish the child with it at once.
 */
static void process_report_fork(struct process_table *t,
				const struct side_band_record *r, uint64_t now)
{
	const struct process *parent;
	struct process *child;

	if (r->pid == r->parent)
		return; /* a thread */
	child = process_get(t, r->pid, now);
	if (!child)
		return;
	child->began_ns = r->time;
	child->parent = r->parent;
	parent = process_table_find(t, r->parent);
	if (!parent)
		return;
	child->uid = process_uid_guess(parent->uid);
	memcpy(child->name, parent->name, sizeof(child->name));
	child->program = parent->program;
	child->marked |= parent->marked;
	process_leave_group(child, parent->group != PROCESS_NO_GROUP ?
					   parent->group :
					   parent->old_group);
	address_space_clear(&t->pool, &child->space);
	address_space_share(&child->space, &parent->space);
	process_withdraw(t, child, now);
	process_change(t, child);
	if (parent->changed || parent->publication == PUBLICATION_NONE)
		return;
	child->publication = parent->publication;
	t->publications.v[child->publication].users++;
	child->changed = !t->publisher.set(
		t->publisher.ctx, child->pid,
		&(struct sampler_process){
			.first = t->publications.v[child->publication]
					 .extent.first,
			.count = t->publications.v[child->publication]
					 .extent.count });
}

static void process_report_exit(struct process_table *t, uint32_t pid,
				uint64_t now)
{
	uint32_t number = process_number(t, pid);
	struct process *p;

	if (number == TABLE_NONE)
		return;
	p = &t->processes.v[number];
	if (p->ended)
		return;
	p->ended = true;
	p->ended_at = now;
	*vec_add(&t->ended) = number;
}

void process_table_sampled(struct process_table *t, uint32_t pid)
{
	uint32_t number = process_number(t, pid);
	struct process *p;

	if (number == TABLE_NONE)
		return;
	p = &t->processes.v[number];
	p->sampled = true;
	/*
	 * A process whose mappings found no room still counts as changed. Let
	 * process_table_publish() try again: there may be room now, and if not,
	 * it evicts other processes, because this one is sampled.
	 */
	if (p->changed)
		process_needs_work(t, p);
}

void process_table_report(struct process_table *t,
			  const struct side_band_record *r, uint64_t now)
{
	struct process *p;

	switch (r->kind) {
	case SIDE_BAND_MAP:
		process_report_map(t, r, now);
		break;
	case SIDE_BAND_EXEC:
		p = process_get(t, r->pid, now);
		if (!p)
			break;
		process_name(p, r->text);
		p->uid = process_uid_guess(p->uid);
		/*
		 * If there is no room to publish the new program, the process
		 * keeps its old publication, and process_publish_less() takes
		 * the unwind tables away from the mappings that the process
		 * does not have any more. But if other processes share the
		 * publication, these mappings keep their tables, and the kernel
		 * would unwind the new program with the tables of the old one.
		 */
		if (process_publication_is_shared(t, p))
			process_withdraw(t, p, now);
		address_space_clear(&t->pool, &p->space);
		process_leave_group(p, p->group);
		p->program = FILE_NONE;
		p->ignored = false;
		/* What is being read is about the program that ran before. */
		p->asked = false;
		p->scans = 0;
		p->scan_after = 0;
		p->began_ns = r->time;
		process_change(t, p);
		break;
	case SIDE_BAND_NAME:
		p = process_get(t, r->pid, now);
		if (p && r->pid == r->tid)
			process_name(p, r->text);
		break;
	case SIDE_BAND_FORK:
		process_report_fork(t, r, now);
		break;
	case SIDE_BAND_EXIT:
		if (r->pid == r->tid)
			process_report_exit(t, r->pid, now);
		break;
	default:
		break;
	}
}

uint32_t process_table_inherited(const struct process_table *t,
				 const struct process *p)
{
	const struct process *parent;

	if (p->old_group != PROCESS_NO_GROUP)
		return p->old_group;
	parent = process_table_find(t, p->parent);
	return parent ? parent->group : PROCESS_NO_GROUP;
}

uint32_t process_table_uid(struct process_table *t, uint32_t pid)
{
	uint32_t number = process_number(t, pid);

	return number == TABLE_NONE ?
		       PROCESS_UID_GONE :
		       process_uid_find(&t->processes.v[number].uid, pid);
}

void process_table_set_group(struct process_table *t, uint32_t pid,
			     uint32_t group)
{
	uint32_t number = process_number(t, pid);

	if (number != TABLE_NONE)
		t->processes.v[number].group = group;
}

void process_table_ignore(struct process_table *t, uint32_t pid)
{
	uint32_t number = process_number(t, pid);

	if (number == TABLE_NONE || t->processes.v[number].ignored)
		return;
	t->processes.v[number].ignored = true;
	process_change(t, &t->processes.v[number]);
}

void process_table_regroup(struct process_table *t, struct process *p)
{
	process_leave_group(p, p->group);
	if (!p->ignored)
		return;
	p->ignored = false;
	process_change(t, p);
}

void process_table_mark(struct process_table *t, uint32_t pid, uint64_t now)
{
	struct process *p = process_get(t, pid, now);

	if (p)
		p->marked = true;
}

bool process_table_may_scan(struct process_table *t, uint32_t pid, uint64_t now)
{
	uint32_t number = process_number(t, pid);
	struct process *p = number == TABLE_NONE ? process_add(t, pid, now) :
						   &t->processes.v[number];

	if (!p || p->ended || now < p->scan_after)
		return false;
	if (p->scans < PROCESS_SCANS_SHIFT)
		p->scans++;
	p->scan_after = now + ((uint64_t)PROCESS_SCAN_MS << p->scans);
	p->asked = true;
	p->asked_at = now;
	return true;
}

const struct process *process_table_answer(struct process_table *t,
					   uint32_t pid, uint64_t read_ns)
{
	uint32_t number = process_number(t, pid);
	struct process *p;

	if (number == TABLE_NONE || !t->processes.v[number].asked)
		return NULL;
	p = &t->processes.v[number];
	/*
	 * This does not answer the last request: reading began before that
	 * request, perhaps even before the process began its program.
	 */
	if (read_ns / 1000000 < p->asked_at)
		return NULL;
	p->asked = false;
	return p->began_ns < read_ns ? p : NULL;
}

/* Add the mappings of `maps`, lines of /proc/PID/maps, to a process. */
static void process_map_text(struct process_table *t, struct process *p,
			     struct str maps, uint64_t now)
{
	while (maps.len) {
		struct maps_line l;
		struct file_identity identity = { .is_build_id = false };
		struct buf inode = { 0 };
		uint32_t file = FILE_NONE;

		if (!maps_line_parse(str_cut(maps, '\n', &maps), &l) ||
		    !l.executable)
			continue;
		file_inode_encode(&inode, l.major, l.minor, l.inode);
		identity.bytes = buf_bytes(&inode);
		if ((l.inode && path_is_file(l.path)) || str_is(l.path, VDSO))
			file = process_file(t, p, l.path, &identity);
		process_map(t, p,
			    (struct address_range){ .start = l.start,
						    .end = l.end,
						    .offset = l.offset,
						    .file = file },
			    now);
		if (path_is_file(l.path))
			process_runs(p, file);
		buf_fini(&inode);
	}
}

void process_table_scan(struct process_table *t, uint32_t pid,
			const struct process_text *text, uint64_t read_ns,
			uint64_t now)
{
	const struct process *known = process_table_find(t, pid);
	struct address_space before;
	struct process *p;

	/*
	 * `text` is about the process that has ended: such a process has a
	 * directory in /proc, but no mappings, until its parent waits for it. A
	 * new process with the same PID would have been reported.
	 */
	if (known && known->ended)
		return;
	p = process_get(t, pid, now);
	/*
	 * If p->began_ns is not before `read_ns`, `text` may be about the
	 * program that ran before. The mappings that the process has made since
	 * p->began_ns are known from reports.
	 */
	if (!p || p->began_ns >= read_ns)
		return;
	process_name(p, text->name);
	before = p->space;
	p->space = (struct address_space){ 0 };
	process_change(t, p);
	process_map_text(t, p, text->maps, now);
	for (size_t i = 0; i < address_space_count(&before); i++) {
		const struct address_range *r = address_space_at(&before, i);

		if (r->since >= process_since(read_ns))
			process_map(t, p, *r, now);
	}
	address_space_clear(&t->pool, &before);
}

/*
 * Visit a process that has ended: after PROCESS_LINGER_MS, remove its mappings
 * from the kernel, and after PROCESS_KEPT_MS, the process from the table.
 */
static void process_retire(struct process_table *t, uint32_t number,
			   uint64_t now)
{
	struct process *p = &t->processes.v[number];

	if (p->publication != PUBLICATION_NONE &&
	    p->ended_at + PROCESS_LINGER_MS <= now)
		process_withdraw(t, p, now);
	if (p->ended_at + PROCESS_KEPT_MS <= now)
		process_forget(t, number);
}

/*
 * Evict processes, because sampled processes found no room for their mappings.
 * `mappings` is the number of mappings that found no room. The room of evicted
 * processes becomes free after EXTENTS_DELAY_MS.
 */
static void process_table_make_room(struct process_table *t, size_t mappings,
				    uint64_t now)
{
	size_t most = t->extents.count / PROCESS_ROOM_PART;

	if (mappings > most)
		mappings = most;
	while (t->extents.leaving < mappings && process_evict(t, NULL, now))
		;
}

/* Visit the processes that have ended, at most once in PROCESS_RETIRE_MS. */
static void process_table_retire(struct process_table *t, uint64_t now)
{
	size_t left = 0;

	if (now < t->retire_after)
		return;
	t->retire_after = now + PROCESS_RETIRE_MS;
	for (size_t i = 0; i < t->ended.count; i++) {
		uint32_t number = t->ended.v[i];
		const struct process *p = &t->processes.v[number];

		/*
		 * The process may have been forgotten since, and its number
		 * given to another process.
		 */
		if (p->live && p->ended)
			process_retire(t, number, now);
		if (p->live && p->ended)
			t->ended.v[left++] = number;
	}
	t->ended.count = left;
}

void process_table_publish(struct process_table *t, uint64_t now)
{
	size_t missed = 0; /* mappings for which there is no room */

	for (size_t i = 0; i < t->work.count; i++) {
		struct process *p = &t->processes.v[t->work.v[i]];

		/*
		 * If p->listed is false, the process that was listed with this
		 * number was forgotten since, or `p` was visited already: if
		 * another process got the number and was listed, too, the
		 * number is in the list twice.
		 */
		if (!p->listed)
			continue;
		p->listed = false;
		if (p->changed && !p->ended && !process_publish(t, p, now) &&
		    p->sampled)
			missed += address_space_count(&p->space);
	}
	t->work.count = 0;
	process_table_retire(t, now);
	process_table_make_room(t, missed, now);
}

static bool process_has_file(const struct process *p, uint32_t file)
{
	for (size_t i = 0; i < address_space_count(&p->space); i++) {
		if (address_space_at(&p->space, i)->file == file)
			return true;
	}
	return false;
}

void process_table_file_changed(struct process_table *t, uint32_t file)
{
	for (size_t i = 0; i < t->processes.count; i++) {
		struct process *p = &t->processes.v[i];

		if (p->live && process_has_file(p, file))
			process_change(t, p);
	}
}

void process_table_sweep(struct process_table *t, const uint32_t *files,
			 size_t count, uint64_t now)
{
	file_table_count_begin(t->files);
	for (size_t i = 0; i < count; i++)
		file_table_count(t->files, files[i]);
	for (uint32_t i = 0; i < t->processes.count; i++) {
		struct process *p = &t->processes.v[i];

		if (!p->live)
			continue;
		/* There may be room for its mappings now. */
		if (p->changed)
			process_needs_work(t, p);
		for (size_t k = 0; k < address_space_count(&p->space); k++)
			file_table_count(t->files,
					 address_space_at(&p->space, k)->file);
		file_table_count(t->files, p->program);
	}
	file_table_count_end(t->files, now);
}
