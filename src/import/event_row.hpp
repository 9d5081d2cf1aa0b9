// SPDX-License-Identifier: BSD-3-Clause
//
// One event to import, by the names of its fields. A field that is not set stays absent: 0, or -1
// for a position or a descriptor, and the number of an unknown processor.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/result.hpp"
#include "schema.hpp"

namespace iotrail::import {

class EventRow {
public:
  explicit EventRow(iot_u16 kind) : event_(schema::find_event(kind)) {
    IOTRAIL_CHECK(event_ != nullptr && !event_->is_dictionary() &&
                  event_->size_bytes <= bytes_.size());
    as_event().kind = kind;
    for (const schema::Field& field : event_->fields)
      if (field.meaning == schema::Meaning::offset || field.meaning == schema::Meaning::fd)
        put(field, ~std::uint64_t{0});
      else if (field.meaning == schema::Meaning::cpu)
        put(field, IOT_CPU_UNKNOWN);
  }

  const iot_event& event() const { return *reinterpret_cast<const iot_event*>(bytes_.data()); }
  iot_u16 kind() const { return event_->id; }

  // nullptr: the event has no such field.
  const schema::Field* field(std::string_view name) const {
    for (const schema::Field& field : event_->fields)
      if (field.name == name)
        return &field;
    return nullptr;
  }
  const schema::Field* field(schema::Role role) const {
    for (const schema::Field& field : event_->fields)
      if (field.role == role)
        return &field;
    return nullptr;
  }

  // Does nothing if the event has no such field.
  template <class Key> EventRow& set(Key key, std::uint64_t value) {
    if (const schema::Field* found = field(key))
      put(*found, value);
    return *this;
  }
  template <class Key> std::uint64_t get(Key key) const {
    const schema::Field* found = field(key);
    std::uint64_t value = 0;
    if (found != nullptr)
      std::memcpy(&value, bytes_.data() + found->offset, schema::info(found->type).size_bytes);
    return value;
  }
  void put(const schema::Field& field, std::uint64_t value) {
    std::memcpy(bytes_.data() + field.offset, &value, schema::info(field.type).size_bytes);
  }

private:
  iot_event& as_event() { return *reinterpret_cast<iot_event*>(bytes_.data()); }

  const schema::Event* event_;
  alignas(8) std::array<std::byte, 512> bytes_{};
};

} // namespace iotrail::import
