/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between their wire format and JSON: each type of field both ways, and
 * what is refused.
 */
#include "base/transcode.h"

#include "base/wire.h"
#include "base/wire_write.h"
#include "tests/check.h"

TestSuite(transcode, .timeout = 20);

static const struct enum_name colours[] = {
	{ "COLOUR_UNSPECIFIED", 0 },
	{ "COLOUR_RED", 1 },
	{ NULL, 0 },
};

static const struct message_type inner_type;

static const struct message_field inner_fields[] = {
	{ .number = 1, .name = "name", .type = FIELD_STRING },
	{ .number = 2,
	  .name = "child",
	  .type = FIELD_MESSAGE,
	  .message = &inner_type },
	{ .number = 0 },
};

static const struct message_type inner_type = { "Inner", inner_fields };

static const struct message_field outer_fields[] = {
	{ .number = 1, .name = "profile_typeID", .type = FIELD_STRING },
	{ .number = 2, .name = "start_ms", .type = FIELD_INT64 },
	{ .number = 3, .name = "big", .type = FIELD_UINT64 },
	{ .number = 4, .name = "small", .type = FIELD_INT32 },
	{ .number = 5, .name = "step", .type = FIELD_DOUBLE },
	{ .number = 6, .name = "is_on", .type = FIELD_BOOL },
	{ .number = 7,
	  .name = "colour",
	  .type = FIELD_ENUM,
	  .values = colours },
	{ .number = 8, .name = "raw", .type = FIELD_BYTES },
	{ .number = 9,
	  .name = "inner",
	  .type = FIELD_MESSAGE,
	  .message = &inner_type },
	{ .number = 10,
	  .name = "values",
	  .type = FIELD_INT64,
	  .repeated = true },
	{ .number = 11,
	  .name = "names",
	  .type = FIELD_STRING,
	  .repeated = true },
	{ .number = 12,
	  .name = "inners",
	  .type = FIELD_MESSAGE,
	  .repeated = true,
	  .message = &inner_type },
	{ .number = 13, .name = "places", .type = FIELD_UINT32 },
	{ .number = 0 },
};

static const struct message_type outer = { "Outer", outer_fields };

static const struct limits no_limits;

/* JSON to the wire format, shown in hexadecimal digits. */
static void expect_wire(const char *json, const char *hex)
{
	struct buf out = { 0 };
	struct buf text = { 0 };
	struct err err = { .msg = "" };

	cr_expect(!transcode_from_json(&outer, bytes_of(str_of(json)), &out,
				       &err),
		  "%s: %s", json, err.msg);
	for (size_t i = 0; i < out.len; i++)
		buf_printf(&text, "%02x", out.ptr[i]);
	cr_expect(check_str(str_from(buf_bytes(&text)), hex), "%s", json);
	buf_fini(&out);
	buf_fini(&text);
}

/* JSON to the wire format and back. */
static void expect_back(const char *json, const char *want)
{
	struct buf wire = { 0 };
	struct buf text = { 0 };
	struct err err = { .msg = "" };

	cr_expect(!transcode_from_json(&outer, bytes_of(str_of(json)), &wire,
				       &err),
		  "%s: %s", json, err.msg);
	cr_expect(!transcode_to_json(&outer, buf_bytes(&wire), &text,
				     &no_limits, &err),
		  "%s: %s", json, err.msg);
	cr_expect(check_str(str_from(buf_bytes(&text)), want), "%s", json);
	buf_fini(&wire);
	buf_fini(&text);
}

