// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of the views in src/analysis/views/time/ for the pictures of a page: numbers in bins of time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

// The rows of one thing: an operation, a file.
struct Series {
  std::vector<Value> key;
  std::vector<std::uint64_t> numbers; // row by row, in the order of bins
};

struct Picture {
  std::string view;
  std::vector<std::string> keys;
  std::vector<std::string> columns; // of a row: first `coordinates` of them, then sums
  std::size_t coordinates = 1;      // the first is the bin
  std::uint64_t bin_ns = 1;         // width of a bin
  std::vector<Series> series{};
  std::optional<Error> failure{}; // the trace does not allow this picture
};

struct Pictures {
  std::uint64_t run_ns = 0;
  std::vector<Picture> list;
};

Pictures make_pictures(analysis::Engine& engine);

std::size_t count_numbers(const Picture& picture);
// Makes bins twice as wide, for at most half as many rows of a dense picture.
void halve_bins(Picture& picture);

} // namespace iotrail::output
