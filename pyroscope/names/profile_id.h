/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile ids: what Pyroscope's clients call a profile type, one sample type of
 * the profiles of one name: "process_cpu:cpu:nanoseconds:cpu:nanoseconds" is the
 * name, type and unit of the values, and type and unit of the period. Profiles
 * that were scraped have other names here than Pyroscope gives them.
 *
 * Ownership: texts are borrowed.
 * Threads: any.
 */
#ifndef PYROSCOPE_NAMES_PROFILE_ID_H
#define PYROSCOPE_NAMES_PROFILE_ID_H

#include "base/buf.h"
#include "model/types.h"

enum {
	/* Largest number of stored names that are shown as one. */
	PROFILE_ALIASES_MAX = 2
};

/* The parts of an id. */
struct profile_id {
	struct str name; /* as it is shown */
	struct value_type value;
	struct value_type period;
};

/* The label whose value is the id. */
#define PROFILE_TYPE_LABEL "__profile_type__"

/* Whether two ids are of the same name and sample type, whatever the period. */
bool profile_id_agree(const struct profile_id *a, const struct profile_id *b);

/* Parse an id. ERR_INVALID: it has not five parts, or a sixth that is unknown. */
NODISCARD int profile_id_parse(struct str text, struct profile_id *out,
			       struct err *err);

/* Append an id to `out`. */
void profile_id_print(const struct profile_id *id, struct buf *out);

/*
 * Append the value that a label of profile types has for an id to `out`:
 * __profile_type__, __type__, __unit__, __period_type__, __period_unit__.
 */
void profile_id_part(const struct profile_id *id, struct str label,
		     struct buf *out);

/* Whether a label is one of these. */
bool profile_id_is_label(struct str label);

/* Return the name under which profiles of a stored name are shown. */
struct str profile_id_shown(struct str stored);

/*
 * Set out[] to the stored names of profiles that are shown under a name, and
 * return their number, at least 1.
 */
size_t profile_id_stored(struct str shown, struct str out[PROFILE_ALIASES_MAX]);

#endif
