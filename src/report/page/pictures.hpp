// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of views for the pictures of a page: numbers in bins of time (src/analysis/views/time/), or of
// the whole run.
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
  std::size_t coordinates = 1;      // of bins, the first is the bin
  std::uint64_t bin_ns = 1;         // width of a bin; 0: the picture has no time
  std::size_t most_bytes = 100'000; // as JSON
  std::uint64_t dropped_series = 0; // for lack of room
  std::vector<Series> series{};
  std::optional<Error> failure{}; // the trace does not allow this picture
};

struct Pictures {
  std::uint64_t run_ns = 0;
  std::vector<Picture> list;
};

// The sum of `most_bytes` of all pictures.
std::size_t picture_bytes();
// Steps of the engine's progress in make_pictures().
std::uint64_t picture_steps();
Pictures make_pictures(analysis::Engine& engine);

// Makes bins twice as wide, for at most half as many rows of a dense picture.
void halve_bins(Picture& picture);
// Drops half of the series, those with the smallest sums of the last column.
void drop_smallest(Picture& picture);

} // namespace iotrail::output
