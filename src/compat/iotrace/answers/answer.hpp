// SPDX-License-Identifier: BSD-3-Clause
//
// How answers are printed: JSON in ASCII, since texts of a trace may hold any bytes.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.hpp"
#include "cli/console.hpp"
#include "text/sink.hpp"

namespace iotrail::compat::iotrace {

// On several lines, as iotrace prints answers.
inline std::string answer_text(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// On one line, as it prints events.
inline std::string line_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

inline Result<void> print_answer(const cli::Console& console, const nlohmann::ordered_json& json) {
  output::Sink sink(console.out.file);
  sink.put(answer_text(json));
  return sink.finish();
}

} // namespace iotrail::compat::iotrace
