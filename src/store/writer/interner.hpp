// SPDX-License-Identifier: BSD-3-Clause
//
// Maps texts and files to their ids. Memory is bounded: entries that were not used for long are
// forgotten. If one comes again, it gets a new id, which only costs another row of the dictionary.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>

#include "abi.h"

namespace iotrail::store {

// Keeps the entries that were used last: between `capacity` and twice as many.
template <class Key, class Value, class Hash> class RecentMap {
public:
  explicit RecentMap(std::size_t capacity) : capacity_(capacity) {}

  // The pointer is valid until the next call; nullptr: not found.
  Value* find(const Key& key) {
    if (const auto found = young_.find(key); found != young_.end())
      return &found->second;
    const auto found = old_.find(key);
    return found == old_.end() ? nullptr : insert(key, Value(found->second));
  }

  Value* insert(const Key& key, Value value) {
    if (young_.size() >= capacity_) {
      old_ = std::move(young_);
      young_ = {};
    }
    return &(young_[key] = std::move(value));
  }

private:
  std::size_t capacity_;
  std::unordered_map<Key, Value, Hash> young_;
  std::unordered_map<Key, Value, Hash> old_;
};

} // namespace iotrail::store
