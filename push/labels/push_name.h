/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push name: the parameter `name` of POST /ingest, which has the name of the
 * application and the labels of the series: "app{key=value,key=value}". Values
 * are not quoted.
 * Source: github.com/grafana/pyroscope, pkg/og/storage/segment/key.go.
 *
 * Ownership: texts are borrowed from the parsed text; builders copy them.
 * Threads: any.
 */
#ifndef PUSH_LABELS_PUSH_NAME_H
#define PUSH_LABELS_PUSH_NAME_H

#include "model/labels.h"

/*
 * Parse a name: set *app, and set the labels in the builder, all of which are
 * kept, also those that begin with "__". ERR_INVALID: there is no name, or the
 * labels are malformed.
 */
NODISCARD int push_name_parse(struct str text, struct str *app,
			      struct labels_builder *out, struct err *err);

#endif
