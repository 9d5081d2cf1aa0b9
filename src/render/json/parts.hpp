// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of JSON that several documents have.
#pragma once

#include <string_view>

#include "export/json.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

inline void put_key(Sink& sink, std::string_view key) {
  put_json_text(sink, key);
  sink.put(':');
}

// Calls `put(element)` for each element, each on a line of its own.
template <class Elements, class Put>
void put_array(Sink& sink, const Elements& elements, const Put& put) {
  sink.put('[');
  bool is_first = true;
  for (const auto& element : elements) {
    sink.put(is_first ? "\n" : ",\n");
    is_first = false;
    put(element);
  }
  sink.put(is_first ? "]" : "\n]");
}

} // namespace iotrail::output
