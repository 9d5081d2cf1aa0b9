// SPDX-License-Identifier: BSD-3-Clause
//
// The operations that a recording can be restricted to, or be without (Things::operations): what programs ask for, by the
// calls that they make and the classes that the schema puts these in. A name stands for the calls that have it, and for
// those of the class that has it; `call:NAME` for the calls alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/selection/filter.hpp"
#include "schema.hpp"

namespace iotrail::capture {

// A call by which programs ask for something, and the event that tells of it.
struct Operation {
  const schema::Event* event;
  std::string_view call;       // empty: there is none, as of a fault
  std::string_view class_name; // what it does
};

// System calls, functions of the C library, operations of io_uring and libaio, faults.
const std::vector<Operation>& all_operations();

// Before the name of a call that is not meant as a class's.
inline constexpr std::string_view kCallAlone = "call:";

bool has_name(const Operation& operation, std::string_view name);

enum class Choice : std::uint8_t { unnamed, wanted, excluded };

// What a filter says of an operation by itself.
Choice choice_of(const Filter& filter, const Operation& operation);

// Whether it is recorded where nothing but its own name counts.
bool is_chosen(const Filter& filter, const Operation& operation);

} // namespace iotrail::capture
