// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/filter.hpp"

#include <algorithm>

namespace iotrail::capture {

namespace {

// Of a disk, also the commits are recorded that no call waits for. The changes say who pays for them.
bool explains_devices(const schema::Event& event) {
  return event.id == IOT_KIND_fs_journal_handle;
}

} // namespace

bool Filter::records(const schema::Event& event) const {
  if (event.is_dictionary())
    return false;
  if (!layers.empty() && std::ranges::find(layers, event.layer) == layers.end())
    return false;
  if (!events.empty())
    return std::ranges::find(events, event.name) != events.end();
  return !schema::is_on_request(event) || (wanted.choose_devices() && explains_devices(event));
}

} // namespace iotrail::capture
