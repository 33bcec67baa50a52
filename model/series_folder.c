/* SPDX-License-Identifier: Apache-2.0 */
#include "model/series_folder.h"

#include <inttypes.h>

#include "base/url.h"

struct bytes series_folder_print(const struct labels *ls, struct buf *out)
{
	size_t begin = out->len;
	struct buf text = { 0 };

	labels_text(ls, &text);
	url_escape(str_from(buf_bytes(&text)), out);
	buf_fini(&text);
	if (out->len - begin <= SERIES_FOLDER_MAX)
		return (struct bytes){ NULL, 0 };
	out->len = begin + SERIES_FOLDER_MAX - 17;
	buf_printf(out, "-%016" PRIx64, labels_digest(ls));
	return labels_bytes(ls);
}
