// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>

#include "report/document.hpp"

namespace iotrail::output {

// The first screen with at most `most_lines` lines, as `count_lines` counts them, or without all that a reader can do
// without: the commands to type next are one line, then rows of the calls that took less time and the
// findings that cost less go. The verdict stays.
Document fitted(Document first_screen, std::size_t most_lines,
                const std::function<std::size_t(const Document&)>& count_lines);

} // namespace iotrail::output
