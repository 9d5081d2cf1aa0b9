// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/filter.hpp"

#include <algorithm>

namespace iotrail::capture {

bool Filter::records(const schema::Event& event) const {
  if (event.is_dictionary())
    return false;
  if (!layers.empty() && std::ranges::find(layers, event.layer) == layers.end())
    return false;
  if (!events.empty())
    return std::ranges::find(events, event.name) != events.end();
  return !schema::is_on_request(event) || (wanted.choose_devices() && schema::is_for_disks(event));
}

} // namespace iotrail::capture
