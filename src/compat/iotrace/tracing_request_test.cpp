// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/tracing_request.hpp"

#include <gtest/gtest.h>

namespace iotrail::compat::iotrace {
namespace {

std::string tag_error(std::string tag) {
  const auto tags = tags_of({.devices = {}, .tags = {std::move(tag)}, .label = {}});
  return tags ? "" : tags.error().what;
}

TEST(IotraceTags, blanks_around_do_not_count) {
  const auto tags = tags_of({.devices = {}, .tags = {" a = b c "}, .label = "x"});
  ASSERT_TRUE(tags);
  EXPECT_EQ(*tags, (std::map<std::string, std::string>{{"a", "b c"}, {"label", "x"}}));
}

TEST(IotraceTags, missing_and_empty_parts_are_different_mistakes) {
  EXPECT_EQ(tag_error("=b"), "Missing tag name");
  EXPECT_EQ(tag_error("a"), "Missing tag value");
  EXPECT_EQ(tag_error("a="), "Missing tag value");
  EXPECT_EQ(tag_error(" =b"), "Tag name empty");
  EXPECT_EQ(tag_error("a= "), "Tag value empty");
}

TEST(IotraceTags, more_than_1024_are_refused) {
  TracingOptions options;
  for (int i = 0; i < 1025; ++i)
    options.tags.push_back("n" + std::to_string(i) + "=v");
  EXPECT_FALSE(tags_of(options));
  options.tags.pop_back();
  EXPECT_TRUE(tags_of(options));
}

TEST(IotraceDevices, a_file_is_no_device) {
  EXPECT_FALSE(disks_of({"/dev/null"}));
  EXPECT_FALSE(disks_of({"/nothing"}));
  EXPECT_FALSE(disks_of(std::vector<std::string>(33, "/dev/null")));
}

TEST(IotraceRequest, limits_and_buffers_follow_the_options) {
  const auto request = request_of(
      {.devices = {}, .seconds = 7, .size_mib = 3, .buffer_mib = 1, .tags = {}, .label = {}},
      {{.device = 1, .path = "/dev/x", .named = "/dev/x1"}});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->limits.time_ns, 7'000'000'000U);
  EXPECT_EQ(request->limits.size_bytes, 3U << 20U);
  EXPECT_GE(request->ring_bytes, 64U << 10U);
  EXPECT_LE(request->ring_bytes, 1U << 20U);
  EXPECT_EQ(request->filter.wanted.devices, std::vector<std::string>{"/dev/x"});
}

TEST(IotraceRequest, the_largest_time_is_no_limit) {
  const auto request = request_of({}, {{.device = 1, .path = "/dev/x", .named = "/dev/x"}});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->limits.time_ns, 0U);
}

} // namespace
} // namespace iotrail::compat::iotrace
