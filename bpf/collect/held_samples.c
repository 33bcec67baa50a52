/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/held_samples.h"

#include "base/mem.h"
#include "bpf/kernel/sampler.h"

/* Whether there is room for one more sample. */
static bool held_samples_have_room(const struct held_samples *h, uint32_t pid,
				   uint32_t uid)
{
	size_t of_user = 0;
	size_t of_process = 0;

	for (size_t i = 0; i < h->list.count; i++) {
		of_user += h->list.v[i].uid == uid;
		of_process += h->list.v[i].pid == pid;
	}
	return h->list.count < HELD_SAMPLES_MAX &&
	       (!uid || of_user < HELD_SAMPLES_USER_MAX) &&
	       of_process < HELD_SAMPLES_PROCESS_MAX;
}

bool held_samples_add(struct held_samples *h, const struct sample_record *r,
		      uint32_t uid, const struct window_input *in, uint64_t now)
{
	if (!held_samples_have_room(h, r->header.pid, uid))
		return false;
	*vec_add(&h->list) = (struct held_sample){
		.record = mem_dup(r, sampler_record_size(&r->header)),
		.pid = r->header.pid,
		.uid = uid,
		.in = *in,
		.until = now + HELD_SAMPLES_MS,
	};
	return true;
}

bool held_samples_take(struct held_samples *h, size_t *at,
		       bool (*waits)(void *ctx, uint32_t pid), void *ctx,
		       uint64_t now, struct held_sample *out)
{
	for (; *at < h->list.count; ++*at) {
		const struct held_sample *s = &h->list.v[*at];

		if (now < s->until && waits(ctx, s->pid))
			continue;
		*out = *s;
		vec_remove(&h->list, *at, 1);
		return true;
	}
	return false;
}

bool held_samples_before(const struct held_samples *h, uint64_t time)
{
	for (size_t i = 0; i < h->list.count; i++) {
		if (h->list.v[i].in.time < time)
			return true;
	}
	return false;
}

void held_samples_fini(struct held_samples *h)
{
	for (size_t i = 0; i < h->list.count; i++)
		mem_free(h->list.v[i].record);
	vec_fini(&h->list);
}
