/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/graph/nodes.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/hash.h"

int granularity_parse(struct str s, enum granularity *out, struct err *err)
{
	static const char *const names[] = {
		[GRANULARITY_FUNCTIONS] = "functions",
		[GRANULARITY_FILEFUNCTIONS] = "filefunctions",
		[GRANULARITY_FILES] = "files",
		[GRANULARITY_LINES] = "lines",
		[GRANULARITY_ADDRESSES] = "addresses",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(s, names[i])) {
			*out = (enum granularity)i;
			return 0;
		}
	}
	return err_set(
		err, ERR_INVALID,
		"granularity must be functions, filefunctions, files, lines or addresses, not \"%.*s\"",
		STR_ARG(s));
}

/*
 * Append one element of a path to the cleaned path, as Go's path.Clean: "." is
 * left out, and ".." removes the element before it, but never one within the
 * first *fixed bytes of `out`, which hold the root or leading ".." elements.
 */
static void clean_element(struct buf *out, size_t root, struct str e,
			  size_t *fixed)
{
	if (!e.len || str_is(e, "."))
		return;
	if (str_is(e, "..") && out->len > *fixed) {
		while (out->len > *fixed && out->ptr[out->len - 1] != '/')
			out->len--;
		if (out->len > *fixed)
			out->len--;
		return;
	}
	if (str_is(e, "..") && root)
		return;
	if (out->len > root)
		buf_byte(out, '/');
	buf_add(out, e.ptr, e.len);
	if (str_is(e, ".."))
		*fixed = out->len;
}

/* Append the cleaned path to `out`; an empty path becomes ".". */
static void clean_path(struct str path, struct buf *out)
{
	size_t root = path.len && *path.ptr == '/';
	size_t fixed = root; /* length of `out` that ".." never removes */
	struct str rest = path;

	if (root)
		buf_byte(out, '/');
	while (rest.len) {
		struct str e = str_cut(rest, '/', &rest);

		clean_element(out, root, e, &fixed);
	}
	if (!out->len)
		buf_byte(out, '.');
}

/*
 * Whether a path certainly is clean, as nearly all paths are. May return false
 * for a clean path, too.
 */
static bool nodes_is_clean(struct str s)
{
	if (!s.len || (s.len > 1 && s.ptr[s.len - 1] == '/'))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		bool start = !i || s.ptr[i - 1] == '/';

		if (start && (s.ptr[i] == '.' || (i && s.ptr[i] == '/')))
			return false;
	}
	return true;
}

/* Building the nodes of a profile. */

/* State while the nodes of a profile are built. */
struct build {
	struct nodes *n;
	struct pprof *p;
	enum granularity granularity;
	/*
	 * cleaned[i] is the cleaned form of string i, a file name, as the index
	 * of a string; PPROF_NONE: not known yet.
	 */
	uint32_t *cleaned;
};

/*
 * Return the cleaned file name; `file` and the result are indexes of strings.
 * pprof compares cleaned names, too. Each distinct name is cleaned only once.
 */
static uint32_t clean_file(struct build *b, uint32_t file)
{
	struct str s = pprof_str(b->p, file);
	struct buf text = { 0 };

	if (!s.len || nodes_is_clean(s))
		return file;
	if (b->cleaned[file] == PPROF_NONE) {
		clean_path(s, &text);
		b->cleaned[file] = strtab_intern(&b->p->strings,
						 str_from(buf_bytes(&text)));
		buf_fini(&text);
	}
	return b->cleaned[file];
}

/*
 * For each granularity, the parts of a frame that a node keeps: frames that
 * differ only in other parts become the same node.
 */
static const struct keeps {
	bool name;
	bool file;
	bool line;
	bool address;
} keeps[] = {
	[GRANULARITY_FUNCTIONS] = { .name = true },
	[GRANULARITY_FILEFUNCTIONS] = { .name = true, .file = true },
	[GRANULARITY_FILES] = { .file = true },
	[GRANULARITY_LINES] = { .name = true, .file = true, .line = true },
	[GRANULARITY_ADDRESSES] = { true, true, true, true },
};

/*
 * Return the key of a frame at the granularity; `line` is NULL for a location
 * without symbols. As in pprof, the object file and the start line are part of
 * the key only for frames without a name.
 */
