/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/otlp/otlp_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/message_table.h"
#include "base/wire_write.h"

/* A value may have values, so its type is declared before theirs. */
static const struct message_type message_any;

static const struct message_field fields_of_array[] = {
	MESSAGES(1, "values", message_any), END
};
static const struct message_type message_array = { "ArrayValue",
						   fields_of_array };

static const struct message_field fields_of_pair[] = {
	ONE(1, "key", STRING), MESSAGE(2, "value", message_any),
	ONE(3, "key_strindex", INT32), END
};
static const struct message_type message_pair = { "KeyValue", fields_of_pair };

static const struct message_field fields_of_map[] = {
	MESSAGES(1, "values", message_pair), END
};
static const struct message_type message_map = { "KeyValueList",
						 fields_of_map };

static const struct message_field fields_of_any[] = {
	ONE(1, "string_value", STRING),
	ONE(2, "bool_value", BOOL),
	ONE(3, "int_value", INT64),
	ONE(4, "double_value", DOUBLE),
	MESSAGE(5, "array_value", message_array),
	MESSAGE(6, "kvlist_value", message_map),
	ONE(7, "bytes_value", BYTES),
	ONE(8, "string_value_strindex", INT32),
	END
};
static const struct message_type message_any = { "AnyValue", fields_of_any };

static const struct message_field fields_of_value_type[] = {
	ONE(1, "type_strindex", INT32), ONE(2, "unit_strindex", INT32), END
};
static const struct message_type message_value_type = { "ValueType",
							fields_of_value_type };

static const struct message_field fields_of_mapping[] = {
	ONE(1, "memory_start", UINT64),      ONE(2, "memory_limit", UINT64),
	ONE(3, "file_offset", UINT64),       ONE(4, "filename_strindex", INT32),
	MANY(5, "attribute_indices", INT32), END
};
static const struct message_type message_mapping = { "Mapping",
						     fields_of_mapping };

static const struct message_field fields_of_line[] = {
	ONE(1, "function_index", INT32), ONE(2, "line", INT64),
	ONE(3, "column", INT64), END
};
static const struct message_type message_line = { "Line", fields_of_line };

/* Release 1.8 has the singular of some names. */
static const struct message_field fields_of_location[] = {
	ONE(1, "mapping_index", INT32),      ONE(2, "address", UINT64),
	MESSAGES(3, "lines", message_line),  MESSAGES(3, "line", message_line),
	MANY(4, "attribute_indices", INT32), END
};
static const struct message_type message_location = { "Location",
						      fields_of_location };

static const struct message_field fields_of_function[] = {
	ONE(1, "name_strindex", INT32), ONE(2, "system_name_strindex", INT32),
	ONE(3, "filename_strindex", INT32), ONE(4, "start_line", INT64), END
};
static const struct message_type message_function = { "Function",
						      fields_of_function };

static const struct message_field fields_of_link[] = { ONE(1, "trace_id", HEX),
						       ONE(2, "span_id", HEX),
						       END };
static const struct message_type message_link = { "Link", fields_of_link };

static const struct message_field fields_of_entry[] = {
	ONE(1, "key_strindex", INT32), MESSAGE(2, "value", message_any),
	ONE(3, "unit_strindex", INT32), END
};
static const struct message_type message_entry = { "KeyValueAndUnit",
						   fields_of_entry };

static const struct message_field fields_of_stack[] = {
	MANY(1, "location_indices", INT32), END
};
static const struct message_type message_stack = { "Stack", fields_of_stack };

static const struct message_field fields_of_dictionary[] = {
	MESSAGES(1, "mapping_table", message_mapping),
	MESSAGES(2, "location_table", message_location),
	MESSAGES(3, "function_table", message_function),
	MESSAGES(4, "link_table", message_link),
	MANY(5, "string_table", STRING),
	MESSAGES(6, "attribute_table", message_entry),
	MESSAGES(7, "stack_table", message_stack),
	END
};
static const struct message_type message_dictionary = { "ProfilesDictionary",
							fields_of_dictionary };

