// SPDX-License-Identifier: BSD-3-Clause
//
// Which texts and files have an id already. Memory is bounded: what has not been asked for in a long time is forgotten
// and gets a new id when it comes again, which costs a row of the dictionary and nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>

#include "abi.h"

namespace iotrail::store {

// A map that keeps the entries used last: between `capacity` and twice as many.
template <class Key, class Value, class Hash> class RecentMap {
public:
  explicit RecentMap(std::size_t capacity) : capacity_(capacity) {}

  // Valid until the next call; nullptr: not there.
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