static struct node_key nodes_make_key(struct build *b,
				      const struct pprof_location *l,
				      const struct pprof_line *line)
{
	const struct keeps *k = &keeps[b->granularity];
	const struct pprof_function *f =
		line ? &b->p->functions.v[line->function] : NULL;
	struct node_key key = { 0 };

	key.address = k->address ? l->address : 0;
	if (f) {
		key.name = k->name ? f->name : 0;
		key.file = k->file ? clean_file(b, f->file) : 0;
		key.line = k->line ? line->line : 0;
	}
	if (!key.name && l->mapping != PPROF_NONE)
		key.objfile = b->p->mappings.v[l->mapping].file;
	if (!key.name && f)
		key.start_line = f->start_line;
	return key;
}

/* Whether two keys are equal, field by field: struct node_key has padding. */
static bool nodes_same_key(const struct node_key *a, const struct node_key *b)
{
	return a->name == b->name && a->file == b->file &&
	       a->objfile == b->objfile && a->address == b->address &&
	       a->start_line == b->start_line && a->line == b->line;
}

/* Equality callback of the hash table. */
static bool nodes_is_same(const void *ctx, uint32_t i, const void *key)
{
	const struct nodes *n = ctx;

	return nodes_same_key(&n->v.v[i].key, key);
}

/* Append s and a space. */
static void nodes_add_word(struct buf *out, struct str s)
{
	buf_add(out, s.ptr, s.len);
	buf_byte(out, ' ');
}

/*
 * Return the text of a node: the parts that pprof's NameComponents returns,
 * joined by spaces. A text that is not just the function's name is stored in
 * the arena n->text.
 */
static struct str print_key(struct nodes *n, const struct node_key *k)
{
	struct str name = pprof_str(n->p, k->name);
	struct str file = pprof_str(n->p, k->file);
	struct str objfile = pprof_str(n->p, k->objfile);
	struct buf out = { 0 };
	struct str text;

	if (name.len && !k->address && !k->line && !file.len)
		return name; /* the function's name needs no copy */
	if (k->address)
		buf_printf(&out, "%016" PRIx64 " ", k->address);
	if (name.len)
		nodes_add_word(&out, name);
	if (k->line)
		buf_printf(&out, "%.*s:%" PRId64 " ", STR_ARG(file), k->line);
	else if (file.len)
		nodes_add_word(&out, file);
	else if (!name.len && objfile.len)
		buf_printf(&out, "[%.*s] ", STR_ARG(pprof_base_name(objfile)));
	else if (!name.len)
		buf_str(&out, "<unknown> ");
	/* Remove the space after the last word. */
	out.len--;
	text = arena_str(&n->text, str_from(buf_bytes(&out)));
	buf_fini(&out);
	return text;
}

/*
 * Let *file be a text if that is better to describe all frames of a node: one that is
 * not empty, then the smaller one, whatever frame comes first.
 */
static void nodes_prefer(const struct nodes *n, uint32_t *file, uint32_t text)
{
	struct str x = pprof_str(n->p, text);
	struct str y = pprof_str(n->p, *file);

	if (text != *file && x.len && (!y.len || str_cmp(x, y) < 0))
		*file = text;
}

/* Return the node of a frame and add it if it is new. */
static uint32_t find_node(struct build *b, const struct pprof_location *l,
			  const struct pprof_line *line)
{
	struct nodes *n = b->n;
	struct node_key key = nodes_make_key(b, l, line);
	uint64_t words[] = { (uint64_t)key.name << 32 | key.file, key.objfile,
			     key.address, (uint64_t)key.start_line,
			     (uint64_t)key.line };
	uint64_t hash = hash_key(
		(struct bytes){ (const uint8_t *)words, sizeof(words) });
	uint32_t i = table_find(&n->index, hash, nodes_is_same, n, &key);
	struct node *node;

	if (i == TABLE_NONE) {
		i = (uint32_t)n->v.count;
		*vec_add(&n->v) =
			(struct node){ .key = key, .text = print_key(n, &key) };
		table_add(&n->index, hash, i);
	}
	node = &n->v.v[i];
	if (l->mapping != PPROF_NONE)
		nodes_prefer(n, &node->binary,
			     b->p->mappings.v[l->mapping].file);
	if (line)
		nodes_prefer(n, &node->file,
			     b->p->functions.v[line->function].file);
	return i;
}

