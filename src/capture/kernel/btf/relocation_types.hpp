// SPDX-License-Identifier: BSD-3-Clause
//
// The types of the kernel that the BPF programs name. libbpf relocates programs by them (CO-RE),
// and searches all types that it is given for each. A few hundred of a hundred thousand matter; the
// rest would take most of a recording's start.
#pragma once

#include <string>

#include "capture/kernel/btf/btf_data.hpp"

namespace iotrail::capture::kernel {

// An enumeration of the programs with a member for each structure of the kernel. In the result,
// each value is the number of the structure in the kernel's type information; structures that the
// kernel lacks have no member.
inline constexpr std::string_view kTypeNumbers = "iot_type_number";
inline constexpr std::string_view kTypeNumberPrefix = "IOT_TYPE_NUMBER_";

// Type information with each structure, union, enumeration and typedef that `programs` names, and
// the types within these. They come from the kernel or else from a module. Targets of pointers are
// left out.
std::string relocation_types(const BtfData& programs, const KernelBtf& kernel);

} // namespace iotrail::capture::kernel
