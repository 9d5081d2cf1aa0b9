// SPDX-License-Identifier: BSD-3-Clause
//
// The schema of this version for people and programs. docs/events.md is schema_markdown(), schema/frozen.txt is
// schema_frozen(); a test compares both with what is committed.
#pragma once

#include <string>

#include "schema.hpp"

namespace iotrail::output {

// What an event is, and that it is not recorded unless asked for.
std::string event_doc(const schema::Event& event);

std::string schema_text();
std::string schema_markdown();
std::string schema_json();
std::string schema_sql(); // CREATE TABLE for every event and dictionary table

// One line for each fact that stored traces depend on: layers, events, fields by position, counters, values. A line
// once released never changes or goes; fields are added at the end of their event only.
std::string schema_frozen();

} // namespace iotrail::output
