// SPDX-License-Identifier: BSD-3-Clause
//
// The reduced type information agrees with the whole one of the kernel, as libbpf reads both.
#include "capture/kernel/btf/relocation_types.hpp"

#include <bpf/libbpf.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/result.hpp"
#include "capture/kernel/btf/owned_btf.hpp"

namespace iotrail::capture::kernel {
namespace {

std::string bytes_of(const btf* types) {
  std::uint32_t size = 0;
  const void* raw = btf__raw_data(types, &size);
  return {static_cast<const char*>(raw), size};
}

OwnedBtf parse(const std::string& bytes) {
  return OwnedBtf(btf__new(bytes.data(), static_cast<std::uint32_t>(bytes.size())));
}

BtfData data_of(const btf* types, const BtfData* base = nullptr) {
  auto data = BtfData::parse(bytes_of(types), base);
  IOTRAIL_CHECK(data);
  return std::move(*data);
}

KernelBtf kernel_of(const btf* types) {
  KernelBtf kernel;
  kernel.kernel = std::make_unique<BtfData>(data_of(types));
  return kernel;
}

std::int32_t find(const OwnedBtf& types, const std::string& name, std::uint32_t kind) {
  return btf__find_by_name_kind(types.get(), name.c_str(), kind);
}

const btf_type* type_at(const OwnedBtf& types, std::int32_t id) {
  return btf__type_by_id(types.get(), static_cast<std::uint32_t>(id));
}

void expect_same_members(const OwnedBtf& left, const btf_type* one, const OwnedBtf& right,
                         const btf_type* other) {
  ASSERT_EQ(one->size, other->size);
  ASSERT_EQ(one->info, other->info);
  for (std::uint32_t index = 0; index < btf_vlen(one); ++index) {
    const struct btf_member& member = btf_members(one)[index];
    const struct btf_member& same = btf_members(other)[index];
    EXPECT_STREQ(btf__name_by_offset(left.get(), member.name_off),
                 btf__name_by_offset(right.get(), same.name_off));
    EXPECT_EQ(member.offset, same.offset);
    EXPECT_EQ(btf__resolve_size(left.get(), member.type),
              btf__resolve_size(right.get(), same.type));
  }
}

void expect_same_enumerators(const OwnedBtf& left, const btf_type* one, const OwnedBtf& right,
                             const btf_type* other) {
  ASSERT_EQ(one->info, other->info);
  for (std::uint32_t index = 0; index < btf_vlen(one); ++index) {
    EXPECT_STREQ(btf__name_by_offset(left.get(), btf_enum(one)[index].name_off),
                 btf__name_by_offset(right.get(), btf_enum(other)[index].name_off));
    EXPECT_EQ(btf_enum(one)[index].val, btf_enum(other)[index].val);
  }
}

class RelocationTypes : public testing::Test {
protected:
  void SetUp() override {
    programs_.reset(btf__parse_elf(IOTRAIL_BPF_OBJECT, nullptr));
    ASSERT_EQ(libbpf_get_error(programs_.get()), 0);
    all_.reset(btf__parse("/sys/kernel/btf/vmlinux", nullptr));
    if (all_ == nullptr)
      GTEST_SKIP() << "this kernel has no type information";
    bytes_ = relocation_types(data_of(programs_.get()), KernelBtf::read());
    some_ = parse(bytes_);
    ASSERT_EQ(libbpf_get_error(some_.get()), 0);
  }

  OwnedBtf programs_;
  OwnedBtf all_;
  std::string bytes_;
  OwnedBtf some_;
};

TEST_F(RelocationTypes, types_that_programs_name_are_as_in_the_kernel) {
  std::size_t structures = 0;
  for (std::uint32_t id = 1; id < btf__type_cnt(programs_.get()); ++id) {
    const btf_type* named = btf__type_by_id(programs_.get(), id);
    const std::string name = btf__name_by_offset(programs_.get(), named->name_off);
    const std::uint32_t kind = btf_kind(named);
    const std::int32_t found = find(all_, name, kind);
    if (name.empty() || found <= 0 ||
        (!btf_is_composite(named) && !btf_is_enum(named) && !btf_is_typedef(named)))
      continue;
    SCOPED_TRACE(name);
    const std::int32_t here = find(some_, name, kind);
    ASSERT_GT(here, 0);
    if (btf_is_composite(named))
      expect_same_members(all_, type_at(all_, found), some_, type_at(some_, here));
    else if (btf_is_enum(named))
      expect_same_enumerators(all_, type_at(all_, found), some_, type_at(some_, here));
    structures += btf_is_struct(named);
  }
  EXPECT_GE(structures, 50U);
}

TEST_F(RelocationTypes, the_numbers_of_structures_are_those_of_the_kernel) {
  const std::int32_t numbers = find(some_, std::string(kTypeNumbers), BTF_KIND_ENUM);
  ASSERT_GT(numbers, 0);
  const btf_type* type = type_at(some_, numbers);
  EXPECT_GE(btf_vlen(type), 8U);
  for (std::uint32_t index = 0; index < btf_vlen(type); ++index) {
    const std::string name = btf__name_by_offset(some_.get(), btf_enum(type)[index].name_off);
    EXPECT_EQ(btf_enum(type)[index].val,
              find(all_, name.substr(kTypeNumberPrefix.size()), BTF_KIND_STRUCT))
        << name;
  }
}

TEST_F(RelocationTypes, bytes_that_end_early_are_refused) {
  ASSERT_TRUE(BtfData::parse(bytes_));
  for (std::size_t size = 0; size < std::min<std::size_t>(bytes_.size(), 4096); ++size)
    EXPECT_FALSE(BtfData::parse(bytes_.substr(0, size))) << size;
}

// The types of a module continue those of the kernel.
TEST(RelocationTypesOfModules, are_taken_where_the_kernel_has_none_of_the_name) {
  const OwnedBtf kernel(btf__new_empty());
  const int number = btf__add_int(kernel.get(), "int", 4, BTF_INT_SIGNED);
  const int inner = btf__add_struct(kernel.get(), "inner", 4);
  btf__add_field(kernel.get(), "value", number, 0, 0);
  const OwnedBtf module(btf__new_empty_split(kernel.get()));
  btf__add_struct(module.get(), "inner", 8);
  btf__add_field(module.get(), "another", number, 32, 0);
  btf__add_struct(module.get(), "outer", 8);
  btf__add_field(module.get(), "value", inner, 32, 0);
  const OwnedBtf programs(btf__new_empty());
  btf__add_struct(programs.get(), "outer___of_a_module", 0);
  btf__add_struct(programs.get(), "inner", 0);
  btf__add_struct(programs.get(), "nowhere", 0);

  KernelBtf all = kernel_of(kernel.get());
  all.modules.push_back({"a_module", data_of(module.get(), all.kernel.get())});
  const OwnedBtf found = parse(relocation_types(data_of(programs.get()), all));
  ASSERT_EQ(libbpf_get_error(found.get()), 0);
  const btf_type* outer = type_at(found, find(found, "outer", BTF_KIND_STRUCT));
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer->size, 8U);
  const btf_type* within = btf__type_by_id(found.get(), btf_members(outer)[0].type);
  EXPECT_STREQ(btf__name_by_offset(found.get(), within->name_off), "inner");
  EXPECT_EQ(within->size, 4U);
  EXPECT_LT(find(found, "nowhere", BTF_KIND_STRUCT), 0);
}

} // namespace
} // namespace iotrail::capture::kernel
