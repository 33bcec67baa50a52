/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kube_session.h"

#include "base/clock.h"

#define LISTS_MAX 10 /* lists in progress at the same time */

void kube_session_init(struct kube_session *s, struct provider *p)
{
	*s = (struct kube_session){
		.p = p, .config = (const struct kube_config *)p->config
	};
	kube_stores_init(&s->stores);
}

void kube_session_fini(struct kube_session *s)
{
	for (size_t i = 0; i < s->watches.count; i++)
		kube_watch_free(s->watches.v[i]);
	vec_fini(&s->watches);
	kube_stores_fini(&s->stores);
	kube_access_free(s->access);
}

void kube_session_add(struct kube_session *s, enum kube_resource_id id,
		      struct str namespace)
{
	*vec_add(&s->watches) = kube_watch_new(s, id, namespace);
}

int64_t kube_session_run(struct kube_session *s)
{
	int64_t now = clock_mono_ns();
	int64_t left = INT64_MAX;

	for (size_t i = 0; i < s->watches.count; i++) {
		struct kube_watch *w = s->watches.v[i];

		if (w->phase != KUBE_WAITING || w->wants_login ||
		    (w->wants_list && s->lists >= LISTS_MAX))
			continue;
		if (w->due_ns <= now)
			kube_watch_start(w);
		if (w->phase == KUBE_WAITING && !w->wants_login &&
		    (w->due_ns - now) / 1000000 + 1 < left)
			left = (w->due_ns - now) / 1000000 + 1;
	}
	return left;
}

void kube_session_wake(struct kube_session *s)
{
	for (size_t i = 0; i < s->watches.count; i++)
		s->watches.v[i]->wants_login = false;
}

void kube_session_recover(const struct kube_session *s)
{
	if (!*s->p->failure.source || s->is_lacking)
		return;
	for (size_t i = 0; i < s->watches.count; i++) {
		const struct kube_watch *w = s->watches.v[i];

		if (w->is_failing || w->is_refusing)
			return;
	}
	provider_recovered(s->p);
}

bool kube_session_is_synced(const struct kube_session *s)
{
	for (size_t i = 0; i < s->watches.count; i++) {
		if (!s->watches.v[i]->is_synced)
			return false;
	}
	return true;
}
