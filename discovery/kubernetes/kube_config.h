/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of Kubernetes discovery.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/configuration,
 * kubernetes_sd_config.
 *
 * Ownership: text is borrowed from the struct yaml that it was decoded from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_CONFIG_H
#define DISCOVERY_KUBERNETES_KUBE_CONFIG_H

#include "discovery/core/provider.h"
#include "discovery/core/text_list.h"
#include "discovery/kubeobject/kube_resource.h"

/*
 * A selector of the configuration: which objects of one resource are wanted.
 * `role` names the resource, for example "pod"; it is empty if the
 * configuration has no selector for the resource. `label` and `field` are a
 * label selector (app=web) and a field selector (spec.nodeName=a). An object
 * must meet both; an empty selector is met by all objects.
 */
struct kube_selector {
	struct str role;
	struct str label;
	struct str field;
};

/* An entry of kubernetes_sd_configs. */
struct kube_config {
	struct discovery_config base;
	struct str role_name;
	struct str api_server;
	struct str kubeconfig; /* path; empty: none */
	struct text_list namespaces;
	bool own_namespace;
	bool attach_node;
	bool attach_namespace;
	bool attach_deployment;
	bool attach_job;
	bool attach_cronjob;
	/*
	 * kube_config_check() sets `role` and `wants`, which follow from the
	 * other members.
	 */
	enum kube_resource_id role;
	/* selectors by resource */
	struct kube_selector selectors[KUBE_ROLES];
	/* the resources that are watched */
	bool wants[KUBE_RESOURCES];
};

/* The keys of an entry. */
extern const struct yaml_field kube_config_fields[];

/* Set the defaults. */
void kube_config_init(struct discovery_config *base);

/* Check an entry, and set the members that are derived from its keys. */
void kube_config_check(struct yaml *y, const struct yaml_node *entry,
		       struct discovery_config *base);

/*
 * Report an error if the role is valid, but is not pod: only the targets of
 * pods have the ID of a container.
 */
void kube_config_check_containers(struct yaml *y, const struct yaml_node *entry,
				  const struct discovery_config *base);

#endif
