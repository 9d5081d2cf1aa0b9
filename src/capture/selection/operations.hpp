// SPDX-License-Identifier: BSD-3-Clause
//
// The operations that a recording can include or exclude (Selector::operations): calls of programs,
// and their classes in the schema. A name selects the calls with that name, and the calls of the
// class with that name; `call:NAME` selects only the calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/selection/filter.hpp"
#include "schema.hpp"

namespace iotrail::capture {

// A call by which programs request something, and its event.
struct Operation {
  const schema::Event* event;
  std::string_view call;       // empty: none, as for a fault
  std::string_view class_name; // class of the call
};

// System calls, functions of the C library, operations of io_uring and libaio, faults.
const std::vector<Operation>& all_operations();

// Prefix of a name that selects a call but not a class.
inline constexpr std::string_view kCallAlone = "call:";

bool has_name(const Operation& operation, std::string_view name);

enum class Choice : std::uint8_t { unnamed, wanted, excluded };

// The filter's decision on the operation alone.
Choice choice_of(const Filter& filter, const Operation& operation);

// Whether it is recorded if only its own name counts.
bool is_chosen(const Filter& filter, const Operation& operation);

} // namespace iotrail::capture
