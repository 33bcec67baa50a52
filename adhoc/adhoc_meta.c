/* SPDX-License-Identifier: Apache-2.0 */
#include "adhoc/adhoc_meta.h"

#include <jansson.h>

bool adhoc_meta_is_id(struct str text)
{
	if (text.len != ADHOC_ID_LEN)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || c == '-' || c == '_'))
			return false;
	}
	return true;
}

/* Write a sample type. */
static void adhoc_meta_write_type(const struct value_type *t, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "type");
	json_str(j, t->type);
	json_key(j, "unit");
	json_str(j, t->unit);
	json_end(j, '}');
}

/* Write a profile. */
static void adhoc_meta_write_part(const struct adhoc_part *p, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "name");
	json_str(j, p->name);
	json_key(j, "sampleTypes");
	json_begin(j, '[');
	for (size_t i = 0; i < p->type_count; i++)
		adhoc_meta_write_type(&p->types[i], j);
	json_end(j, ']');
	json_key(j, "defaultSampleType");
	json_str(j, p->types[p->default_type].type);
	json_key(j, "bytes");
	json_int(j, (int64_t)p->size);
	json_end(j, '}');
}

void adhoc_meta_write(const struct adhoc_meta *m, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "id");
	json_text(j, m->id);
	json_key(j, "name");
	json_str(j, m->name);
	json_key(j, "user");
	json_str(j, m->user);
	json_key(j, "format");
	json_str(j, m->format);
	json_key(j, "note");
	json_str(j, m->note);
	json_key(j, "uploaded");
	json_int(j, m->uploaded_ms);
	json_key(j, "expires");
	json_int(j, m->expires_ms);
	json_key(j, "kept");
	json_bool(j, m->is_kept);
	json_key(j, "parts");
	json_begin(j, '[');
	for (size_t i = 0; i < m->part_count; i++)
		adhoc_meta_write_part(&m->parts[i], j);
	json_end(j, ']');
	json_end(j, '}');
}

/* Copy a text of an object; empty if it is not there. */
static struct str adhoc_meta_text(const json_t *of, const char *key,
				  struct arena *arena)
{
	const json_t *v = json_object_get(of, key);

	return json_is_string(v) ?
		       arena_str(arena, (struct str){ json_string_value(v),
						      json_string_length(v) }) :
		       str_of("");
}

/* Return a number of an object; -1 if it is not there. */
static int64_t adhoc_meta_number(const json_t *of, const char *key)
{
	const json_t *v = json_object_get(of, key);

	return json_is_integer(v) ? json_integer_value(v) : -1;
}

/* Read a profile. Returns whether it is whole. */
static bool adhoc_meta_read_part(const json_t *from, struct arena *arena,
				 struct adhoc_part *out)
{
	const json_t *list = json_object_get(from, "sampleTypes");
	struct str first = adhoc_meta_text(from, "defaultSampleType", arena);
	int64_t size = adhoc_meta_number(from, "bytes");
	size_t n = json_array_size(list);
	struct value_type *types = arena_array(arena, struct value_type, n + 1);

	if (!n || n > TYPES_MAX || size < 0)
		return false;
	*out = (struct adhoc_part){ .name = adhoc_meta_text(from, "name",
							    arena),
				    .types = types,
				    .type_count = n,
				    .size = (uint64_t)size };
	for (size_t i = 0; i < n; i++) {
		const json_t *type = json_array_get(list, i);

		types[i].type = adhoc_meta_text(type, "type", arena);
		types[i].unit = adhoc_meta_text(type, "unit", arena);
		if (str_eq(types[i].type, first))
			out->default_type = i;
	}
	return true;
}

/* Read a file. Returns whether it is whole. */
static bool adhoc_meta_read_root(const json_t *root, struct arena *arena,
				 struct adhoc_meta *out)
{
	const json_t *list = json_object_get(root, "parts");
	struct str id = adhoc_meta_text(root, "id", arena);
	size_t n = json_array_size(list);
	struct adhoc_part *parts = arena_array(arena, struct adhoc_part, n + 1);

	if (!adhoc_meta_is_id(id) || !n || n > ADHOC_PARTS_MAX)
		return false;
	*out = (struct adhoc_meta){
		.name = adhoc_meta_text(root, "name", arena),
		.user = adhoc_meta_text(root, "user", arena),
		.format = adhoc_meta_text(root, "format", arena),
		.note = adhoc_meta_text(root, "note", arena),
		.uploaded_ms = adhoc_meta_number(root, "uploaded"),
		.expires_ms = adhoc_meta_number(root, "expires"),
		.is_kept = json_is_true(json_object_get(root, "kept")),
		.parts = parts,
		.part_count = n,
	};
	memcpy(out->id, id.ptr, id.len);
	for (size_t i = 0; i < n; i++) {
		if (!adhoc_meta_read_part(json_array_get(list, i), arena,
					  &parts[i]))
			return false;
	}
	return out->uploaded_ms >= 0 && out->expires_ms >= 0;
}

int adhoc_meta_read(struct bytes json, struct arena *arena,
		    struct adhoc_meta *out, struct err *err)
{
	json_error_t why;
	json_t *root = json_loadb((const char *)json.ptr, json.len,
				  JSON_ALLOW_NUL, &why);
	bool is_whole = root && adhoc_meta_read_root(root, arena, out);

	if (!is_whole)
		(void)err_set(err, ERR_CORRUPT, "%s",
			      root ? "a field is missing or not valid" :
				     why.text);
	json_decref(root);
	return is_whole ? 0 : ERR_CORRUPT;
}
