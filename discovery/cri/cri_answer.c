/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/cri/cri_answer.h"

#include "base/hash.h"
#include "base/wire.h"

#define META(name) "__meta_cri_" name

/*
 * Length of the prefix of a message: a byte that says whether the message is
 * compressed, and four bytes with the length of the message.
 */
#define FRAME_HEAD 5

/* Numbers of fields. */
enum {
	/* ListPodSandboxResponse, ListContainersResponse */
	LIST_ITEMS = 1,
	/* PodSandbox, PodSandboxMetadata */
	POD_ID = 1,
	POD_METADATA = 2,
	POD_LABELS = 5,
	POD_NAME = 1,
	POD_UID = 2,
	POD_NAMESPACE = 3,
	/* Container, ContainerMetadata, ImageSpec */
	CONTAINER_ID = 1,
	CONTAINER_POD = 2,
	CONTAINER_METADATA = 3,
	CONTAINER_IMAGE = 4,
	CONTAINER_LABELS = 8,
	CONTAINER_NAME = 1,
	IMAGE_NAME = 1,
	/* an entry of a map */
	MAP_KEY = 1,
	MAP_VALUE = 2
};

static const uint8_t list_pods[] = { 0, 0, 0, 0, 0 };
/* filter (1) { state (2) { state (1): CONTAINER_RUNNING (1) } } */
static const uint8_t list_containers[] = {
	0, 0, 0, 0, 6, 0x0a, 4, 0x12, 2, 8, 1
};

const struct bytes cri_list_pods = { list_pods, sizeof(list_pods) };
const struct bytes cri_list_containers = { list_containers,
					   sizeof(list_containers) };

/*
 * Return the gRPC header `name`. The server sends it after the body (as a
 * trailer), or with the other headers if there is no body.
 */
static struct str cri_answer_header(const struct http_response *r,
				    const char *name)
{
	struct str value = http_response_trailer(r, name);

	return value.len ? value : http_response_header(r, name);
}

int cri_answer_check(const struct http_response *r, struct bytes *message,
		     struct err *err)
{
	struct bytes body = buf_bytes(&r->body);
	struct str status = cri_answer_header(r, "grpc-status");

	if (r->code)
		return err_set(err, r->code, "%s", r->err.msg);
	if (r->status != 200)
		return err_set(
			err, ERR_INVALID,
			"the socket does not speak gRPC: HTTP status %ld",
			r->status);
	if (status.len && !str_is(status, "0"))
		return err_set(
			err, ERR_INVALID,
			"the container runtime has answered with an error: gRPC status %.*s: %.*s",
			STR_ARG(status),
			STR_ARG(cri_answer_header(r, "grpc-message")));
	if (body.len < FRAME_HEAD || body.ptr[0] ||
	    body.len - FRAME_HEAD !=
		    ((uint32_t)body.ptr[1] << 24 | (uint32_t)body.ptr[2] << 16 |
		     (uint32_t)body.ptr[3] << 8 | body.ptr[4]))
		return err_set(err, ERR_CORRUPT,
			       "the answer is not one message of gRPC");
	*message =
		(struct bytes){ body.ptr + FRAME_HEAD, body.len - FRAME_HEAD };
	return 0;
}

/*
 * Return the bytes of the last field of `message` with the number `number`;
 * empty: there is none. A malformed message is read as far as possible.
 */
static struct bytes wire_find(struct bytes message, uint64_t number)
{
	struct bytes found = { (const uint8_t *)"", 0 };
	struct wire w = wire_init(message);
	struct wire_field f;

	while (wire_next(&w, &f)) {
		if (f.number == number && f.type == WIRE_BYTES)
			found = f.bytes;
	}
	return found;
}

/* Add the label `name` with the text in field `number` of the message. */
static void add_field_label(struct group_builder *b, const char *name,
			    struct bytes message, uint64_t number)
{
	group_label(b, name, str_from(wire_find(message, number)));
}

