/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field numbers of the messages of profile.proto
 * (github.com/google/pprof/proto), shared by everything that reads or writes
 * the format.
 *
 * Threads: constants only, safe to use from any thread.
 */
#ifndef PPROF_PROTO_FIELDS_H
#define PPROF_PROTO_FIELDS_H

/* Message Profile: field numbers. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DROP_FRAMES = 7,
	PROFILE_KEEP_FRAMES = 8,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
	PROFILE_DOC_URL = 15,
};

/* Message Sample: field numbers. */
enum {
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
};

/*
 * Message Label. Label, Mapping, Function and Line have only number fields, so
 * each message is read into an array of numbers, with field n at index n - 1.
 * The constants below are these array indexes, not field numbers; the last one
 * is the array's length.
 */
enum {
	LABEL_KEY,
	LABEL_STR,
	LABEL_NUM,
	LABEL_UNIT,
	LABEL_FIELDS
};

/* Message Mapping: array indexes of its fields. */
enum {
	MAPPING_ID,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINES,
	MAPPING_FIELDS
};

/* Message Function: array indexes of its fields. */
enum {
	FUNCTION_ID,
	FUNCTION_NAME,
	FUNCTION_SYSTEM_NAME,
	FUNCTION_FILE,
	FUNCTION_START_LINE,
	FUNCTION_FIELDS
};

/* Message Line: array indexes of its fields. */
enum {
	LINE_FUNCTION,
	LINE_LINE,
	LINE_COLUMN,
	LINE_FIELDS
};

/* Message Location: field numbers, because its lines are messages. */
enum {
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LOCATION_FOLDED = 5,
};

#endif
