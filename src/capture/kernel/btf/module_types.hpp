// SPDX-License-Identifier: BSD-3-Clause
//
// The type information of modules in the kernel: a program that hooks a function of a module is
// loaded with a descriptor of it.
#pragma once

#include <map>
#include <string>

#include "base/fd.hpp"

namespace iotrail::capture::kernel {

class ModuleTypes {
public:
  // Open as long as this object lives. Negative: an errno; the module is gone, or access is denied
  // (CAP_SYS_ADMIN).
  int descriptor_of(const std::string& module);

private:
  int open_all();

  bool is_open_ = false;
  int error_ = 0;
  std::map<std::string, Fd> modules_;
};

} // namespace iotrail::capture::kernel
