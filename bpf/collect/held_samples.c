/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/held_samples.h"

#include "base/mem.h"
#include "bpf/kernel/sampler.h"

bool held_samples_add(struct held_samples *h, const struct sample_record *r,
		      const struct window_input *in, uint64_t now)
{
	if (h->list.count == HELD_SAMPLES_MAX)
		return false;
	*vec_add(&h->list) = (struct held_sample){
		.record = mem_dup(r, sampler_record_size(&r->header)),
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

		if (now < s->until && waits(ctx, s->record->header.pid))
			continue;
		*out = *s;
		vec_remove(&h->list, *at, 1);
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
