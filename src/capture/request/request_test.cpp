// SPDX-License-Identifier: BSD-3-Clause
#include "capture/request/request.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace iotrail::capture {
namespace {

RecordingRequest full_request() {
  RecordingRequest request;
  request.command = {"dd", "if=/a b", "of=\"c\""};
  request.filter.layers = {schema::Layer::syscall, schema::Layer::block};
  request.filter.events = {"syscall_read", "block_complete"};
  request.filter.pids = {1, 4194304};
  request.filter.machines = {1};
  request.filter.whole_system = true;
  request.filter.wanted = {.threads = {7},
                           .names = {"dd*"},
                           .users = {0, 4294967295},
                           .cgroups = {"/a"},
                           .containers = {"0123456789ab"},
                           .devices = {"sda"},
                           .mounts = {"/mnt"},
                           .files = {"/etc/passwd"},
                           .folders = {"/home"},
                           .operations = {"fsync"}};
  request.filter.excluded.files = {"/x"};
  request.filter.excluded_pids = {9};
  request.filter.sample_of = 100;
  request.filter.thresholds = {.latency_ns = 18446744073709551615U, .bytes = 4096};
  request.filter.excludes_pseudo = true;
  request.drop_arguments = true;
  request.follow = true;
  request.limits = {.time_ns = 5, .size_bytes = 6, .until_sources_end = true};
  request.ring_bytes = 1 << 20;
  request.snapshot = {.wanted = {{.kind = IOT_snapshot_kind_fs, .root = "/", .period_ns = 8},
                                 {.kind = IOT_snapshot_kind_system, .root = {}}},
                      .since = {"/old.iotrail"}};
  request.aggregation = {.interval_ns = 1, .rows = 2};
  request.trace = "/tmp/t.iotrail";
  request.tags = {{"case", "1"}};
  return request;
}

TEST(request, is_the_same_after_a_round_trip) {
  const std::string json = to_json(full_request());
  const auto back = request_from_json(json);
  ASSERT_TRUE(back.has_value()) << back.error().message();
  EXPECT_EQ(to_json(*back), json);
  EXPECT_EQ(back->command, full_request().command);
  EXPECT_EQ(back->filter.wanted.users, full_request().filter.wanted.users);
  EXPECT_EQ(back->filter.thresholds.latency_ns, 18446744073709551615U);
  EXPECT_EQ(back->snapshot.wanted[0].kind, static_cast<iot_u32>(IOT_snapshot_kind_fs));
  EXPECT_EQ(back->tags, full_request().tags);
}

// Each member is there only where it differs from its default: so the round trip above has covered all of them.
TEST(request, leaves_out_defaults) {
  EXPECT_EQ(to_json({}), "{}");
  RecordingRequest request;
  request.filter.wanted.files = {"/a"};
  EXPECT_EQ(to_json(request), R"({"filter":{"include":{"files":["/a"]}}})");
  ASSERT_TRUE(request_from_json("{}").has_value());
}

TEST(request, bytes_that_are_not_utf8_are_replaced) {
  RecordingRequest request;
  request.command = {"\xff"};
  EXPECT_EQ(to_json(request), "{\"command\":[\"\xef\xbf\xbd\"]}");
}

TEST(request, mistakes_name_their_key) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[]", "the request"},
      {"null", "the request"},
      {R"({"colour":1})", "colour"},
      {R"({"filter":{"colour":1}})", "filter.colour"},
      {R"({"filter":{"include":{"file":["/a"]}}})", "filter.include.file"},
      {R"({"filter":[]})", "filter"},
      {R"({"filter":{"layers":["disk"]}})", "filter.layers"},
      {R"({"filter":{"layers":["dictionary"]}})", "filter.layers"},
      {R"({"filter":{"layers":"syscall"}})", "filter.layers"},
      {R"({"filter":{"events":["syscall_raed"]}})", "filter.events"},
      {R"({"filter":{"events":["processes"]}})", "filter.events"},
      {R"({"filter":{"pids":[-1]}})", "filter.pids"},
      {R"({"filter":{"pids":[4294967296]}})", "filter.pids"},
      {R"({"filter":{"pids":[1.5]}})", "filter.pids"},
      {R"({"filter":{"system":1}})", "filter.system"},
      {R"({"command":[1]})", "command"},
      {R"({"limits":{"time_ns":"1s"}})", "limits.time_ns"},
      {R"({"limits":{"time_ns":1e30}})", "limits.time_ns"},
      {R"({"snapshot":{"of":[{"kind":"disk"}]}})", "snapshot.of.kind"},
      {R"({"tags":{"a":1}})", "tags.a"},
      {R"({"trace":null})", "trace"},
  };
  for (const auto& [json, key] : mistakes) {
    const auto request = request_from_json(json);
    ASSERT_FALSE(request.has_value()) << json;
    EXPECT_TRUE(request.error().message().contains(key)) << request.error().message();
  }
}

TEST(request, deep_nesting_is_refused) {
  const auto request = request_from_json(std::string(1'000'000, '['));
  EXPECT_FALSE(request.has_value());
  const std::string closed =
      "{\"filter\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_FALSE(request_from_json(closed).has_value());
}

} // namespace
} // namespace iotrail::capture
