// SPDX-License-Identifier: BSD-3-Clause
//
// Spans that are open when a recording stops, as records with the result IOT_UNFINISHED: a call
// that hangs or a request without an answer may be the reason for the recording.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "capture/kernel/unfinished/call_arguments.hpp"
#include "capture/kernel/collect/rings.hpp"
#include "capture/kernel/load/bpf_object.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture::kernel {

// Forgets the requests without a reported completion (docs/adr/0007), so that none
// counts as unanswered by its device. Call it before detach(): after that no completion is seen.
// Returns their number: each is a missing event.
std::uint64_t forget_missed_completions(BpfObject& object);

// The arguments of the system calls in progress, from /proc; none if /proc numbers tasks otherwise
// than the kernel. Call it before detach(): a call that is still in progress afterwards is then the
// same, with these arguments.
ArgumentsOfCalls arguments_in_progress(BpfObject& object, const Tasks& tasks);

// The number of threads of these processes in a recorded system call that began before they were
// traced: no record is made of such a call, however long it lasts. Calls that wait for descriptors
// (poll and the like) are left out: threads rest in them. 0 if /proc numbers tasks otherwise than
// the kernel. Call it before detach().
std::uint64_t count_calls_from_before(BpfObject& object, const Tasks& tasks,
                                      std::span<const pid_t> pids);

// System calls in progress, spans below them, their waits, and requests at their devices, as slots
// of a ring with the first position 0. `object` has been detached. They last until no task counted
// as traced any more: the time that the kernel takes to detach is not part of them. Values that are
// known only at the end are missing: the memory of a call, and its arguments unless `arguments` has
// them; the bytes that a request moved. The file of a call is unknown here: a recording of files or
// disks has no calls. Tasks that share a bucket of `task_states` (more than IOT_TASK_BUCKETS at
// once) are missing.
std::vector<RecordSlot> unfinished_records(BpfObject& object, const ArgumentsOfCalls& arguments);

} // namespace iotrail::capture::kernel
