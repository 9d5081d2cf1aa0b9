// SPDX-License-Identifier: BSD-3-Clause
#include "render/text/explain_later.hpp"

#include <fmt/format.h>

#include "text/units.hpp"

namespace iotrail::output {

std::string meanwhile_text(const SmallResult& rows, std::size_t row, std::string_view process) {
  return fmt::format("Meanwhile {} served {} of others: {} {} of {}", rows.text(row, "device"),
                     human_bytes(rows.number(row, "bytes")), rows.text(row, "direction"),
                     rows.text(row, "cause"), process);
}

} // namespace iotrail::output
