/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publication of a process: the copy of its mappings that the program in the
 * kernel (bpf/kernel/sampler.bpf.c) reads. A child shares the publication of
 * its parent until one of them changes.
 */
#include "bpf/process/process_table.h"

void process_unpublish(struct process_table *t, struct process *p, uint64_t now)
{
	struct publication *x;

	if (p->publication == PUBLICATION_NONE)
		return;
	x = &t->publications.v[p->publication];
	if (!--x->users) {
		extents_give(&t->extents, x->extent, now + EXTENTS_DELAY_MS);
		*vec_add(&t->publication_gaps) = p->publication;
	}
	p->publication = PUBLICATION_NONE;
}

void process_withdraw(struct process_table *t, struct process *p, uint64_t now)
{
	if (p->publication == PUBLICATION_NONE)
		return;
	t->publisher.remove(t->publisher.ctx, p->pid);
	process_unpublish(t, p, now);
}

/* Return the number of a new publication. */
static uint32_t publication_add(struct process_table *t, struct extent extent)
{
	uint32_t number =
		t->publication_gaps.count ?
			t->publication_gaps.v[--t->publication_gaps.count] :
			(uint32_t)t->publications.count;

	if (number == t->publications.count)
		vec_add(&t->publications);
	t->publications.v[number] =
		(struct publication){ .extent = extent, .users = 1 };
	return number;
}

/* Whether a published mapping refers to the table that its file has now. */
static bool process_has_table(const struct process_table *t,
			      const struct process *p,
			      const struct sampler_mapping *m)
{
	const struct address_range *r = address_space_find(&p->space, m->start);
	struct sampler_mapping now = { .start = m->start };

	if (r)
		file_table_resolve(t->files, r->file,
				   r->offset + (m->start - r->start), &now);
	return now.pages && now.table == m->table && now.bias == m->bias;
}

bool process_publication_is_shared(const struct process_table *t,
				   const struct process *p)
{
	return p->publication != PUBLICATION_NONE &&
	       t->publications.v[p->publication].users > 1;
}

/*
 * Correct the publication that a process has, because there is no room for a
 * new one. The entries of an evicted table will belong to another table, so no
 * published mapping may refer to them any more. Returns false, for
 * process_publish().
 */
static bool process_publish_less(struct process_table *t, struct process *p)
{
	struct extent e = { 0 };
	bool shared = process_publication_is_shared(t, p);

	t->crowded_out++;
	if (p->publication != PUBLICATION_NONE && !p->corrected)
		e = t->publications.v[p->publication].extent;
	p->corrected = true;
	for (uint32_t i = e.first; i < e.first + e.count; i++) {
		struct sampler_mapping *m = &t->mappings[i];

		/*
		 * Skip a mapping that the process does not have any more: other
		 * processes that share the publication may still have it.
		 */
		if (shared && !address_space_find(&p->space, m->start))
			continue;
		/*
		 * The kernel may read `pages` meanwhile. Both the old value and
		 * 0 are safe, because the entries of an evicted table are not
		 * reused before EXTENTS_DELAY_MS have passed.
		 */
		if (m->pages && !process_has_table(t, p, m))
			__atomic_store_n(&m->pages, 0, __ATOMIC_RELAXED);
	}
	return false;
}

bool process_publish(struct process_table *t, struct process *p, uint64_t now)
{
	struct extent extent = { 0 };
	size_t count = address_space_count(&p->space);

	if (count && !extents_take(&t->extents, (uint32_t)count, now, &extent))
		return process_publish_less(t, p);
	for (size_t i = 0; i < count; i++) {
		const struct address_range *r = address_space_at(&p->space, i);
		struct sampler_mapping *m = &t->mappings[extent.first + i];

		m->start = r->start;
		m->end = r->end;
		file_table_resolve(t->files, r->file, r->offset, m);
	}
	if (!t->publisher.set(
		    t->publisher.ctx, p->pid,
		    &(struct sampler_process){
			    .first = extent.first,
			    .count = extent.count,
			    .flags = p->ignored ? SAMPLER_PROCESS_IGNORED : 0,
		    })) {
		extents_give(&t->extents, extent, now + EXTENTS_DELAY_MS);
		return process_publish_less(t, p);
	}
	process_unpublish(t, p, now);
	p->publication = publication_add(t, extent);
	p->changed = false;
	return true;
}
