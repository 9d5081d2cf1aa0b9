// SPDX-License-Identifier: BSD-3-Clause
//
// Where records hold ids, by what the schema says the fields mean.
#pragma once

#include <cstdint>
#include <span>

#include "schema.hpp"

namespace iotrail::capture::kernel {

struct Reference {
  enum class To : std::uint8_t { file, string, device };
  std::uint8_t offset = 0;
  To to = To::file;
};

// Empty for kinds that have none or that do not exist.
std::span<const Reference> references_of(io_u16 kind);

} // namespace iotrail::capture::kernel
