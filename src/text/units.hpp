// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers for people: three significant digits and a unit. `query` and `export` give exact numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace iotrail::output {

std::string human_bytes(std::uint64_t bytes); // "0 B", "512 B", "4.00 KiB", "1.50 GiB"
std::string
human_duration(std::uint64_t ns); // "800 ns", "12.3 us", "4.56 ms", "1.02 s", "2 min 05 s"
std::string human_count(std::uint64_t count);                            // "1,234,567"
std::string human_count_of(std::uint64_t count, std::string_view thing); // "1 row", "1,234 rows"
std::string human_share(double share); // of 1: "12.3 %", "less than 0.1 %", "more than 99.9 %"
std::string short_share(double share); // the same in a column: "< 0.1 %", "> 99.9 %"
std::string human_share_of(std::uint64_t part, std::uint64_t whole); // of 0: as of 1

// "2026-05-01 12:34:56.789012" in the local time zone; ns of CLOCK_REALTIME.
std::string human_date(std::int64_t real_ns);
std::string short_date(std::int64_t real_ns); // without a fraction of the second
// "3"; "139 (SIGSEGV)": exit status of a program, as a shell shows it.
std::string human_status(int status);
// "12:34:56.789012345"
std::string clock_time(std::int64_t real_ns);

} // namespace iotrail::output
