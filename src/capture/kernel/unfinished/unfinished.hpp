// SPDX-License-Identifier: BSD-3-Clause
//
// Spans that are open when a recording stops, as records with the result IOT_UNFINISHED: a call
// that hangs or a request without an answer may be the reason for the recording.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/kernel/collect/late_names.hpp"
#include "capture/kernel/collect/rings.hpp"
#include "capture/kernel/load/bpf_object.hpp"
#include "capture/kernel/unfinished/unfinished_calls.hpp"

namespace iotrail::capture::kernel {

// Forgets the requests without a reported completion (docs/adr/0007), so that none
// counts as unanswered by its device. Call it before detach(): after that no completion is seen.
// Returns their number: each is a missing event.
std::uint64_t forget_missed_completions(BpfObject& object);

struct Unfinished {
  std::vector<RecordSlot> records;
  LateNames names; // that they refer to
};

// System calls in progress, spans below them, their waits, and requests at their devices, as slots
// of a ring with the first position 0. `object` has been detached. They last until no task counted
// as traced any more: the time that the kernel takes to detach is not part of them. Values that are
// known only at the end are missing: the arguments of a call unless `calls` has them; the bytes that
// a request moved. A recording of files or disks has no calls. Tasks that share a bucket of
// `task_states` (more than IOT_TASK_BUCKETS at once) are missing. `started_ns`: begin of the
// recording.
Unfinished unfinished_records(BpfObject& object, const CallsInProgress& calls,
                              std::uint64_t started_ns);

} // namespace iotrail::capture::kernel