static const struct message_field fields_of_sample[] = {
	ONE(1, "stack_index", INT32),
	MANY(2, "attribute_indices", INT32),
	ONE(3, "link_index", INT32),
	MANY(4, "values", INT64),
	MANY(5, "timestamps_unix_nano", FIXED64),
	END
};
static const struct message_type message_sample = { "Sample",
						    fields_of_sample };

static const struct message_field fields_of_profile[] = {
	MESSAGE(1, "sample_type", message_value_type),
	MESSAGES(2, "samples", message_sample),
	MESSAGES(2, "sample", message_sample),
	ONE(3, "time_unix_nano", FIXED64),
	ONE(4, "duration_nano", UINT64),
	MESSAGE(5, "period_type", message_value_type),
	ONE(6, "period", INT64),
	ONE(9, "original_payload_format", STRING),
	ONE(10, "original_payload", BYTES),
	MANY(11, "attribute_indices", INT32),
	END
};
static const struct message_type message_profile = { "Profile",
						     fields_of_profile };

static const struct message_field fields_of_scope[] = {
	ONE(1, "name", STRING), ONE(2, "version", STRING), END
};
static const struct message_type message_scope = { "InstrumentationScope",
						   fields_of_scope };

static const struct message_field fields_of_scope_profiles[] = {
	MESSAGE(1, "scope", message_scope),
	MESSAGES(2, "profiles", message_profile), END
};
static const struct message_type message_scope_profiles = {
	"ScopeProfiles", fields_of_scope_profiles
};

static const struct message_field fields_of_resource[] = {
	MESSAGES(1, "attributes", message_pair), END
};
static const struct message_type message_resource = { "Resource",
						      fields_of_resource };

static const struct message_field fields_of_resource_profiles[] = {
	MESSAGE(1, "resource", message_resource),
	MESSAGES(2, "scope_profiles", message_scope_profiles), END
};
static const struct message_type message_resource_profiles = {
	"ResourceProfiles", fields_of_resource_profiles
};

static const struct message_field fields_of_request[] = {
	MESSAGES(1, "resource_profiles", message_resource_profiles),
	MESSAGE(2, "dictionary", message_dictionary), END
};
static const struct message_type message_request = {
	"ExportProfilesServiceRequest", fields_of_request
};

int otlp_json_format(const char *content_type, bool *is_json, struct err *err)
{
	struct str rest;
	struct str type = str_trim(str_cut(str_of(content_type), ';', &rest));

	*is_json = str_is_nocase(type, "application/json");
	if (*is_json || str_is_nocase(type, "application/x-protobuf") ||
	    str_is_nocase(type, "application/protobuf"))
		return 0;
	return err_set(
		err, ERR_MEDIA,
		"unsupported Content-Type \"%.100s\": use application/x-protobuf or application/json",
		content_type);
}

int otlp_json_request(struct bytes json, struct buf *out, struct err *err)
{
	return transcode_from_json(&message_request, json, out, err);
}

void otlp_json_answer(uint64_t refused, struct str why, bool is_json,
		      struct buf *out)
{
	struct buf partial = { 0 };
	struct json j = json_init(out);
	char number[24];

	if (is_json) {
		json_begin(&j, '{');
		if (refused) {
			json_key(&j, "partialSuccess");
			json_begin(&j, '{');
			json_key(&j, "rejectedProfiles");
			/* Numbers of 64 bits are texts. */
			snprintf(number, sizeof(number), "%" PRIu64, refused);
			json_text(&j, number);
			json_key(&j, "errorMessage");
			json_str(&j, why);
			json_end(&j, '}');
		}
		json_end(&j, '}');
	} else if (refused) {
		wire_write_number(&partial, 1, refused);
		wire_write_str(&partial, 2, why);
		wire_write_bytes(out, 1, buf_bytes(&partial));
	}
	buf_fini(&partial);
}

void otlp_json_error(uint32_t code, struct str why, bool is_json,
		     struct buf *out)
{
	struct json j = json_init(out);

	if (!is_json) {
		wire_write_number(out, 1, code);
		wire_write_str(out, 2, why);
		return;
	}
	json_begin(&j, '{');
	json_key(&j, "code");
	json_int(&j, code);
	json_key(&j, "message");
	json_str(&j, why);
	json_end(&j, '}');
}
