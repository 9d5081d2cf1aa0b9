// SPDX-License-Identifier: BSD-3-Clause
//
// The type information of modules as the kernel has it: a program that hooks what is a module's is loaded with a descriptor of it.
#pragma once

#include <map>
#include <string>

#include "base/fd.hpp"

namespace iotrail::capture::kernel {

class ModuleTypes {
public:
  // Open as long as this object lives. Negative: an errno; the module is gone, or may not be asked for (CAP_SYS_ADMIN).
  int descriptor_of(const std::string& module);

private:
  int open_all();

  bool is_open_ = false;
  int error_ = 0;
  std::map<std::string, Fd> modules_;
};

} // namespace iotrail::capture::kernel
