// SPDX-License-Identifier: BSD-3-Clause
//
// A job of fio that imitates the reads or the writes of one file: their sizes, places, order, rate,
// how many are in progress, and syncs. Reads and writes are jobs of their own, because fio keeps a
// share of reads only to some percents.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "export/model/fio_actions.hpp"

namespace iotrail::output {

// Shares with the sum 100, as near to the counts as whole numbers can be.
std::vector<unsigned> percentages(const std::vector<std::uint64_t>& counts);

class FioMix {
public:
  static constexpr std::size_t kZones = 10; // of equal size

  FioMix(bool is_read, std::uint64_t file_bytes) : is_read_(is_read), file_bytes_(file_bytes) {}

  // Syncs belong to the writes of their file.
  void add(const FioAction& action);
  std::uint64_t operations() const { return transfers_; }
  // The lines of the job below its heading. There must be operations.
  std::string job(const std::string& file) const;

private:
  void add_transfer(const FioAction& action);
  std::string sizes_text() const;
  std::string places_text() const;
  std::uint64_t rate() const;

  bool is_read_;
  std::uint64_t file_bytes_;
  std::uint64_t transfers_ = 0;
  std::uint64_t in_order_ = 0; // began at the end of the one before
  std::uint64_t bytes_ = 0;
  std::uint64_t expected_ = 0;
  std::map<std::uint64_t, std::uint64_t> sizes_; // bytes and their number
  std::array<std::uint64_t, kZones> zones_{};
  std::uint64_t syncs_ = 0;
  std::uint64_t datasyncs_ = 0;
  std::uint64_t first_us_ = UINT64_MAX;
  std::uint64_t last_us_ = 0;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> in_progress_;
  std::size_t depth_ = 1;
};

} // namespace iotrail::output
