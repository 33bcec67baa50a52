/* SPDX-License-Identifier: Apache-2.0 */
/* Values found by paths in JSON and in XML. */
#include "base/mem.h"
#include "base/yaml_json.h"
#include "discovery/rest/document.h"
#include "discovery/rest/field_row.h"
#include "discovery/rest/xml_document.h"
#include "tests/check.h"

TestSuite(document, .timeout = 60);

static const char json[] =
	"{\"a\": {\"b\": \"x\", \"n\": 7, \"f\": 7.9, \"t\": true, \"z\": null},"
	" \"l\": [{\"k\": \"p\", \"v\": 1}, {\"k\": \"q\", \"v\": \"2\"}, null],"
	" \"s\": [\"one\", \"two\"], \"m\": {\"x.y\": \"1\", \"n\": null},"
	" \"o\": {\"k\": \"p\", \"v\": 3}, \"e\": [], \"w\": \"null\"}";

Test(document, paths_find_values)
{
	static const struct {
		const char *path;
		const char *text;
	} cases[] = {
		{ "a.b", "x" },      { "a.n", "7" },      { "a.t", "true" },
		{ "a.z", "" },       { "a", "" },         { "", "" },
		{ "none", "" },      { "a.b.c", "" },     { "a.b[0]", "x" },
		{ "l[k=q].v", "2" }, { "l[k=p].v", "1" }, { "l[k=none].v", "" },
		{ "l[0].k", "p" },   { "l[1].k", "q" },   { "l[2].k", "" },
		{ "l[3].k", "" },    { "l[-1].k", "" },   { "s[1]", "two" },
		{ "o[k=p].v", "3" }, { "o[0].v", "3" },   { "e[0]", "" },
		{ "w", "null" },
	};
	struct yaml y;

	yaml_parse_json(&y, "t", bytes_of(str_of(json)));
	cr_assert(y.root, "%s", buf_cstr(&y.errors));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(check_str(doc_text(y.root, cases[i].path),
				    cases[i].text),
			  "%s", cases[i].path);
	cr_expect(doc_int(y.root, "a.n", -1) == 7);
	cr_expect(doc_int(y.root, "a.f", -1) == 7);
	cr_expect(doc_int(y.root, "a.b", -1) == -1);
	cr_assert(doc_bool(y.root, "a.t"));
	cr_expect(!doc_bool(y.root, "a.n"));
	cr_expect(doc_count(doc_find(y.root, "l")) == 3);
	cr_expect(doc_count(doc_find(y.root, "o")) == 1);
	cr_assert(!doc_count(doc_find(y.root, "e")));
	cr_expect(!doc_count(NULL));
	cr_assert(doc_keys(doc_find(y.root, "m")) == 2);
	cr_expect(!doc_keys(NULL));
	cr_expect(!doc_find(NULL, "a"));
	yaml_fini(&y);
}

/* Compares the labels that a table makes. */
static bool makes(const char *text, const struct field_row *rows,
		  const char *want)
{
	struct target_groups *g = NULL;
	struct group_builder b;
	struct buf out = { 0 };
	struct yaml y;
	bool ok;

	yaml_parse_json(&y, "t", bytes_of(str_of(text)));
	cr_assert(y.root, "%s", buf_cstr(&y.errors));
	group_builder_init(&b);
	group_begin(&b);
	field_rows_add(&b, rows, y.root, str_of(";"));
	cr_assert(!group_builder_take(&b, &g, NULL));
	for (size_t i = 0; i < g->v[0].labels.count; i++)
		buf_printf(&out, "%.*s=%.*s ",
			   STR_ARG(g->v[0].labels.v[i].name),
			   STR_ARG(g->v[0].labels.v[i].value));
	ok = check_str(str_from(buf_bytes(&out)), want);
	target_groups_unref(g);
	group_builder_fini(&b);
	buf_fini(&out);
	yaml_fini(&y);
	return ok;
}

Test(document, rows_become_labels)
{
	static const struct field_row rows[] = {
		{ "text", "a.b", FIELD_TEXT },   { "bool", "a.t", FIELD_BOOL },
		{ "no", "none", FIELD_BOOL },    { "zero", "none", FIELD_INT },
		{ "list", "s", FIELD_LIST },     { "empty", "e", FIELD_LIST },
		{ "m_", "m", FIELD_MAP },        { "p_", "m", FIELD_PRESENT },
		{ "lower", "u", FIELD_LOWER },   { "absent", "x", FIELD_TEXT },
		{ "scalar", "a.b", FIELD_LIST }, { 0 },
	};

	cr_expect(makes(json, rows,
			"text=x bool=true no=false zero=0 list=;one;two; "
			"m_x_y=1 p_x_y=true p_n=true scalar=;x; "));
	cr_expect(makes("{\"u\": \"AbC\"}", rows,
			"bool=false no=false zero=0 lower=abc "));
	cr_expect(makes("[]", rows, "bool=false no=false zero=0 "));
}

static void parse_xml(struct yaml *y, const char *text)
{
	xml_parse(y, "t", bytes_of(str_of(text)));
}

Test(document, xml_is_a_tree)
{
	static const char text[] =
		"<?xml version='1.0'?>\n<root>\n <a>x &amp; y</a><b/>\n"
		" <l><i>1</i></l><l><i>2</i></l><m k='v'>t</m><n k='w'/>"
		"<c><![CDATA[<raw>]]></c><s> z </s></root>";
	struct yaml y;

	parse_xml(&y, text);
	cr_assert(y.root, "%s", buf_cstr(&y.errors));
	cr_expect(check_str(doc_text(y.root, "a"), "x & y"));
	cr_expect(check_str(doc_text(y.root, "b"), ""));
	cr_expect(check_str(doc_text(y.root, "l[1].i"), "2"));
	cr_expect(check_str(doc_text(y.root, "m.@k"), "v"));
	cr_expect(check_str(doc_text(y.root, "m.#text"), "t"));
	cr_expect(check_str(doc_text(y.root, "n.@k"), "w"));
	cr_expect(check_str(doc_text(y.root, "n.#text"), ""));
	cr_expect(check_str(doc_text(y.root, "c"), "<raw>"));
	cr_expect(check_str(doc_text(y.root, "s"), " z "));
	yaml_fini(&y);
}

Test(document, bad_xml_is_refused)
{
	static const char *const texts[] = {
		"",
		"x",
		"<a>",
		"<a></b>",
		"<a/><b/>",
		"<a>&none;</a>",
		"<!DOCTYPE a><a/>",
		"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
		"<a b=c/>",
		"<a>\xff</a>",
		"<a><b>x</a></b>",
	};
	struct buf deep = { 0 };
	struct buf many = { 0 };
	struct yaml y;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		parse_xml(&y, texts[i]);
		cr_assert(!y.root, "%s", texts[i]);
		cr_expect(y.error_count, "%s", texts[i]);
		yaml_fini(&y);
	}
	for (int i = 0; i < 65; i++)
		buf_str(&deep, "<a>");
	for (int i = 0; i < 65; i++)
		buf_str(&deep, "</a>");
	parse_xml(&y, buf_cstr(&deep));
	cr_expect(strstr(buf_cstr(&y.errors), "too many levels"));
	yaml_fini(&y);
	buf_str(&many, "<a>");
	for (int i = 0; i < 500001; i++)
		buf_str(&many, "<b/>");
	buf_str(&many, "</a>");
	parse_xml(&y, buf_cstr(&many));
	cr_expect(strstr(buf_cstr(&y.errors), "too many values"));
	yaml_fini(&y);
	buf_fini(&deep);
	buf_fini(&many);
}
