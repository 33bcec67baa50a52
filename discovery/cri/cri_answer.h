/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and answers of the Container Runtime Interface (CRI), through which
 * the kubelet controls containerd and CRI-O. The calls use gRPC, and the
 * messages are protocol buffers.
 *
 * Sources: github.com/kubernetes/cri-api, pkg/apis/runtime/v1/api.proto;
 * github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md.
 *
 * Ownership: nothing is kept; targets are copied to the builder.
 * Threads: pure functions.
 */
#ifndef DISCOVERY_CRI_CRI_ANSWER_H
#define DISCOVERY_CRI_CRI_ANSWER_H

#include "client/transfer/http.h"
#include "discovery/core/group_builder.h"

/*
 * Bodies of the requests. Each body is the prefix of a gRPC message (five
 * bytes, which contain the length of the message), followed by the message.
 */
extern const struct bytes cri_list_pods;       /* all pods */
extern const struct bytes cri_list_containers; /* containers that run */

/*
 * Check the answer `r` to a call, and set *message to the message (the protocol
 * buffer) in the body of `r`; the message is borrowed from `r`. Errors: the
 * call has failed, the runtime has refused the call, or the answer is
 * malformed.
 */
NODISCARD int cri_answer_check(const struct http_response *r,
			       struct bytes *message, struct err *err);

/*
 * Make a target of each container, with the labels of its pod. `pods` and
 * `containers` are the messages of the two answers; each message is a list.
 * ERR_CORRUPT: one of the lists is malformed. If only an item of a list is
 * malformed, the item is read as far as possible.
 */
NODISCARD int cri_answer_map(struct bytes pods, struct bytes containers,
			     struct group_builder *b, struct err *err);

#endif