/* Add a label for each entry of the map in field `number` of the message. */
static void add_map_labels(struct group_builder *b, const char *prefix,
			   struct bytes message, uint64_t number)
{
	struct wire w = wire_init(message);
	struct wire_field f;

	while (!group_is_over(b) && wire_next(&w, &f)) {
		if (f.number == number && f.type == WIRE_BYTES)
			group_label_of(b, prefix,
				       str_from(wire_find(f.bytes, MAP_KEY)),
				       str_from(wire_find(f.bytes, MAP_VALUE)));
	}
}

/* The pods, by their ID. */
struct cri_pods {
	VEC(struct bytes) list; /* messages */
	struct table by_id;
};

/* Comparison function of the table. */
static bool is_pod(const void *ctx, uint32_t number, const void *key)
{
	const struct cri_pods *p = ctx;

	return bytes_eq(wire_find(p->list.v[number], POD_ID),
			*(const struct bytes *)key);
}

/* Return the index in p->list of the pod with the ID `id`, or TABLE_NONE. */
static uint32_t find_pod(const struct cri_pods *p, struct bytes id)
{
	return table_find(&p->by_id, hash_key(id), is_pod, p, &id);
}

/* Read `answer`, the list of pods. Returns false if it is malformed. */
static bool read_pods(struct cri_pods *p, struct bytes answer)
{
	struct wire w = wire_init(answer);
	struct wire_field f;
	struct bytes id;

	while (wire_next(&w, &f)) {
		if (f.number != LIST_ITEMS || f.type != WIRE_BYTES)
			continue;
		id = wire_find(f.bytes, POD_ID);
		if (find_pod(p, id) != TABLE_NONE)
			continue; /* the first one counts */
		*vec_add(&p->list) = f.bytes;
		table_add(&p->by_id, hash_key(id), (uint32_t)p->list.count - 1);
	}
	return !w.bad;
}

/* Add the labels of a pod. */
static void add_pod(struct group_builder *b, struct bytes pod)
{
	struct bytes metadata = wire_find(pod, POD_METADATA);

	add_field_label(b, META("pod_id"), pod, POD_ID);
	add_field_label(b, META("pod_name"), metadata, POD_NAME);
	add_field_label(b, META("pod_uid"), metadata, POD_UID);
	add_field_label(b, META("pod_namespace"), metadata, POD_NAMESPACE);
	add_map_labels(b, META("pod_label_"), pod, POD_LABELS);
}

/*
 * Make the target of a container. Its address is unknown, so __address__ is the
 * container's ID.
 */
static void map_cri_container(const struct cri_pods *pods,
			      struct bytes container, struct group_builder *b)
{
	struct bytes pod = wire_find(container, CONTAINER_POD);
	uint32_t n = find_pod(pods, pod);

	group_target(b);
	group_label(b, "__address__",
		    str_from(wire_find(container, CONTAINER_ID)));
	add_field_label(b, META("container_id"), container, CONTAINER_ID);
	add_field_label(b, META("container_name"),
			wire_find(container, CONTAINER_METADATA),
			CONTAINER_NAME);
	add_field_label(b, META("container_image"),
			wire_find(container, CONTAINER_IMAGE), IMAGE_NAME);
	add_map_labels(b, META("container_label_"), container,
		       CONTAINER_LABELS);
	if (n != TABLE_NONE)
		add_pod(b, pods->list.v[n]);
}

int cri_answer_map(struct bytes pods, struct bytes containers,
		   struct group_builder *b, struct err *err)
{
	struct cri_pods p = { 0 };
	struct wire w = wire_init(containers);
	struct wire_field f;
	bool good = read_pods(&p, pods);

	group_begin(b);
	while (good && !group_is_over(b) && wire_next(&w, &f)) {
		if (f.number == LIST_ITEMS && f.type == WIRE_BYTES)
			map_cri_container(&p, f.bytes, b);
	}
	vec_fini(&p.list);
	table_fini(&p.by_id);
	if (good && !w.bad)
		return 0;
	return err_set(err, ERR_CORRUPT, "the answer is malformed");
}
