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
	struct str app;     /* the application of the parameter `name` */
	struct str spy;     /* the kind of the client, such as gospy */
	struct str address; /* IP address of the client */
};

/*
 * Complete the labels that a client sent: drop those that begin with "__"
 * except __name__, __session_id__ and LABEL_DELTA="false", and add service_name,
 * app_name, pyroscope_spy, job and instance if they are missing.
 */
void push_labels_complete(struct labels_builder *b,
			  const struct push_origin *origin);

#endif
