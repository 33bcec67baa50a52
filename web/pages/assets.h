/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assets: the files of the web UI, which the build embeds in the program
 * (web/ui/build.mjs), and their handlers.
 *
 * Threads: any.
 */
#ifndef WEB_PAGES_ASSETS_H
#define WEB_PAGES_ASSETS_H

#include "web/http/route.h"

/* One form of a file: plain or compressed. */
struct asset_form {
	const unsigned char *data;
	size_t size;
};

/* A file. */
struct asset {
	const char *name; /* NULL ends the table; has a hash of the content */
	const char *content_type;
	const char *etag; /* with its quotes */
	struct asset_form plain;
	struct asset_form gzip;
	struct asset_form brotli;
};

/* All files; empty in a build without the web UI. */
extern const struct asset assets[];

/* Whether the program contains the web UI. */
bool assets_exist(void);

/*
 * GET /assets/NAME: a file. Its name changes with its content, so that browsers
 * may keep it for ever.
 */
void assets_file(void *ctx, struct request *r, struct answer *a);

/*
 * GET of a page of the web UI: index.html, which browsers ask for each time.
 * Its headers forbid everything that the UI does not need.
 */
void assets_page(void *ctx, struct request *r, struct answer *a);

#endif
