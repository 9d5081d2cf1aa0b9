// SPDX-License-Identifier: BSD-3-Clause
//
// Times, sizes and counts on the command line. `option` is named in the error, which says what would be right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iotrail::cli {

// "10s", "500ms", "1.5h" in nanoseconds; above 0. An empty text is 0: not given.
Result<std::uint64_t> parse_duration(std::string_view option, const std::string& text);
// The same of a moment, which may be the beginning, 0.
Result<std::uint64_t> parse_moment(std::string_view option, const std::string& text);
// "64M", "2GiB", "65536" in bytes; a K is 1024; above 0. An empty text is 0: not given.
Result<std::uint64_t> parse_size(std::string_view option, const std::string& text);
// "20"; above 0. An empty text is 0: not given.
Result<std::uint64_t> parse_count(std::string_view option, const std::string& text);

} // namespace iotrail::cli
