// SPDX-License-Identifier: BSD-3-Clause
#include "serve/mcp/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace iotrail::serve {

namespace {

using nlohmann::json;

// The newest is offered to a client that asks for another one.
constexpr std::array<std::string_view, 3> kVersions{"2025-06-18", "2025-03-26", "2024-11-05"};

enum Code {
  parse_error = -32700,
  invalid_request = -32600,
  no_method = -32601,
  bad_params = -32602
};

std::string line_of(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string error_line(const json& id, Code code, std::string_view text) {
  return line_of({{"jsonrpc", "2.0"},
                  {"id", id},
                  {"error", {{"code", static_cast<int>(code)}, {"message", text}}}});
}

std::string result_line(const json& id, json result) {
  return line_of({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

json initialized(const json& params) {
  const json asked = params.value("protocolVersion", json());
  const bool is_known = asked.is_string() &&
                        std::ranges::find(kVersions, asked.get<std::string>()) != kVersions.end();
  return {{"protocolVersion", is_known ? asked : json(kVersions.front())},
          {"capabilities", {{"tools", json::object()}}},
          {"serverInfo", {{"name", "iotrail"}, {"version", IOTRAIL_VERSION}}},
          {"instructions", server_instructions()}};
}

std::string answer_to_call(const json& id, const json& params, const ToolContext& context) {
  const json name = params.value("name", json());
  const json arguments = params.value("arguments", json::object());
  if (!name.is_string() || !arguments.is_object())
    return error_line(id, bad_params, "tools/call needs a name, and arguments as an object");
  const Tool* tool = find_tool(name.get<std::string>());
  if (tool == nullptr)
    return error_line(id, bad_params, "there is no such tool; tools/list has them");
  const Result<std::string> text = call_tool(*tool, arguments, context);
  const json content = {{{"type", "text"}, {"text", text ? *text : text.error().message()}}};
  return result_line(id, {{"content", content}, {"isError", !text.has_value()}});
}

std::string answer_to_request(const std::string& method, const json& id, const json& params,
                              const ToolContext& context) {
  if (method == "initialize")
    return result_line(id, initialized(params));
  if (method == "ping")
    return result_line(id, json::object());
  if (method == "tools/list")
    return result_line(id, {{"tools", tool_list()}});
  if (method == "tools/call")
    return answer_to_call(id, params, context);
  return error_line(id, no_method, "there is no such method");
}

bool write_line(int output, std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(output, rest.data(), rest.size());
    if (written < 0 && errno != EINTR)
      return false;
    rest.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  return true;
}

// Takes lines out of what was read; a line that is too long is dropped up to its end.
class Lines {
public:
  explicit Lines(int input) : input_(input) {}

  enum class Got { line, oversized, end };
  Got next(std::string& line) {
    for (;;) {
      if (const auto end = buffer_.find('\n', searched_); end != std::string::npos)
        return take(line, end);
      searched_ = buffer_.size();
      if (buffer_.size() > kMessageBytesMost) {
        is_oversized_ = true;
        buffer_.clear();
        searched_ = 0;
      }
      char more[65536];
      const ssize_t got = ::read(input_, more, sizeof more);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return buffer_.empty() ? Got::end : take(line, buffer_.size());
      buffer_.append(more, static_cast<std::size_t>(got));
    }
  }

private:
  Got take(std::string& line, std::size_t end) {
    line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    searched_ = 0;
    const bool is_oversized = is_oversized_ || line.size() > kMessageBytesMost;
    is_oversized_ = false;
    return is_oversized ? Got::oversized : Got::line;
  }

  int input_;
  std::string buffer_;
  std::size_t searched_ = 0;
  bool is_oversized_ = false;
};

} // namespace

std::string answer_to(std::string_view message, const ToolContext& context) {
  const json request = json::parse(message, nullptr, false);
  if (request.is_discarded())
    return error_line(nullptr, parse_error, "the message is no JSON");
  if (!request.is_object())
    return error_line(nullptr, invalid_request, "a message is one object");
  const json method = request.value("method", json());
  const json id = request.value("id", json());
  const bool has_id = id.is_string() || id.is_number();
  if (!has_id && request.contains("id"))
    return error_line(nullptr, invalid_request, "an id is a text or a number");
  if (!method.is_string()) // also an answer, though nothing was asked
    return has_id && !request.contains("method") &&
                   (request.contains("result") || request.contains("error"))
               ? ""
               : error_line(has_id ? id : json(), invalid_request, "the message has no method");
  if (!has_id)
    return ""; // a notification
  const json params = request.value("params", json::object());
  if (!params.is_object())
    return error_line(id, bad_params, "params is an object");
  return answer_to_request(method.get<std::string>(), id, params, context);
}

std::string answer_to_oversized() {
  return error_line(nullptr, invalid_request,
                    fmt::format("the message is longer than {} bytes", kMessageBytesMost));
}

Result<void> run_session(int input, int output, const ToolContext& context) {
  Lines lines(input);
  std::string line;
  for (;;) {
    const Lines::Got got = lines.next(line);
    if (got == Lines::Got::end)
      return {};
    if (got == Lines::Got::line && line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    const std::string answer =
        got == Lines::Got::oversized ? answer_to_oversized() : answer_to(line, context);
    if (!answer.empty() && !write_line(output, answer))
      return fail_errno("cannot write the output");
  }
}

} // namespace iotrail::serve