Test(transcode, each_type_becomes_wire)
{
	expect_wire("{}", "");
	expect_wire("{\"profileTypeID\":\"a:b\"}", "0a03613a62");
	expect_wire("{\"profile_typeID\":\"a:b\"}", "0a03613a62");
	expect_wire("{\"startMs\":\"1700000000000\"}", "1080d095ffbc31");
	expect_wire("{\"startMs\":1700000000000}", "1080d095ffbc31");
	expect_wire("{\"startMs\":1.7e12}", "1080d095ffbc31");
	expect_wire("{\"startMs\":-1}", "10ffffffffffffffffff01");
	expect_wire("{\"small\":0}", "2000");
	expect_wire("{\"step\":15}", "290000000000002e40");
	expect_wire("{\"step\":\"0.5\"}", "29000000000000e03f");
	expect_wire("{\"isOn\":true}", "3001");
	expect_wire("{\"colour\":\"COLOUR_RED\"}", "3801");
	expect_wire("{\"colour\":1}", "3801");
	expect_wire("{\"raw\":\"_-8=\"}", "4202ffef");
	expect_wire("{\"raw\":\"/+8\"}", "4202ffef");
	expect_wire("{\"inner\":{\"name\":\"x\"}}", "4a030a0178");
	expect_wire("{\"values\":[1,\"2\"]}", "50015002");
	expect_wire("{\"names\":[\"a\",\"\"]}", "5a01615a00");
	expect_wire("{\"inners\":[{},{\"name\":\"x\"}]}", "620062030a0178");
}

Test(transcode, unknown_fields_and_null_are_ignored)
{
	expect_wire("{\"new\":[{\"a\":1}],\"names\":null,\"startMs\":null}",
		    "");
}

Test(transcode, what_was_read_is_written_in_the_same_way)
{
	expect_back("{}", "{}");
	expect_back("{\"profile_typeID\":\"a\",\"start_ms\":5,\"big\":7,"
		    "\"small\":-3,\"step\":1.5,\"is_on\":true,\"colour\":1,"
		    "\"raw\":\"YWI=\",\"places\":9}",
		    "{\"profileTypeID\":\"a\",\"startMs\":\"5\",\"big\":\"7\","
		    "\"small\":-3,\"step\":1.5,\"isOn\":true,"
		    "\"colour\":\"COLOUR_RED\",\"raw\":\"YWI=\",\"places\":9}");
	expect_back("{\"colour\":77}", "{\"colour\":77}");
	expect_back("{\"values\":[1,0,-2],\"names\":[\"\",\"b\"],"
		    "\"inners\":[{\"name\":\"x\",\"child\":{}},{}]}",
		    "{\"values\":[\"1\",\"0\",\"-2\"],\"names\":[\"\",\"b\"],"
		    "\"inners\":[{\"name\":\"x\",\"child\":{}},{}]}");
}

Test(transcode, defaults_are_left_out)
{
	expect_back("{\"startMs\":0,\"isOn\":false,\"profileTypeID\":\"\","
		    "\"colour\":0,\"step\":0,\"inner\":{}}",
		    "{\"inner\":{}}");
}

/* Numbers may be packed, and values of a field may be apart. */
Test(transcode, all_forms_of_the_wire_are_read)
{
	static const uint8_t packed[] = { 1, 0x80, 0x01 };
	struct buf wire = { 0 };
	struct buf text = { 0 };

	wire_write_number(&wire, 10, 5);
	wire_write_str(&wire, 11, str_of("a"));
	wire_write_bytes(&wire, 10, (struct bytes){ packed, sizeof(packed) });
	wire_write_number(&wire, 99, 5);
	wire_write_str(&wire, 11, str_of("b"));
	cr_assert(!transcode_to_json(&outer, buf_bytes(&wire), &text,
				     &no_limits, NULL));
	cr_expect(check_str(str_from(buf_bytes(&text)),
			    "{\"values\":[\"5\",\"1\",\"128\"],"
			    "\"names\":[\"a\",\"b\"]}"));
	buf_fini(&wire);
	buf_fini(&text);
}

