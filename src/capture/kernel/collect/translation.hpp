// SPDX-License-Identifier: BSD-3-Clause
//
// The positions of ids in records, by the meanings of their fields in the schema.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "schema.hpp"

namespace iotrail::capture::kernel {

struct Reference {
  enum class To : std::uint8_t { file, string, stack, device };
  std::uint16_t offset = 0;
  To to = To::file;
};

struct References {
  static constexpr std::size_t kMost = 6; // in one record
  std::array<Reference, kMost> rows{};
  std::size_t count = 0;

  constexpr void add(Reference reference) { rows.at(count++) = reference; }
};

constexpr References references_of(const schema::Event& event) {
  References references;
  for (const schema::Field& field : event.fields) {
    if (field.meaning == schema::Meaning::file)
      references.add({field.offset, Reference::To::file});
    else if (field.meaning == schema::Meaning::path || field.meaning == schema::Meaning::string)
      references.add({field.offset, Reference::To::string});
    else if (field.meaning == schema::Meaning::stack)
      references.add({field.offset, Reference::To::stack});
    else if (field.meaning == schema::Meaning::device)
      references.add({field.offset, Reference::To::device});
  }
  return references;
}

} // namespace iotrail::capture::kernel
