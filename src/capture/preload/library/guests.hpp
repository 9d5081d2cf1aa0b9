// SPDX-License-Identifier: BSD-3-Clause
//
// Guests: tasks without their own thread-local storage, made by vfork() or by clone() with shared
// memory. They use the storage of the thread that made them, their host, and would be mistaken for
// it. So both take the slow path until the guest is gone, and are separated by their ids: a guest
// has its own place and ring.
#pragma once

#include "capture/preload/library/call_recorder.hpp"

namespace iotrail::capture::preload {

struct Guests {
  Context* host;           // null: no guest
  Context* last;           // of the guest found last
  iot_s32 until_gone;      // its id; 0: not known yet, or one of the constants below
  bool shares_descriptors; // the first guest and its host share their descriptor table
};
inline constexpr iot_s32 kWhileSuspended = -1; // the host runs again after its guest ends
inline constexpr iot_s32 kForEver = -2;        // several guests

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit __thread Guests t_guests IOTRAIL_HIDDEN;

// The context of the running task, if this thread has or had a guest. Null: it has none yet.
Context* find_context();

// This thread is about to make a guest; `until_gone` 0: note_guest() will set it.
void expect_guest(iot_s32 until_gone, bool shares_descriptors);

// The result of clone(); negative: no guest was made.
void note_guest(iot_s32 id);

// The ids of the running task and its process, in the form of a place's owner.
iot_u64 owner_that_runs();

// Whether this is a guest that is a separate process in its host's memory.
bool is_guest_process();

// Such a guest with its own descriptors: it must not write to the host's table.
bool has_other_descriptors();

// The process id of the running task, guest or not.
iot_s32 running_process_id();

} // namespace iotrail::capture::preload
