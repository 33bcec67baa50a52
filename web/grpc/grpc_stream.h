/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC stream: one request while it is received and answered. The client may send as much of
 * its message as memory was taken for: it has to wait, but need not send anything twice
 * (docs/decisions.md, 239).
 *
 * Ownership: a session owns its streams; while another thread works on a stream, that thread
 * alone uses the call, but for `share`: while that thread verifies a password, the session
 * still receives the body.
 * Threads: one at a time.
 */
#ifndef WEB_GRPC_GRPC_STREAM_H
#define WEB_GRPC_GRPC_STREAM_H

#include "web/grpc/grpc_call.h"

enum {
	/*
	 * What a client may send of a message before anything is known about it, in
	 * bytes: the size of a small message, so that it comes without delay.
	 */
	GRPC_STREAM_FIRST = 16 * 1024,
	/*
	 * Limit on such bytes of all connections for which there is no memory yet.
	 */
	GRPC_STREAM_UNPAID_MAX = 8 * 1024 * 1024,
	/*
	 * Limit on the headers of a request in bytes, counted as in RFC 9113, 6.5.2:
	 * 32 more for each header.
	 */
	GRPC_STREAM_HEADERS_MAX = 16 * 1024,
	GRPC_STREAM_PREFIX = 5 /* flag and length before a message */
};

#define GRPC_STREAM_NO_MEMORY                                                 \
	"no memory is left for the request: --ingest.memory is in use; send " \
	"it again later"

/* What happens to a stream. */
enum grpc_stream_state {
	GRPC_STREAM_HEADERS,  /* its headers are received */
	GRPC_STREAM_BODY,     /* its message is received */
	GRPC_STREAM_RUNNING,  /* its handler runs, or waits for a thread */
	GRPC_STREAM_ANSWERED, /* its answer is sent */
};

/* The memory of the messages of a listener; the server's thread alone uses it. */
struct grpc_memory {
	struct ingest_limiter *limiter; /* borrowed */
	int64_t unpaid; /* bytes that were not taken from the limiter yet */
};

struct grpc_session;

struct grpc_stream {
	struct grpc_call call;
	struct grpc_session *session;
	struct grpc_memory *memory;
	void *owner; /* what the session's owner has set in admit() */
	/* next one on which no thread works any more, in a list of the owner */
	struct grpc_stream *next_done;
	int32_t id;
	enum grpc_stream_state state;
	bool is_busy;  /* another thread works on the call */
	bool is_gone;  /* the session has dropped it; only that thread has it */
	bool is_whole; /* the client has sent the whole request */
	bool is_paid;  /* of the session: its headers are no waste */
	bool is_checked; /* of the owner: admit() was called before */
	/* admit() has to be called again: other passwords are being verified */
	bool must_retry;
	size_t header_bytes;
	/* Why the request fails, to be said once no thread works on the call. */
	struct err failed;
	/* The body: a prefix, and a message. */
	struct buf body;
	size_t unpaid; /* bytes of it that were not taken from the limiter yet */
	size_t credit;      /* bytes of the body that the client may send */
	int64_t waiting_ns; /* since when it waits for memory; 0: it does not */
	int64_t due_ns;     /* when the state must have ended */
	int64_t began_ns;
	size_t sent; /* bytes of the answer that were sent */
	struct grpc_stream *prev;
	struct grpc_stream *next;
};

/* Create a stream that waits for its headers. */
struct grpc_stream *grpc_stream_new(struct grpc_session *session,
				    struct grpc_memory *memory, int32_t id,
				    int64_t now_ns);

/* Free a stream, and return its memory to the limiter. */
void grpc_stream_free(struct grpc_stream *s);

/*
 * Add a header. `failed` is set once the headers are larger than GRPC_STREAM_HEADERS_MAX.
 */
void grpc_stream_add_header(struct grpc_stream *s, struct str name,
			    struct str value);

/*
 * Append a part of the body, whose memory is taken from the limiter; the first bytes may be
 * there before their memory, and `waiting_ns` is set. Or set `failed`: ERR_LIMIT: there is no
 * memory; ERR_TOOBIG: the message is larger than `max` bytes; ERR_INVALID: something follows
 * the message.
 */
void grpc_stream_add(struct grpc_stream *s, size_t max, struct bytes data,
		     int64_t now_ns);

/*
 * Take memory for what has come without it, and for more of the body if the client has sent
 * most of what it may send. Returns how many bytes more it may send; with 0, `waiting_ns`
 * says whether the stream waits for memory.
 */
size_t grpc_stream_grant(struct grpc_stream *s, int64_t now_ns);

/*
 * Take memory for what the handler of a complete message needs beside it, as far as that can
 * be known. False: the stream waits for it.
 */
NODISCARD bool grpc_stream_prepare(struct grpc_stream *s, int64_t now_ns);

/*
 * Set the message of the call, whose body is complete. ERR_INVALID: the body is no message.
 */
NODISCARD int grpc_stream_finish(struct grpc_stream *s, struct err *err);

/* Free the body, and return its memory to the limiter. */
void grpc_stream_drop(struct grpc_stream *s);

#endif
