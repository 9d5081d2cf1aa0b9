// SPDX-License-Identifier: BSD-3-Clause
//
// The data of a page: JSON with the documents, for the page's own script. Unlike `report --json` it
// has what people see: texts made printable, columns for people, rows as arrays. Its size is
// limited whatever the trace: long tables lose their last rows, and `all_rows` has their number;
// pictures with many numbers get wider bins (picture_data.hpp).
#pragma once

#include <cstddef>
#include <string>

#include "report/page/page.hpp"

namespace iotrail::output {

// The most of the report, and of each other document.
inline constexpr std::size_t kReportBytes = 450'000;
inline constexpr std::size_t kSmallDocumentBytes = 80'000;

// Has no `<`, so that nothing in it can end the element that holds it.
std::string page_data(const Page& page);

} // namespace iotrail::output
