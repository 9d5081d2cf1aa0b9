// SPDX-License-Identifier: BSD-3-Clause
//
// One connection, in a process of its own: one request, one answer. The process ends itself if the
// client is slow or gone, or if the answer takes too long. Nothing that a request does reaches the
// server or another request.
#pragma once

#include "base/fd.hpp"
#include "serve/http/site.hpp"
#include "serve/http/work_slots.hpp"

namespace iotrail::serve {

// For the whole head and body, however slowly they come.
inline constexpr int kReadMs = 5000;
inline constexpr int kWriteMs = 60'000;
inline constexpr int kWorkMs = 600'000; // the page of a large trace takes minutes
inline constexpr int kSlotWaitMs = 30'000;

void serve_connection(const Fd& socket, const Site& site, const WorkSlots& slots);

} // namespace iotrail::serve
