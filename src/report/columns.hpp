// SPDX-License-Identifier: BSD-3-Clause
//
// Columns that several sections have.
#pragma once

#include "report/section.hpp"

namespace iotrail::output {

inline constexpr ColumnDefinition kDeviceReadColumn = {.title = "dev read",
                                                       .name = "device_bytes_read",
                                                       .meaning = Meaning::bytes,
                                                       .omit = Omit::if_unknown,
                                                       .zero_is_dash = true};
inline constexpr ColumnDefinition kDeviceWriteColumn = {.title = "dev write",
                                                        .name = "device_bytes_written",
                                                        .meaning = Meaning::bytes,
                                                        .omit = Omit::if_unknown,
                                                        .zero_is_dash = true};
inline constexpr ColumnDefinition kReadColumn = {.title = "read",
                                                 .name = "bytes_read",
                                                 .meaning = Meaning::bytes,
                                                 .zero_is_dash = true,
                                                 .is_sum = true};
inline constexpr ColumnDefinition kWrittenColumn = {.title = "written",
                                                    .name = "bytes_written",
                                                    .meaning = Meaning::bytes,
                                                    .zero_is_dash = true,
                                                    .is_sum = true};
inline constexpr ColumnDefinition kTotalColumn = {
    .title = "total", .name = "total_ns", .meaning = Meaning::ns, .is_sum = true};
inline constexpr ColumnDefinition kCountColumn = {
    .title = "count", .name = "operations", .meaning = Meaning::count, .is_sum = true};
inline constexpr ColumnDefinition kErrorsColumn = {.title = "errors",
                                                   .name = "errors",
                                                   .meaning = Meaning::count,
                                                   .omit = Omit::if_zero,
                                                   .zero_is_dash = true,
                                                   .drop_priority = 3,
                                                   .is_sum = true};
inline constexpr ColumnDefinition kFailedColumn = {.title = "failed",
                                                   .name = "errors",
                                                   .meaning = Meaning::count,
                                                   .omit = Omit::if_zero,
                                                   .zero_is_dash = true,
                                                   .drop_priority = 3,
                                                   .is_sum = true};
inline constexpr ColumnDefinition kMaxColumn = {
    .title = "max", .name = "max_ns", .meaning = Meaning::ns, .drop_priority = 2};

} // namespace iotrail::output
