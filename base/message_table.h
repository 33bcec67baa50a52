/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message table: short names for the rows of a table of struct message_field
 * (base/transcode.h): a field that occurs once, or many times, and has a value, one of
 * an enum, or a message. Sources that have such tables include it; no header does.
 *
 * Threads: constants.
 */
#ifndef BASE_MESSAGE_TABLE_H
#define BASE_MESSAGE_TABLE_H

#include "base/transcode.h"

#define ONE(number_, name_, type_)                                          \
	{                                                                   \
		.number = (number_), .name = (name_), .type = FIELD_##type_ \
	}
#define MANY(number_, name_, type_)                                          \
	{                                                                    \
		.number = (number_), .name = (name_), .type = FIELD_##type_, \
		.repeated = true                                             \
	}
#define ENUM(number_, name_, values_)                                     \
	{                                                                 \
		.number = (number_), .name = (name_), .type = FIELD_ENUM, \
		.values = (values_)                                       \
	}
#define MESSAGE(number_, name_, message_)                                    \
	{                                                                    \
		.number = (number_), .name = (name_), .type = FIELD_MESSAGE, \
		.message = &(message_)                                       \
	}
#define MESSAGES(number_, name_, message_)                                   \
	{                                                                    \
		.number = (number_), .name = (name_), .type = FIELD_MESSAGE, \
		.repeated = true, .message = &(message_)                     \
	}
#define END                 \
	{                   \
		.number = 0 \
	}

#endif
