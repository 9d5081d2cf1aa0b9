// SPDX-License-Identifier: BSD-3-Clause
//
// The targets of programs, in the type information of a kernel and its modules.
#include "capture/kernel/load/kernel_types.hpp"

#include <bpf/btf.h>

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "base/result.hpp"
#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/btf/owned_btf.hpp"
#include "capture/kernel/load/program_job.hpp"

namespace iotrail::capture::kernel {
namespace {

BtfData read_types(const btf* types, const BtfData* base = nullptr) {
  std::uint32_t size = 0;
  const void* raw = btf__raw_data(types, &size);
  auto data = BtfData::parse({static_cast<const char*>(raw), size}, base);
  IOTRAIL_CHECK(data);
  return std::move(*data);
}

std::uint32_t add_function_type(btf* types, int parameters) {
  const int prototype = btf__add_func_proto(types, 0);
  for (int count = 0; count < parameters; ++count)
    btf__add_func_param(types, "", 0);
  return static_cast<std::uint32_t>(prototype);
}

std::uint32_t add_tracepoint(btf* types, const char* name, int parameters) {
  const std::uint32_t prototype = add_function_type(types, parameters + 1);
  const int pointer = btf__add_ptr(types, static_cast<int>(prototype));
  return static_cast<std::uint32_t>(btf__add_typedef(types, name, pointer));
}

class HookedTypes : public testing::Test {
protected:
  void SetUp() override {
    const OwnedBtf kernel(btf__new_empty());
    btf__add_int(kernel.get(), "int", 4, BTF_INT_SIGNED);
    point_ = add_tracepoint(kernel.get(), "btf_trace_begin", 2);
    function_ = static_cast<std::uint32_t>(
        btf__add_func(kernel.get(), "read_it", BTF_FUNC_STATIC,
                      static_cast<int>(add_function_type(kernel.get(), 3))));
    btf__add_func(kernel.get(), "read_it", BTF_FUNC_STATIC,
                  static_cast<int>(add_function_type(kernel.get(), 1)));
    const OwnedBtf module(btf__new_empty_split(kernel.get()));
    module_point_ = add_tracepoint(module.get(), "btf_trace_log", 1);
    add_tracepoint(module.get(), "btf_trace_begin", 1);
    all_.kernel = std::make_unique<BtfData>(read_types(kernel.get()));
    all_.modules.push_back({"xfs", read_types(module.get(), all_.kernel.get())});
  }

  KernelBtf all_;
  std::uint32_t point_ = 0;
  std::uint32_t function_ = 0;
  std::uint32_t module_point_ = 0;
};

TEST_F(HookedTypes, a_tracepoint_of_the_kernel_goes_before_one_of_a_module) {
  const KernelTypes types(all_, {});
  EXPECT_EQ(types.hooked_tracepoint("begin").id, point_);
  EXPECT_EQ(types.hooked_tracepoint("begin").module, "");
  EXPECT_EQ(types.tracepoint_parameters("begin"), 2);
}

TEST_F(HookedTypes, a_tracepoint_of_a_module_comes_with_its_module) {
  const KernelTypes types(all_, {});
  EXPECT_TRUE(types.has_tracepoint("log"));
  EXPECT_EQ(types.hooked_tracepoint("log").id, module_point_);
  EXPECT_EQ(types.hooked_tracepoint("log").module, "xfs");
  EXPECT_EQ(types.tracepoint_parameters("log"), -1);
}

TEST_F(HookedTypes, names_missing_in_the_kernel_have_no_type) {
  const KernelTypes types(all_, {});
  EXPECT_FALSE(types.has_tracepoint("end"));
  EXPECT_EQ(types.hooked_tracepoint("end").id, 0U);
  EXPECT_EQ(types.function_id("write_it"), 0U);
}

TEST_F(HookedTypes, of_functions_of_one_name_the_first_is_taken_as_libbpf_does) {
  constexpr std::array<std::string_view, 1> kNames = {"read_it"};
  const KernelTypes types(all_, kNames);
  EXPECT_EQ(types.function_id("read_it"), function_);
  EXPECT_EQ(types.parameters("read_it"), 3);
}

bpf_insn call_of(std::int32_t number) {
  return {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = number};
}

TEST(CallCast, calls_of_it_become_calls_of_the_kernels_function) {
  std::vector<bpf_insn> program = {call_of(BPF_FUNC_ktime_get_ns), call_of(IOT_CAST_CALL)};
  call_cast(program, 4711);
  EXPECT_EQ(program[0].src_reg, 0);
  EXPECT_EQ(program[0].imm, BPF_FUNC_ktime_get_ns);
  EXPECT_EQ(program[1].src_reg, BPF_PSEUDO_KFUNC_CALL);
  EXPECT_EQ(program[1].imm, 4711);
}

TEST(CallCast, where_the_kernel_has_none_a_program_stays_as_it_is) {
  std::vector<bpf_insn> program = {call_of(IOT_CAST_CALL)};
  call_cast(program, 0);
  EXPECT_EQ(program[0].src_reg, 0);
  EXPECT_EQ(program[0].imm, IOT_CAST_CALL);
}

} // namespace
} // namespace iotrail::capture::kernel
