// SPDX-License-Identifier: BSD-3-Clause
//
// The positions of open files, as calls move them: an import knows where a read() read, although
// the call does not say it. Memory is bounded; a position that is not known is kNoPosition.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "abi.h"

namespace iotrail::import {

class Descriptors {
public:
  static constexpr std::int64_t kNoPosition = IOT_OFFSET_NONE;

  struct OpenFile {
    std::int64_t position = kNoPosition;
    bool appends = false;
  };

  void open(std::uint32_t pid, std::int64_t fd, OpenFile file) {
    if (count_ >= kMost)
      clear();
    if (tables_[pid].insert_or_assign(fd, std::make_shared<OpenFile>(file)).second)
      ++count_;
  }
  // Both descriptors share a position.
  void duplicate(std::uint32_t pid, std::int64_t from, std::int64_t to) {
    auto& table = tables_[pid];
    if (const auto found = table.find(from); found != table.end())
      count_ += table.insert_or_assign(to, found->second).second ? 1 : 0;
    else
      count_ -= table.erase(to);
  }
  void close(std::uint32_t pid, std::int64_t fd) {
    if (const auto table = tables_.find(pid); table != tables_.end())
      count_ -= table->second.erase(fd);
  }
  // The child has the same open files, unless it has been seen before.
  void fork(std::uint32_t parent, std::uint32_t child) {
    const auto table = tables_.find(parent);
    if (table == tables_.end() || count_ + table->second.size() > kMost)
      return;
    if (tables_.emplace(child, table->second).second)
      count_ += tables_[parent].size();
  }
  void exit(std::uint32_t pid) {
    if (const auto table = tables_.find(pid); table != tables_.end()) {
      count_ -= table->second.size();
      tables_.erase(table);
    }
  }
  // nullptr: it was opened before the trace.
  OpenFile* find(std::uint32_t pid, std::int64_t fd) {
    const auto table = tables_.find(pid);
    if (table == tables_.end())
      return nullptr;
    const auto found = table->second.find(fd);
    return found == table->second.end() ? nullptr : found->second.get();
  }

private:
  static constexpr std::size_t kMost = 1U << 20U;

  void clear() {
    tables_.clear();
    count_ = 0;
  }

  std::unordered_map<std::uint32_t, std::map<std::int64_t, std::shared_ptr<OpenFile>>> tables_;
  std::size_t count_ = 0;
};

} // namespace iotrail::import
