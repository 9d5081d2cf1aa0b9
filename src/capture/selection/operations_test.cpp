// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace iotrail::capture {
namespace {

std::set<std::string_view> chosen_calls(const Filter& filter, schema::Layer layer) {
  std::set<std::string_view> calls;
  for (const Operation& operation : all_operations())
    if (operation.event->layer == layer && is_chosen(filter, operation))
      calls.insert(operation.call);
  return calls;
}

Filter filter_of(std::vector<std::string> wanted, std::vector<std::string> excluded = {}) {
  Filter filter;
  filter.wanted.operations = std::move(wanted);
  filter.excluded.operations = std::move(excluded);
  return filter;
}

using Calls = std::set<std::string_view>;

TEST(Operations, a_name_stands_for_the_call_and_for_its_class) {
  EXPECT_EQ(chosen_calls(filter_of({"pread64"}), schema::Layer::syscall), Calls{"pread64"});
  EXPECT_EQ(chosen_calls(filter_of({"read"}), schema::Layer::syscall),
            (Calls{"read", "pread64", "readv", "preadv", "preadv2"}));
  EXPECT_EQ(chosen_calls(filter_of({"call:read"}), schema::Layer::syscall), Calls{"read"});
  EXPECT_EQ(chosen_calls(filter_of({"fsync"}), schema::Layer::syscall), Calls{"fsync"});
}

TEST(Operations, a_class_is_of_all_layers_that_programs_ask_at) {
  const Filter filter = filter_of({"fsync"});
  EXPECT_TRUE(chosen_calls(filter, schema::Layer::app).contains("fsync"));
  EXPECT_EQ(chosen_calls(filter, schema::Layer::async),
            (Calls{"IORING_OP_FSYNC", "IOCB_CMD_FSYNC"}));
  EXPECT_TRUE(chosen_calls(filter, schema::Layer::fault).empty());
  EXPECT_EQ(chosen_calls(filter_of({"fault"}), schema::Layer::fault), Calls{""});
}

TEST(Operations, excluded_operations_are_excluded_even_if_selected) {
  EXPECT_EQ(chosen_calls(filter_of({"read"}, {"pread64", "preadv2"}), schema::Layer::syscall),
            (Calls{"read", "readv", "preadv"}));
  const Calls all = chosen_calls(filter_of({}), schema::Layer::syscall);
  const Calls rest = chosen_calls(filter_of({}, {"write"}), schema::Layer::syscall);
  EXPECT_EQ(all.size(), std::size(schema::kSyscalls));
  EXPECT_EQ(rest.size() + 5, all.size());
}

TEST(Operations, names_that_nothing_has_choose_nothing) {
  for (const char* const name : {"", "call:", "reads", "discard", "syscall_read", "call:fault"})
    EXPECT_TRUE(std::ranges::none_of(all_operations(), [&](const Operation& operation) {
      return has_name(operation, name);
    })) << name;
}

} // namespace
} // namespace iotrail::capture
