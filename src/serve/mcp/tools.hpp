// SPDX-License-Identifier: BSD-3-Clause
//
// The tools of `iotrail mcp`. All of them only read.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "serve/answers/answers.hpp"
#include "serve/answers/traces.hpp"

namespace iotrail::serve {

struct ToolContext {
  Traces traces;
  Limits limits{};
  int limit_ms = 120'000;           // of one call
  std::size_t bytes_most = 256'000; // of its text
};

struct Tool {
  std::string_view name;
  std::string_view description;
  nlohmann::json properties; // of the arguments, as JSON schema
  Result<std::string> (*make)(const nlohmann::json& arguments, const ToolContext& context,
                              const Limits& limits);
};

const Tool* find_tool(std::string_view name); // nullptr: there is none
nlohmann::json tool_list();
std::string_view server_instructions();

// Checks the arguments, then makes the answer in a process of its own.
Result<std::string> call_tool(const Tool& tool, const nlohmann::json& arguments,
                              const ToolContext& context);

} // namespace iotrail::serve
