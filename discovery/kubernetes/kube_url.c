/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kube_url.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/url.h"
#include "discovery/kubernetes/kube_session.h"

#define PAGE_SIZE     500
#define WATCH_SECONDS 300 /* shortest time of a watch; the longest is twice */

void kube_url_add_selectors(const struct kube_watch *w, struct buf *url)
{
	const struct kube_selector *s;

	if (w->id >= KUBE_ROLES)
		return;
	s = &w->s->config->selectors[w->id];
	if (s->label.len)
		url_add_param(url, "labelSelector", s->label);
	if (s->field.len)
		url_add_param(url, "fieldSelector", s->field);
}

void kube_url_write_path(const struct kube_watch *w, const char *server,
			 struct buf *url)
{
	const struct kube_resource *r = &kube_resources[w->id];

	buf_printf(url, "%s%s/", server, r->api);
	if (*w->namespace) {
		buf_str(url, "namespaces/");
		url_escape(str_of(w->namespace), url);
		buf_str(url, "/");
	}
	buf_str(url, r->name);
}

void kube_url_add_list(const struct kube_watch *w, struct buf *url)
{
	char limit[16];

	snprintf(limit, sizeof(limit), "%d", PAGE_SIZE);
	if (!w->is_unpaged)
		url_add_param(url, "limit", str_of(limit));
	if (w->next)
		url_add_param(url, "continue", str_of(w->next));
	else if (w->freshness == KUBE_CACHED)
		url_add_param(url, "resourceVersion",
			      str_of(w->version ? w->version : "0"));
}

int64_t kube_url_add_watch(const struct kube_watch *w, struct buf *url)
{
	const struct bytes seed = { (const uint8_t *)&w->started_ns,
				    sizeof(w->started_ns) };
	int64_t seconds =
		WATCH_SECONDS + (int64_t)(hash_bytes(seed) % WATCH_SECONDS);
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)seconds);
	url_add_param(url, "watch", str_of("true"));
	url_add_param(url, "allowWatchBookmarks", str_of("true"));
	url_add_param(url, "timeoutSeconds", str_of(text));
	url_add_param(url, "resourceVersion", str_of(w->version));
	return seconds * 1000;
}