/*
 * Append the nodes of a location's lines, innermost first. With `noinlines`,
 * only the last line counts, which is the outermost function. A location
 * without lines becomes one node.
 */
static void nodes_add_location(struct build *b, const struct pprof_location *l,
			       bool noinlines)
{
	struct nodes *n = b->n;
	struct pprof_run run = { .first = (uint32_t)n->of_lines.count };
	uint32_t first = noinlines && l->lines.count ? l->lines.count - 1 : 0;

	for (uint32_t i = first; i < l->lines.count; i++)
		*vec_add(&n->of_lines) =
			find_node(b, l, &b->p->lines.v[l->lines.first + i]);
	if (!l->lines.count)
		*vec_add(&n->of_lines) = find_node(b, l, NULL);
	run.count = (uint32_t)n->of_lines.count - run.first;
	*vec_add(&n->locations) = run;
}

void nodes_init(struct nodes *n, struct pprof *p, enum granularity g,
		bool noinlines)
{
	struct build b = { .n = n, .p = p, .granularity = g };
	size_t size = p->strings.strings.count * sizeof(*b.cleaned);

	*n = (struct nodes){ .p = p };
	b.cleaned = mem_alloc(size);
	memset(b.cleaned, 0xff, size);
	for (size_t i = 0; i < p->locations.count; i++)
		nodes_add_location(&b, &p->locations.v[i], noinlines);
	mem_free(b.cleaned);
}

void nodes_fini(struct nodes *n)
{
	vec_fini(&n->v);
	vec_fini(&n->of_lines);
	vec_fini(&n->locations);
	table_fini(&n->index);
	arena_fini(&n->text);
}

size_t nodes_memory(const struct nodes *n)
{
	return vec_memory(&n->v) + vec_memory(&n->of_lines) +
	       vec_memory(&n->locations) + table_memory(&n->index) +
	       n->text.used;
}

/* Order of two strings of the profile, by index. */
static int nodes_by_string(const struct nodes *n, uint32_t a, uint32_t b)
{
	return a == b ? 0 : str_cmp(pprof_str(n->p, a), pprof_str(n->p, b));
}

/* Order of two numbers as texts. */
static int nodes_by_digits(int64_t a, int64_t b)
{
	char x[24];
	char y[24];

	if (a == b)
		return 0;
	snprintf(x, sizeof(x), "%" PRId64 " ", a);
	snprintf(y, sizeof(y), "%" PRId64 " ", b);
	return strcmp(x, y);
}

/* Order of two addresses as decimal texts. */
static int nodes_by_address(uint64_t a, uint64_t b)
{
	char x[24];
	char y[24];

	snprintf(x, sizeof(x), "%" PRIu64 " ", a);
	snprintf(y, sizeof(y), "%" PRIu64 " ", b);
	return strcmp(x, y);
}

/*
 * The order is that of the texts that Go's fmt.Sprint prints for the nodes'
 * NodeInfo, in which numbers are texts, too: pprof compares these texts when all
 * else is equal. Their parts are compared one after another, because names may be
 * long.
 */
int nodes_compare(const struct nodes *n, uint32_t a, uint32_t b)
{
	const struct node_key *x = &n->v.v[a].key;
	const struct node_key *y = &n->v.v[b].key;
	int order = nodes_by_string(n, x->name, y->name);

	if (!order && x->address != y->address)
		order = nodes_by_address(x->address, y->address);
	if (!order)
		order = nodes_by_string(n, x->file, y->file);
	if (!order)
		order = nodes_by_digits(x->start_line, y->start_line);
	if (!order)
		order = nodes_by_digits(x->line, y->line);
	return order ? order : nodes_by_string(n, x->objfile, y->objfile);
}

int nodes_order(const struct nodes *n, uint32_t a, uint32_t b)
{
	int order = a == b ? 0 : str_cmp(n->v.v[a].text, n->v.v[b].text);

	return order || a == b ? order : nodes_compare(n, a, b);
}
