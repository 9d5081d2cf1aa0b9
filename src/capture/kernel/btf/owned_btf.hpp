// SPDX-License-Identifier: BSD-3-Clause
//
// For tests: type information as libbpf reads it.
#pragma once

#include <bpf/btf.h>

#include <memory>

namespace iotrail::capture::kernel {

struct FreeBtf {
  void operator()(btf* types) const { btf__free(types); }
};
using OwnedBtf = std::unique_ptr<btf, FreeBtf>;

} // namespace iotrail::capture::kernel
