// SPDX-License-Identifier: BSD-3-Clause
//
// The types of the kernel that the BPF programs name. libbpf fits programs to the kernel by them ("CO-RE relocation"), and
// looks through all that it is given for each: a hundred thousand types of which a few hundred matter would take most of
// the time in which a recording starts.
#pragma once

#include <string>

#include "capture/kernel/btf/btf_data.hpp"

namespace iotrail::capture::kernel {

// An enumeration of the programs whose members name structures of the kernel; of what is returned, it has the numbers of these
// in the kernel's own type information, and no member where the kernel has no such structure.
inline constexpr std::string_view kTypeNumbers = "iot_type_number";
inline constexpr std::string_view kTypeNumberPrefix = "IOT_TYPE_NUMBER_";

// Type information with each structure, union, enumeration and typedef that `programs` names and the kernel has, or else
// one of its modules, and with what lies within these. What a pointer points to is left out.
std::string relocation_types(const BtfData& programs, const KernelBtf& kernel);

} // namespace iotrail::capture::kernel
