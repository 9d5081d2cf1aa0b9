// SPDX-License-Identifier: BSD-3-Clause
#include "report/sample.hpp"

#include <algorithm>

#include "schema.hpp"

namespace iotrail::output {

std::uint64_t Sample::scale_factor(std::string_view layer) const {
  if (layer.empty())
    return one_of_;
  const auto row = std::ranges::find(schema::kLayers, layer, &schema::LayerInfo::name);
  const bool is_sampled =
      row != std::end(schema::kLayers) &&
      (row->place == schema::Place::kernel || row->place == schema::Place::later);
  return is_sampled ? one_of_ : 1;
}

std::uint64_t scaled(std::uint64_t sum, std::uint64_t scale_factor) {
  return scale_factor != 0 && sum > UINT64_MAX / scale_factor ? UINT64_MAX : sum * scale_factor;
}

} // namespace iotrail::output