Test(transcode, what_is_wrong_is_named)
{
	static const struct {
		const char *json;
		int code;
		const char *why;
	} cases[] = {
		{ "", ERR_INVALID, "" },
		{ "{", ERR_INVALID, "" },
		{ "[]", ERR_INVALID, "object" },
		{ "{\"startMs\":\"x\"}", ERR_INVALID, "\"start_ms\"" },
		{ "{\"startMs\":1.5}", ERR_INVALID, "whole number" },
		{ "{\"startMs\":[1]}", ERR_INVALID, "single value" },
		{ "{\"step\":\"x\"}", ERR_INVALID, "a number" },
		{ "{\"isOn\":1}", ERR_INVALID, "true or false" },
		{ "{\"profileTypeID\":5}", ERR_INVALID, "a text" },
		{ "{\"names\":\"a\"}", ERR_INVALID, "a list" },
		{ "{\"raw\":\"a\"}", ERR_INVALID, "base64" },
		{ "{\"inner\":5}", ERR_INVALID, "a Inner" },
		/* Grafana takes this for an older server, and goes on. */
		{ "{\"colour\":\"COLOUR_BLUE\"}", ERR_UNSUPPORTED,
		  "\"COLOUR_BLUE\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = { 0 };
		struct err err = { .msg = "" };

		cr_expect(transcode_from_json(&outer,
					      bytes_of(str_of(cases[i].json)),
					      &out, &err) == cases[i].code,
			  "%s: %s", cases[i].json, err.msg);
		cr_expect(strstr(err.msg, cases[i].why), "%s: %s",
			  cases[i].json, err.msg);
		buf_fini(&out);
	}
}

/* Many small values need much more memory than one long text. */
Test(transcode, the_memory_of_a_parsed_text_is_known_before)
{
	cr_expect(transcode_json_memory(
			  bytes_of(str_of("{\"a\":\"bcdefghi\"}"))) < 1024);
	cr_expect(transcode_json_memory(bytes_of(str_of("[0,0,0,0,0,0,0,0]"))) >
		  2048);
}

Test(transcode, depth_is_limited)
{
	struct buf json = { 0 };
	struct buf wire = { 0 };
	struct buf next = { 0 };
	struct buf out = { 0 };

	buf_str(&json, "{\"inner\":");
	for (int i = 0; i < 20; i++)
		buf_str(&json, "{\"child\":");
	buf_str(&json, "{}");
	for (int i = 0; i < 21; i++)
		buf_str(&json, "}");
	cr_expect(transcode_from_json(&outer, buf_bytes(&json), &out, NULL) ==
		  ERR_INVALID);
	for (int i = 0; i < 20; i++) {
		buf_reset(&next);
		wire_write_bytes(&next, i == 19 ? 9 : 2, buf_bytes(&wire));
		buf_reset(&wire);
		buf_add(&wire, next.ptr, next.len);
	}
	cr_expect(transcode_to_json(&outer, buf_bytes(&wire), &out, &no_limits,
				    NULL) == ERR_CORRUPT);
	buf_fini(&json);
	buf_fini(&wire);
	buf_fini(&next);
	buf_fini(&out);
}

Test(transcode, malformed_wire_is_refused)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "\x0a\x05x", 3 },        /* a text that is cut */
		{ "\x10\xff", 2 },         /* a number that is cut */
		{ "\x52\x01\xff", 3 },     /* a packed number that is cut */
		{ "\x4a\x02\x0a\x05", 4 }, /* within a message */
		{ "\x29\x00", 2 },         /* a double that is cut */
		{ "\x08\x05", 2 },         /* a number for a text */
		{ "\x48\x05", 2 },         /* a number for a message */
		{ "\x28\x05", 2 },         /* a number for a double */
		{ "\x12\x01\x05", 3 },     /* packed numbers for one */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = { 0 };

		cr_expect(
			transcode_to_json(
				&outer,
				(struct bytes){ (const uint8_t *)cases[i].bytes,
						cases[i].len },
				&out, &no_limits, NULL) == ERR_CORRUPT,
			"%zu", i);
		buf_fini(&out);
	}
}
