// SPDX-License-Identifier: BSD-3-Clause
//
// Prints the schema of this version for people and programs. docs/events.md is schema_markdown(),
// schema/frozen.txt is schema_frozen(); a test compares both with the committed files.
#pragma once

#include <string>

#include "schema.hpp"

namespace iotrail::output {

// The documentation of an event; says if it is recorded only on request.
std::string event_doc(const schema::Event& event);

std::string schema_text();
std::string schema_markdown();
std::string schema_json();
std::string schema_sql(); // CREATE TABLE for every event and dictionary table

// One line for each fact that stored traces depend on: layers, events, fields by position,
// counters, values. A released line never changes or disappears. New fields come last in their
// event.
std::string schema_frozen();

} // namespace iotrail::output
