/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML input as YAML nodes, so that the same code can use answers in XML and in
 * JSON.
 *
 * An element with neither attributes nor child elements is a scalar with its
 * text. Any other element is a map with a key for each name of its child
 * elements; children with the same name are a list. An attribute has the key
 * "@<name>", and the text of an element with attributes or children has the key
 * "#text", unless the text is only white space. The root element's value is the
 * result; the root's name does not matter.
 *
 * Limits: those of yaml.h. Document type declarations are refused, and with
 * them entities that the document defines.
 *
 * Ownership: nodes are in the arena of the document.
 * Threads: one thread per document.
 */
#ifndef DISCOVERY_REST_XML_DOCUMENT_H
#define DISCOVERY_REST_XML_DOCUMENT_H

#include "base/yaml.h"

/*
 * Initialise *y and parse XML text into it, as yaml_parse_json() parses JSON.
 * The caller calls yaml_fini() in every case.
 */
void xml_parse(struct yaml *y, const char *file, struct bytes text);

#endif
