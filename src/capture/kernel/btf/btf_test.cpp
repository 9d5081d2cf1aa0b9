// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of each record as the BPF compiler saw it, compared with the one that the rest of iotrail was built with.
#include <bpf/libbpf.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/btf/owned_btf.hpp"
#include "capture/kernel/collect/translation.hpp"
#include "capture/kernel/load/hooks.hpp"
#include "schema.hpp"

namespace iotrail::capture::kernel {
namespace {

class BpfObjectTypes : public testing::Test {
protected:
  void SetUp() override {
    types_.reset(btf__parse_elf(IOTRAIL_BPF_OBJECT, nullptr));
    ASSERT_EQ(libbpf_get_error(types_.get()), 0);
  }

  const btf_type* structure(const std::string& name) const {
    const int id = btf__find_by_name_kind(types_.get(), name.c_str(), BTF_KIND_STRUCT);
    return id > 0 ? btf__type_by_id(types_.get(), static_cast<__u32>(id)) : nullptr;
  }

  // The offset in bytes of the member with that name, in the structure or in the header inside it;
  // -1: none.
  long offset_of(const btf_type* type, std::string_view field) const {
    const btf_member* members = btf_members(type);
    for (__u32 index = 0; index < btf_vlen(type); ++index) {
      const std::string_view name = btf__name_by_offset(types_.get(), members[index].name_off);
      if (name == field)
        return static_cast<long>(btf_member_bit_offset(type, index) / 8);
      if (name == "event")
        if (const long inside = offset_of(structure("iot_event"), field); inside >= 0)
          return inside;
    }
    return -1;
  }

  OwnedBtf types_;
};

TEST_F(BpfObjectTypes, records_are_laid_out_as_in_the_schema) {
  for (const schema::Event& event : schema::kEvents) {
    if (event.is_dictionary() || schema::source_of(event.layer) == IOT_source_snapshot ||
        schema::source_of(event.layer) == IOT_source_fuse)
      continue; // in no ring
    SCOPED_TRACE(event.name);
    const btf_type* type = structure("iot_" + std::string(event.name));
    ASSERT_NE(type, nullptr);
    EXPECT_EQ(type->size, event.size_bytes);
    for (const schema::Field& field : event.fields)
      EXPECT_EQ(offset_of(type, field.name), field.offset) << field.name;
  }
}

TEST_F(BpfObjectTypes, a_task_state_has_the_layout_that_the_loader_writes) {
  const btf_type* type = structure("iot_task");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->size, sizeof(iot_task));
  EXPECT_EQ(offset_of(type, "live_tid"), static_cast<long>(offsetof(iot_task, live_tid)));
  EXPECT_EQ(offset_of(type, "is_shared"), static_cast<long>(offsetof(iot_task, is_shared)));
}

TEST(Hooks, every_event_of_a_kernel_layer_has_one) {
  for (const schema::Event& event : schema::kEvents) {
    if (schema::source_of(event.layer) != IOT_source_kernel)
      continue;
    const auto rows = event_hooks();
    EXPECT_TRUE(std::ranges::any_of(rows, [&](const EventHooks& row) {
      return row.event == event.name;
    })) << event.name;
  }
}

TEST(References, name_each_field_that_holds_an_id) {
  const References references = references_of(*schema::find_event(IOT_KIND_syscall_rename));
  ASSERT_EQ(references.count, 2U);
  EXPECT_EQ(references.rows[0].offset, offsetof(iot_syscall_rename, path));
  EXPECT_EQ(references.rows[1].offset, offsetof(iot_syscall_rename, new_path));
  EXPECT_EQ(references.rows[1].to, Reference::To::string);
}

} // namespace
} // namespace iotrail::capture::kernel
