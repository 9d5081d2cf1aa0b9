// SPDX-License-Identifier: BSD-3-Clause
#include "report/sample.hpp"

#include <algorithm>

#include "schema.hpp"

namespace iotrail::output {

std::uint64_t Sample::stands_for(std::string_view layer) const {
  if (layer.empty())
    return one_of_;
  const auto row = std::ranges::find(schema::kLayers, layer, &schema::LayerInfo::name);
  const bool is_by_chance =
      row != std::end(schema::kLayers) &&
      (row->place == schema::Place::kernel || row->place == schema::Place::later);
  return is_by_chance ? one_of_ : 1;
}

std::uint64_t scaled(std::uint64_t sum, std::uint64_t stands_for) {
  return stands_for != 0 && sum > UINT64_MAX / stands_for ? UINT64_MAX : sum * stands_for;
}

std::string estimate_mark(std::uint64_t sum, std::uint64_t stands_for) {
  return stands_for > 1 && sum != 0 ? "~" : "";
}

} // namespace iotrail::output
