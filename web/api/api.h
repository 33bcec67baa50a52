/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of the API, one for each route of routes.c (docs/api.md).
 *
 * Ownership: they borrow request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_H
#define WEB_API_API_H

#include "query/merge/report_request.h"
#include "web/api/context.h"
#include "web/grpc/grpc_call.h"
#include "web/http/route.h"

/*
 * Whether a request of OpenTelemetry succeeded, at least for the profiles that were not
 * refused: those are stored, and the request must not come again.
 */
bool api_push_is_partial(int rc, uint64_t refused);

/* The methods of the listener for gRPC; the context is the struct web. */
extern const struct grpc_method api_grpc_methods[];

/*
 * The handlers of uploaded files: POST /api/v1/adhoc takes one, GET lists them; GET
 * /api/v1/adhoc/ID tells about one, POST with keep=DURATION keeps it, DELETE removes it.
 */
void api_adhoc_upload(void *ctx, struct request *r, struct answer *a);
void api_adhoc_list(void *ctx, struct request *r, struct answer *a);
void api_adhoc_show(void *ctx, struct request *r, struct answer *a);
void api_adhoc_keep(void *ctx, struct request *r, struct answer *a);
void api_adhoc_remove(void *ctx, struct request *r, struct answer *a);

/* Answer with changes (query/history/changes.h). */
void api_changes(void *ctx, struct request *r, struct answer *a);

/*
 * Write the comparison to the answer. Returns ERR_* of the merge and the report;
 * the caller then writes the error to the answer.
 */
NODISCARD int api_compare(struct web *w, struct request *r, struct answer *a,
			  const struct report_request *query, struct err *err);

/*
 * Start an export; its body is streamed after the handler has returned. If the
 * export cannot start, the answer is the error as JSON. A later error closes
 * the connection.
 */
void api_export(void *ctx, struct request *r, struct answer *a);

/* Answer with a history (query/history/history.h). */
void api_history(void *ctx, struct request *r, struct answer *a);

/* GET /api/v1/series: the labels of all series that match[] selects. */
void api_series(void *ctx, struct request *r, struct answer *a);

/* GET /api/v1/labels: the names of all labels. */
void api_labels(void *ctx, struct request *r, struct answer *a);

/* GET /api/v1/label/NAME/values: all values of one label. */
void api_label_values(void *ctx, struct request *r, struct answer *a);

/* GET /api/v1/profile_types: profile types with their sample types. */
void api_profile_types(void *ctx, struct request *r, struct answer *a);

/*
 * Scrape the target that the selector `query` matches, store the profile, and
 * answer as /api/v1/query does. Blocks a pool thread until the target has
 * answered or the deadline has passed.
 */
void api_targets_profile(void *ctx, struct request *r, struct answer *a);

/*
 * Answer a query. Errors are answered as JSON, but as plain text to go tool
 * pprof, because it shows the body of an error to its user.
 */
void api_query(void *ctx, struct request *r, struct answer *a);

/*
 * GET /api/v1/query_range: list the times of profiles. With totals=1, the
 * totals of each profile are listed as well. With function=…, only profiles
 * that contain the function are listed. With step=…, the answer is a timeline
 * (one total per time step) instead.
 */
void api_query_range(void *ctx, struct request *r, struct answer *a);

/*
 * POST /api/v1/write: stores the profiles of the body. Status 204 when all are
 * durable.
 */
void api_write(void *ctx, struct request *r, struct answer *a);

/*
 * POST /ingest: stores a pushed profile. Status 200 when it is durable; errors
 * are plain text.
 */
void api_ingest(void *ctx, struct request *r, struct answer *a);

/*
 * POST /push.v1.PusherService/Push: stores pushed profiles. Status 200 when all
 * are durable; errors have the form of the Connect protocol.
 */
void api_push(void *ctx, struct request *r, struct answer *a);

/* POST /profiling/v1/input: stores what Datadog's libraries push. Errors are plain text. */
void api_datadog(void *ctx, struct request *r, struct answer *a);

void api_otlp(void *ctx, struct request *r, struct answer *a);

/* Answer a request of OTLP that was refused before it was handled. */
void api_otlp_fail(const struct request *r, struct answer *a,
		   const struct err *err);

