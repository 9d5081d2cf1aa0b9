// SPDX-License-Identifier: BSD-3-Clause
//
// What is known about one operation: its parts on every layer, its time, and what became of its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"
#include "report/small_result.hpp"

namespace iotrail::output {

inline constexpr std::size_t kPartsShown = 12; // of one operation

// A line of an operation: a span, or the requests of one device, direction and cause.
struct Part {
  std::string layer;
  std::string what;
  std::string words{}; // `what` in plain words; empty: the same
  std::vector<Span> spans{};
  Value bytes{};
  std::string error{};
  std::string note{};         // which call it is, or the function that waited
  std::uint64_t requests = 0; // 0: it is no requests of a device
};

// What its time went on, in the words of the first screen: "waiting for the disk".
struct TimeShare {
  std::string words;
  std::string detail{}; // which part of that, or the reason of the wait; empty: nothing more
  std::uint64_t ns = 0;
};

struct Operation {
  std::uint64_t id = 0;
  Sentence title;
  Span span;
  std::vector<Part> parts;
  std::uint64_t parts_left_out = 0;
  std::vector<Sentence> later; // what became of its bytes after its end
  std::vector<TimeShare> time;
  bool is_library = false; // a call into the C library
};

// "cp[17]"
std::string process_text(const SmallResult& rows, std::size_t row);

// Fills in all but `id`, `title`, `span` and `is_library`.
Result<void> add_parts(analysis::Engine& engine, std::vector<Operation>& operations);

} // namespace iotrail::output
