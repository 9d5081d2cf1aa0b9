// SPDX-License-Identifier: BSD-3-Clause
#include "serve/mcp/session.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace iotrail::serve {

namespace {

using nlohmann::json;

class McpSession : public testing::Test {
protected:
  static json ask(std::string_view message) {
    const ToolContext context{.traces = *Traces::of({std::filesystem::temp_directory_path()})};
    const std::string answer = answer_to(message, context);
    return answer.empty() ? json() : json::parse(answer);
  }

  static int code_of(std::string_view message) { return ask(message)["error"]["code"]; }
};

} // namespace

TEST_F(McpSession, malformed_messages_get_an_error) {
  for (const char* text : {"", "{", "\xff", "[1,2", "{\"a\":\"\xc3\"}"})
    EXPECT_EQ(code_of(text), -32700) << text;
  for (const char* text : {"[]", "1", "null", R"({"id":1})", R"({"id":{},"method":"ping"})",
                           R"({"id":null,"method":"ping"})", R"({"id":1,"method":2})"})
    EXPECT_EQ(code_of(text), -32600) << text;
  EXPECT_EQ(code_of(R"({"id":1,"method":"no"})"), -32601);
  EXPECT_EQ(code_of(R"({"id":1,"method":"tools/call","params":{"name":"no"}})"), -32602);
  EXPECT_EQ(code_of(R"({"id":1,"method":"tools/call","params":[]})"), -32602);
  EXPECT_EQ(code_of(std::string(100'000, '[')), -32700);
}

TEST_F(McpSession, notifications_and_answers_get_none) {
  EXPECT_TRUE(ask(R"({"method":"notifications/initialized"})").is_null());
  EXPECT_TRUE(ask(R"({"method":"no"})").is_null());
  EXPECT_TRUE(ask(R"({"id":1,"result":{}})").is_null());
}

TEST_F(McpSession, a_known_version_is_kept_and_another_gets_the_newest) {
  const auto version = [](const char* asked) {
    return ask(
        fmt::format(R"({{"id":"a","method":"initialize","params":{{"protocolVersion":{}}}}})",
                    asked))["result"]["protocolVersion"];
  };
  EXPECT_EQ(version("\"2024-11-05\""), "2024-11-05");
  EXPECT_EQ(version("\"1999-01-01\""), "2025-06-18");
  EXPECT_EQ(version("7"), "2025-06-18");
}

TEST_F(McpSession, arguments_are_checked_before_the_work) {
  const auto text = [](const char* tool, const char* arguments) -> std::string {
    const json result = ask(
        fmt::format(R"({{"id":1,"method":"tools/call","params":{{"name":"{}","arguments":{}}}}})",
                    tool, arguments))["result"];
    EXPECT_EQ(result["isError"], true);
    return result["content"][0]["text"];
  };
  EXPECT_NE(text("query", R"({"sqll":"FROM events"})").find("Did you mean 'sql'?"),
            std::string::npos);
  EXPECT_NE(text("query", R"({"sql":7})").find("must be of type string"), std::string::npos);
  EXPECT_NE(text("query", "{}").find("no SQL"), std::string::npos);
  EXPECT_NE(text("report", R"({"since_s":2,"until_s":1})").find("not after"), std::string::npos);
  EXPECT_NE(text("report", R"({"trace":"../../etc"})").find("there is no trace"),
            std::string::npos);
}

TEST_F(McpSession, a_line_that_is_too_long_is_dropped_and_the_next_one_answered) {
  int in[2];
  int out[2];
  ASSERT_EQ(::pipe(in), 0);
  ASSERT_EQ(::pipe(out), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    const std::string text = std::string(3 * kMessageBytesMost, 'x') +
                             "\n{\"id\":5,\"method\":\"ping\"}"; // no end of line
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t written = ::write(in[1], text.data() + at, text.size() - at);
      if (written <= 0)
        break;
      at += static_cast<std::size_t>(written);
    }
    ::_exit(0);
  }
  ::close(in[1]);
  const ToolContext context{.traces = *Traces::of({std::filesystem::temp_directory_path()})};
  EXPECT_TRUE(run_session(in[0], out[1], context).has_value());
  ::close(out[1]);
  std::string answers(4096, '\0');
  answers.resize(static_cast<std::size_t>(::read(out[0], answers.data(), answers.size())));
  const auto end = answers.find('\n');
  EXPECT_EQ(json::parse(answers.substr(0, end))["error"]["code"], -32600);
  EXPECT_EQ(json::parse(answers.substr(end + 1))["id"], 5);
}

} // namespace iotrail::serve
