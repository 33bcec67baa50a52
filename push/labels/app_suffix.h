/* SPDX-License-Identifier: Apache-2.0 */
/*
 * App suffix: the end of an application's name, after its last dot, tells what folded
 * stacks count: "shop.alloc_space" are bytes of memory of "shop".
 * Source: github.com/grafana/pyroscope, pkg/ingester/pyroscope/ingest_adapter.go
 * (convertMetadata), whose profile types these are.
 *
 * Ownership: names are borrowed; what is returned is constant.
 * Threads: any.
 */
#ifndef PUSH_LABELS_APP_SUFFIX_H
#define PUSH_LABELS_APP_SUFFIX_H

#include "base/bytes.h"
#include "base/err.h"

/* What folded stacks count. */
struct app_suffix {
	const char *suffix;
	const char *name; /* the label __name__ */
	const char *type; /* the sample type, and its unit */
	const char *unit;
	bool is_sampled; /* the numbers are of samples, each of which is a time */
	bool is_part;    /* other types have the same name: see LABEL_PART */
};

/*
 * Return what the name of an application says, and remove it from the name. A name
 * without a dot is of CPU time. ERR_INVALID: the end is not known.
 */
NODISCARD int app_suffix_cut(struct str *app, const struct app_suffix **out,
			     struct err *err);

#endif
