/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the handlers of web/ share.
 */
#ifndef WEB_CONTEXT_H
#define WEB_CONTEXT_H

#include <stdatomic.h>

#include "base/json.h"
#include "tsdb/querier.h"
#include "web/server.h"
#include "web/web.h"

struct web {
	struct web_options o;
	struct server *server;
	struct auth *auth;
	struct budget memory;
	int64_t started_ms;
	_Atomic bool ready;
};

/* Answers in the API's envelope. */

/* {"status":"success","data": — the caller writes the data, then ends it. */
struct json envelope_begin(struct answer *a);

/* Warnings are sentences; NULL-ended list, or NULL. */
void envelope_end(struct json *j, struct answer *a,
		  const char *const *warnings);

/* The HTTP status that the error stands for, and its errorType. */
const char *answer_status(struct answer *a, const struct err *err);

/* {"status":"error",…} with the HTTP status that the code stands for. */
void answer_error(struct answer *a, const struct err *err);

/* The same as text: go tool pprof shows that, of others the status alone. */
void answer_pprof_error(struct answer *a, const struct err *err);

/* A body of text that is a constant, or borrowed for the call. */
void answer_text(struct answer *a, unsigned status, const char *content_type,
		 struct str text);

/* X-Everprof-Labels and -Timestamp: which profile the answer is about. */
void answer_identity(struct answer *a, struct request *r, struct labels *labels,
		     int64_t ms);

/* Parameters. ERR_INVALID names the one that is missing or wrong. */

NODISCARD int param_required(const struct request *r, const char *name,
			     struct str *out, struct err *err);

/*
 * A moment in ms: `ms_name` in milliseconds, or `s_name` in seconds; RFC 3339
 * and now-1h in both. Sets *out to otherwise when neither is given, unless
 * that is TIME_REQUIRED.
 */
#define TIME_REQUIRED (INT64_MIN + 1)
struct time_param {
	const char *ms_name;
	const char *s_name; /* may be NULL */
	int64_t otherwise;
};
NODISCARD int param_time(const struct request *r, const struct time_param *p,
			 int64_t *out, struct err *err);

/* Two of them, in order. */
NODISCARD int param_times(const struct request *r,
			  const struct time_param *first,
			  const struct time_param *last, int64_t *from,
			  int64_t *to, struct err *err);

/* from/to or start/end, in order. */
NODISCARD int param_range(const struct request *r, int64_t from_otherwise,
			  int64_t to_otherwise, int64_t *from, int64_t *to,
			  struct err *err);

/* A whole number of at least 0; otherwise when it is not given. */
NODISCARD int param_count(const struct request *r, const char *name,
			  int64_t otherwise, int64_t *out, struct err *err);

/* Given, and neither empty, "0" nor "false". */
bool param_is_on(const struct request *r, const char *name);

/* ERR_TIMEOUT once the request's deadline has passed. */
NODISCARD int check_deadline(const struct request *r, struct err *err);

/* Handlers, by file: api_range.c */
void api_query_range(void *ctx, struct request *r, struct answer *a);
/* api_query.c */
void api_query(void *ctx, struct request *r, struct answer *a);
/* api_export.c */
void api_export(void *ctx, struct request *r, struct answer *a);
/* api_labels.c */
void api_series(void *ctx, struct request *r, struct answer *a);
void api_labels(void *ctx, struct request *r, struct answer *a);
void api_label_values(void *ctx, struct request *r, struct answer *a);
void api_profile_types(void *ctx, struct request *r, struct answer *a);
/* api_status.c */
void api_targets(void *ctx, struct request *r, struct answer *a);
void api_status_config(void *ctx, struct request *r, struct answer *a);
void api_status_flags(void *ctx, struct request *r, struct answer *a);
void api_status_buildinfo(void *ctx, struct request *r, struct answer *a);
void api_status_runtimeinfo(void *ctx, struct request *r, struct answer *a);
void api_status_tsdb(void *ctx, struct request *r, struct answer *a);
/* api_profile.c */
void api_targets_profile(void *ctx, struct request *r, struct answer *a);
/* api_admin.c */
void api_admin_delete(void *ctx, struct request *r, struct answer *a);
void api_admin_clean(void *ctx, struct request *r, struct answer *a);
void api_admin_confirm_clock(void *ctx, struct request *r, struct answer *a);
void api_admin_snapshot(void *ctx, struct request *r, struct answer *a);
/* page.c */
void page_index(void *ctx, struct request *r, struct answer *a);
void page_targets(void *ctx, struct request *r, struct answer *a);
/* page_report.c */
void page_report(void *ctx, struct request *r, struct answer *a);

#endif
