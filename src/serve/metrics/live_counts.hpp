// SPDX-License-Identifier: BSD-3-Clause
//
// Adds up the rows of a trace while they are written: by layer, event and operation, as the relation
// `events` names them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "store/writer/trace_writer.hpp"

namespace iotrail::serve {

// Upper limits of the classes of sizes, in bytes; a last class has no limit.
inline constexpr std::array<std::uint64_t, 7> kSizeLimits = {512,     4096,     16'384,   65'536,
                                                             262'144, 1 << 20U, 16 << 20U};

struct OperationCounts {
  std::uint64_t events = 0;
  std::uint64_t errors = 0;
  bool has_bytes = false; // the event can move bytes
  std::uint64_t bytes = 0;
  std::array<std::uint64_t, kSizeLimits.size() + 1> sizes{}; // of events that moved bytes
};

using OperationKey = std::tuple<std::string, std::string, std::string>; // layer, event, operation
using LiveSums = std::map<OperationKey, OperationCounts>;

class LiveCounts : public store::RowObserver {
public:
  LiveCounts();
  ~LiveCounts() override;

  void see_written(const schema::Event& event, std::span<const std::byte> records) override;
  LiveSums sums() const; // from any thread

private:
  struct Kind;
  mutable std::mutex mutex_;
  std::map<std::uint16_t, Kind> kinds_;
};

} // namespace iotrail::serve
