/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push labels: the labels of a pushed profile, made from those that the client
 * sent (docs/integrations.md).
 *
 * Ownership: texts are borrowed; builders copy them.
 * Threads: any.
 */
#ifndef PUSH_LABELS_PUSH_LABELS_H
#define PUSH_LABELS_PUSH_LABELS_H

#include "model/labels.h"

/* Who has sent a profile; empty texts: unknown. */
struct push_origin {
	struct str app;       /* the application of the parameter `name` */
	struct str spy;       /* the kind of the client, such as gospy */
	struct str address;   /* IP address of the client */
	struct str agent;     /* the header User-Agent */
	const char *protocol; /* a constant, such as "ingest" */
};

/*
 * Remove the labels that begin with "__", except __name__, __session_id__, LABEL_PART
 * and LABEL_DELTA="false".
 */
void push_labels_filter(struct labels_builder *b);

/*
 * Complete the labels that a client sent: filter them, and add service_name,
 * app_name, pyroscope_spy, job and, if `with_instance` is set, instance if they
 * are missing.
 */
void push_labels_complete(struct labels_builder *b,
			  const struct push_origin *origin, bool with_instance);

#endif
