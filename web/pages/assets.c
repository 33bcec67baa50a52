/* SPDX-License-Identifier: Apache-2.0 */
#include "web/pages/assets.h"

#include "web/api/envelope.h"

#define INDEX "index.html"

/*
 * Only the program's own files may be loaded, and no script may turn text into
 * HTML or code. preact and uPlot set styles through the CSSOM, which style-src
 * does not restrict.
 */
#define POLICY                                                        \
	"default-src 'none'; script-src 'self'; style-src 'self'; "   \
	"img-src 'self' blob:; connect-src 'self'; base-uri 'none'; " \
	"form-action 'none'; frame-ancestors 'none'; "                \
	"require-trusted-types-for 'script'; trusted-types 'none'"

bool assets_exist(void)
{
	return assets[0].name;
}

/* Return the file of this name, or NULL. */
static const struct asset *asset_find(struct str name)
{
	for (const struct asset *x = assets; x->name; x++) {
		if (str_is(name, x->name))
			return x;
	}
	return NULL;
}

/* Answer with a file, in the smallest form that the client accepts. */
static void asset_answer(const struct asset *x, const struct request *r,
			 struct answer *a)
{
	const struct asset_form *form = r->accepts_brotli ? &x->brotli :
					r->accepts_gzip   ? &x->gzip :
							    &x->plain;

	a->as_is = true;
	a->content_type = x->content_type;
	answer_header(a, "ETag", x->etag);
	if (strstr(r->if_none_match, x->etag)) {
		a->status = 304;
		return;
	}
	a->status = 200;
	if (form != &x->plain)
		answer_header(a, "Content-Encoding",
			      form == &x->brotli ? "br" : "gzip");
	buf_add(&a->body, form->data, form->size);
}

void assets_file(void *ctx UNUSED, struct request *r, struct answer *a)
{
	const struct asset *x = asset_find(r->segment);
	struct err err;

	if (!x || str_is(r->segment, INDEX)) {
		err_set(&err, ERR_NOTFOUND, "file not found in the web UI");
		answer_error(a, &err);
		return;
	}
	answer_header(a, "Cache-Control",
		      "public, max-age=31536000, immutable");
	asset_answer(x, r, a);
}

void assets_page(void *ctx UNUSED, struct request *r, struct answer *a)
{
	answer_header(a, "Content-Security-Policy", POLICY);
	answer_header(a, "Referrer-Policy", "no-referrer");
	answer_header(a, "Cache-Control", "no-cache");
	asset_answer(asset_find(str_of(INDEX)), r, a);
}