/* Note a request that was refused before its handler was called. */
void api_push_note_refused(const struct web *w, const struct request *r,
			   enum web_push_protocol protocol,
			   const struct err *err);

/*
 * POST /SERVICE/METHOD: answers what Grafana asks of a Pyroscope, in the format of
 * the request; errors have the form of the Connect protocol.
 */
void api_connect(void *ctx, struct request *r, struct answer *a);

/*
 * POST /mcp: answers messages of the Model Context Protocol; errors have the form of
 * JSON-RPC.
 */
void api_mcp(void *ctx, struct request *r, struct answer *a);

/* GET /pyroscope/render: a flame graph with a timeline. */
void api_render(void *ctx, struct request *r, struct answer *a);

/* GET /pyroscope/render-diff: the flame graph of two sides. */
void api_render_diff(void *ctx, struct request *r, struct answer *a);

/*
 * GET /api/v1/senders: who has pushed profiles, and what became of them.
 */
void api_senders(void *ctx, struct request *r, struct answer *a);

/*
 * GET /api/v1/status/remote_write: how far sending to each receiver has got,
 * and what this server has received.
 */
void api_status_remote_write(void *ctx, struct request *r, struct answer *a);

/*
 * POST …/delete_series: hide the profiles that match any of the match[]
 * selectors within a time range. Their space is freed later. Answers 204, or
 * 400 for a bad parameter.
 */
void api_admin_delete(void *ctx, struct request *r, struct answer *a);

/*
 * POST …/clean_tombstones: rewrite blocks to free the space of deleted
 * profiles. Answers 204 when all blocks are rewritten.
 */
void api_admin_clean(void *ctx, struct request *r, struct answer *a);

/*
 * POST …/confirm_clock: the user confirms that the system clock is right
 * although it jumped, so that retention by time follows it again. Answers 204.
 */
void api_admin_confirm_clock(void *ctx, struct request *r, struct answer *a);

/*
 * POST …/snapshot: make a snapshot and answer with its name. skip_head=true
 * leaves out head blocks.
 */
void api_admin_snapshot(void *ctx, struct request *r, struct answer *a);

/* GET /debug/pprof/: a page that lists the profiles. */
void api_self_list(void *ctx, struct request *r, struct answer *a);

/* GET /debug/pprof/heap: which functions hold memory. */
void api_self_heap(void *ctx, struct request *r, struct answer *a);

/* GET /debug/pprof/profile: a CPU profile of the next seconds. */
void api_self_profile(void *ctx, struct request *r, struct answer *a);

/* GET /api/v1/session: who sends the request, and whether by a session. */
void api_session(void *ctx, struct request *r, struct answer *a);

/*
 * POST /api/v1/session/begin: begin a session. The request carries valid
 * credentials; the answer sets a cookie that replaces them in later requests.
 */
void api_session_begin(void *ctx, struct request *r, struct answer *a);

/* POST /api/v1/session/end: end the session that the cookie names. */
void api_session_end(void *ctx, struct request *r, struct answer *a);

/*
 * GET /api/v1/targets: all targets, with their health. The parameter `state`
 * restricts the list to "active" or "dropped" targets.
 */
void api_targets(void *ctx, struct request *r, struct answer *a);

/* GET …/config: the configuration in use, without secrets. */
void api_status_config(void *ctx, struct request *r, struct answer *a);

/* GET …/flags: the command-line flags. */
void api_status_flags(void *ctx, struct request *r, struct answer *a);

/* GET …/buildinfo: version, revision and compiler. */
void api_status_buildinfo(void *ctx, struct request *r, struct answer *a);

/* GET …/runtimeinfo: start time, working directory, retention. */
void api_status_runtimeinfo(void *ctx, struct request *r, struct answer *a);

/* GET …/queries: the queries that are running (running_json()). */
void api_status_queries(void *ctx, struct request *r, struct answer *a);

/*
 * GET …/tsdb: counts and sizes of heads, blocks and the WAL, and which types,
 * labels and values have the most series.
 */
void api_status_tsdb(void *ctx, struct request *r, struct answer *a);

#endif
