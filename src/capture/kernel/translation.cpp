// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/translation.hpp"

#include <array>

#include "capture/kernel/kernel_abi.h"

namespace iotrail::capture::kernel {
namespace {

constexpr std::size_t kMost = 4; // references in one record

struct References {
  std::array<Reference, kMost> rows{};
  std::uint8_t count = 0;

  constexpr void add(Reference reference) { rows.at(count++) = reference; }
};

constexpr void add_field(References& references, const schema::Field& field) {
  const auto offset = static_cast<std::uint8_t>(field.offset);
  switch (field.meaning) {
  case schema::Meaning::file:
    return references.add({offset, Reference::To::file});
  case schema::Meaning::path:
    return references.add({offset, Reference::To::string});
  case schema::Meaning::device:
    return references.add({offset, Reference::To::device});
  default:
    return;
  }
}

using Table = std::array<std::array<References, IO_KIND_SLOTS>, IO_LAYER_COUNT>;

constexpr Table make_table() {
  Table table{};
  for (const schema::Event& event : schema::kEvents)
    if (!event.is_dictionary())
      for (const schema::Field& field : event.fields)
        add_field(table.at(IO_LAYER_OF(event.id)).at(event.id & 0xffU), field);
  return table;
}

constexpr Table kTable = make_table();

} // namespace

std::span<const Reference> references_of(io_u16 kind) {
  const unsigned layer = IO_LAYER_OF(kind);
  const unsigned own = kind & 0xffU;
  if (layer >= IO_LAYER_COUNT || own >= IO_KIND_SLOTS)
    return {};
  const References& references = kTable[layer][own];
  return {references.rows.data(), references.count};
}

} // namespace iotrail::capture::kernel
