// SPDX-License-Identifier: BSD-3-Clause
#include "value_text.hpp"

#include <gtest/gtest.h>

namespace iotrail::schema {
namespace {

TEST(value_text, values_have_names_and_unknown_ones_stay_numbers) {
  EXPECT_EQ(value_text("syscall", 17), "pread64");
  EXPECT_EQ(value_text("syscall", 9999), "9999");
  EXPECT_EQ(value_text("syscall", UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(value_text("no_such_table", 1), "1");
}

TEST(value_text, open_flags_read_as_the_manual_names_them) {
  EXPECT_EQ(flags_text("open", 0), "O_RDONLY");
  EXPECT_EQ(flags_text("open", 66), "O_RDWR|O_CREAT");
  EXPECT_EQ(flags_text("open", 1052672 | 1), "O_WRONLY|O_SYNC");
  EXPECT_EQ(flags_text("open", 4096), "O_RDONLY|O_DSYNC");
  EXPECT_EQ(flags_text("open", 4259840 | 2), "O_RDWR|O_TMPFILE");
}

TEST(value_text, map_flags_are_a_type_and_bits) {
  EXPECT_EQ(flags_text("map", 2 | 32), "MAP_PRIVATE|MAP_ANONYMOUS");
  EXPECT_EQ(flags_text("map", 3), "MAP_SHARED_VALIDATE");
  EXPECT_EQ(flags_text("map", 3 | 524288), "MAP_SHARED_VALIDATE|MAP_SYNC");
}

TEST(value_text, block_flags_are_an_operation_and_hints) {
  EXPECT_EQ(flags_text("block", 0), "read");
  EXPECT_EQ(flags_text("block", 1 | 2048 | 131072), "write|sync|fua");
}

TEST(value_text, bits_without_a_name_are_not_dropped) {
  EXPECT_EQ(flags_text("rwf", 0), "0");
  EXPECT_EQ(flags_text("rwf", 2 | 0x10000000), "RWF_DSYNC|0x10000000");
  EXPECT_EQ(flags_text("no_such_table", 5), "0x5");
}

TEST(value_text, no_bit_of_any_flag_table_is_lost) {
  for (const Value& value : kValues)
    for (const MeaningInfo& meaning : kMeanings)
      if (meaning.kind == MeaningKind::flags && meaning.table == value.table) {
        EXPECT_NE(flags_text(value.table, value.number).find(value.name), std::string::npos)
            << value.table << ' ' << value.name;
      }
}

TEST(value_text, errors_are_negative_and_results_are_none) {
  EXPECT_EQ(errno_name(-2), "ENOENT");
  EXPECT_EQ(errno_name(0), "");
  EXPECT_EQ(errno_name(3), "");
  EXPECT_EQ(errno_name(IOT_UNFINISHED), "unfinished");
  EXPECT_EQ(errno_name(-100000), "-100000");
  EXPECT_EQ(errno_name(INT64_MIN), "-9223372036854775808");
}

TEST(value_text, some_numbers_stand_for_no_value) {
  constexpr std::uint64_t kMinusOne = UINT64_MAX;
  EXPECT_FALSE(has_value(Meaning::sector, Type::u64, UINT64_MAX));
  EXPECT_FALSE(has_value(Meaning::offset, Type::s64, kMinusOne));
  EXPECT_FALSE(has_value(Meaning::fd, Type::s32, UINT32_MAX));
  EXPECT_FALSE(has_value(Meaning::bytes, Type::s64, kMinusOne));
  EXPECT_TRUE(has_value(Meaning::bytes, Type::u64, UINT64_MAX));
  EXPECT_TRUE(has_value(Meaning::fd, Type::s32, static_cast<std::uint64_t>(IOT_AT_FDCWD)));
  EXPECT_TRUE(has_value(Meaning::result, Type::s64, kMinusOne));
}

TEST(value_text, device_numbers_are_major_and_minor) {
  EXPECT_EQ(number_text(Meaning::device, IOT_DEVICE(259, 3)), "259:3");
}

TEST(value_text, a_number_reads_by_its_meaning) {
  EXPECT_EQ(number_text(Meaning::value_syscall, 17), "pread64");
  EXPECT_EQ(number_text(Meaning::value_event, IOT_KIND_vfs_fsync), "vfs_fsync");
  EXPECT_EQ(number_text(Meaning::value_event, 0), "0");
  EXPECT_EQ(number_text(Meaning::value_event, UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(number_text(Meaning::value_layer, 2), "syscall");
  EXPECT_EQ(number_text(Meaning::value_counter, 1), "kernel_ring_full");
  EXPECT_EQ(number_text(Meaning::flags_prot, 3), "PROT_READ|PROT_WRITE");
  EXPECT_EQ(number_text(Meaning::mode, 0644), "0644");
  EXPECT_EQ(number_text(Meaning::request, 0x20), "0x20");
  EXPECT_EQ(number_text(Meaning::result, 4096), "4096");
  EXPECT_EQ(number_text(Meaning::result_fd, static_cast<std::uint64_t>(-2)), "ENOENT");
  EXPECT_EQ(number_text(Meaning::bytes, 7), "7");
}

TEST(value_text, a_meaning_of_another_version_is_a_plain_number) {
  EXPECT_EQ(find_meaning("flags_open"), Meaning::flags_open);
  EXPECT_EQ(find_meaning("flags_of_tomorrow"), Meaning::number);
}

} // namespace
} // namespace iotrail::schema
