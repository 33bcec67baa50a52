/* SPDX-License-Identifier: Apache-2.0 */
#include "push/labels/push_labels.h"

#define SERVICE "service_name"

/* Whether a client may set a label with this name and value. */
static bool push_labels_allow(struct str name, struct str value)
{
	if (!str_starts(name, str_of("__")))
		return true;
	if (str_is(name, LABEL_DELTA))
		return str_is(value, "false");
	return str_is(name, LABEL_NAME) || str_is(name, LABEL_PART) ||
	       str_is(name, "__session_id__");
}

void push_labels_filter(struct labels_builder *b)
{
	struct str empty = { .len = 0 };

	for (size_t i = b->count; i--;) {
		struct str name = b->v[i].name;

		if (!push_labels_allow(name, b->v[i].value))
			labels_set(b, name, empty);
	}
}

/* Set a label that is missing. */
static void push_labels_default(struct labels_builder *b, const char *name,
				struct str value)
{
	if (!labels_builder_get(b, str_of(name)).len)
		labels_set(b, str_of(name), value);
}

/* Whether the labels tell one process or machine from another. */
static bool push_labels_name_instance(const struct labels_builder *b)
{
	static const char *const names[] = {
		"instance",     "pod",          "hostname",
		"host",         "k8s.pod.name", "service.instance.id",
		"container.id",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (labels_builder_get(b, str_of(names[i])).len)
			return true;
	}
	return false;
}

void push_labels_complete(struct labels_builder *b,
			  const struct push_origin *origin, bool with_instance)
{
	struct str service;

	push_labels_filter(b);
	service = labels_builder_get(b, str_of(SERVICE));
	if (!service.len)
		labels_set(b, str_of(SERVICE),
			   origin->app.len ? origin->app :
					     str_of("unknown_service"));
	else if (origin->app.len && !str_eq(service, origin->app))
		push_labels_default(b, "app_name", origin->app);
	if (origin->spy.len)
		push_labels_default(b, "pyroscope_spy", origin->spy);
	push_labels_default(b, "job", labels_builder_get(b, str_of(SERVICE)));
	if (with_instance && !push_labels_name_instance(b))
		push_labels_default(b, "instance", origin->address);
}
