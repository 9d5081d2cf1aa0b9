// SPDX-License-Identifier: BSD-3-Clause
//
// Spans that are open when a recording stops, as records whose result is IOT_UNFINISHED: a call that hangs or a request
// that a device does not answer is what the recording was made for.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "capture/kernel/collect/call_arguments.hpp"
#include "capture/kernel/collect/rings.hpp"
#include "capture/kernel/load/bpf_object.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture::kernel {

// Forgets the requests whose completion the kernel did not report (docs/adr/0007), so that none is taken for one that the
// device has not answered. To be called before detach(), after which every completion goes unseen. Returns how many there
// were: each is an event that is missing.
std::uint64_t forget_missed_completions(BpfObject& object);

// Of the system calls in progress, as far as /proc tells: nothing where it numbers tasks otherwise than the kernel. To be called
// before detach(): a call that is then still in progress has been so all the time, so that these are its arguments.
ArgumentsOfCalls arguments_in_progress(BpfObject& object, const Tasks& tasks);

// How many of the threads of these processes sleep in a system call that is recorded and began before they were: no record tells of
// it, however long it lasts. Calls that wait for descriptors (poll and the like) are left out: threads rest in them. 0 where /proc numbers tasks otherwise than the kernel. To be called before detach().
std::uint64_t count_calls_from_before(BpfObject& object, const Tasks& tasks,
                                      std::span<const pid_t> pids);

// System calls in progress, spans below them, what they wait for, and requests at their devices, as slots of a ring whose
// first position is 0; `object` has been detached. They last until no task counted as traced any more: how long the kernel
// takes to detach is no time of theirs. What the kernel tells only at the end is missing: of a call what it has in memory,
// and its arguments where `arguments` has none; of a request the bytes moved.
// Which file a call is on is not known here: a recording of files or disks has none of them.
// Of tasks that share a bucket of `task_states` (more than IOT_TASK_BUCKETS at once) nothing is known here.
std::vector<RecordSlot> unfinished_records(BpfObject& object, const ArgumentsOfCalls& arguments);

} // namespace iotrail::capture::kernel
