// SPDX-License-Identifier: BSD-3-Clause
//
// Where a verb prints: standard output and standard error, or what a test puts in their places.
#pragma once

#include <cstddef>
#include <cstdio>

namespace iotrail::cli {

struct Stream {
  std::FILE* file;
  std::size_t fixed_width = 0; // as if it were a terminal of this width; 0: as it is

  bool is_terminal() const;
  // For text that people read wherever it goes: COLUMNS, else of the terminal, else 80.
  std::size_t width() const;
  // Width for text with lines that stay whole in a file or a pipe: the terminal's, else any.
  std::size_t terminal_width() const;
  // Lines of the terminal; any in a file or a pipe.
  std::size_t height() const;
};

struct Console {
  Stream out{stdout};
  Stream err{stderr};
};

} // namespace iotrail::cli
